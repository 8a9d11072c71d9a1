// SPDX-License-Identifier: Apache-2.0
// The state of a chunk of rows, from the tensors that RnntRowStats and RnntLattice left.
#ifndef MINDSPORE_RNNT_RNNT_CHUNK_STATE_H_
#define MINDSPORE_RNNT_RNNT_CHUNK_STATE_H_

#include "rnnt_state.h"

namespace rnnt {

// Each row has its own dloss.
class StateFromChunk {
 public:
  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, GM_ADDR stats, GM_ADDR coefficients,
                    GM_ADDR row_dloss) {
    vectors_.Init(pipe);
    stats_.Bind(tiling.rows, kStatCount, stats);
    coefficients_.Bind(tiling.rows, kStateWidth - kOccupation, coefficients);
    dloss_.Bind(tiling.rows, 1, row_dloss);
    columns_.Init(pipe);
    pipe->InitBuffer(queue_, 1, 3 * kTensorLanes * sizeof(float));  // free before the next load
    pipe->InitBuffer(dloss_buffer_, kMaxRows * sizeof(float));
    pipe->InitBuffer(block_buffer_, kMaxRows * kBlockBytes);
    Duplicate(dloss_buffer_.Get<float>(), 0.0f, kMaxRows);
    Fence();
  }

  RNNT_FN Verdict Of(const Sample&) { return {kLoss, 0.0f, 0.0f, 0.0f}; }
  RNNT_FN StateVectors& vectors() { return vectors_; }

  RNNT_FN void Load(const Tile& tile) {
    const LocalTensor<float> source = queue_.AllocTensor<float>();
    stats_.Load(source, tile);
    coefficients_.Load(source[kTensorLanes], tile);
    dloss_.Load(source[2 * kTensorLanes], tile);
    queue_.EnQue(source);
  }

  RNNT_FN void Compute(const Tile& tile, const Verdict&) {
    const int32_t n = tile.count;
    LocalTensor<float> source = queue_.DeQue<float>();
    columns_.Get(vectors_.Get(kStateRowMax), source, kRowMax, n);
    columns_.Get(vectors_.Get(kStateLogSum), source, kLogSum, n);
    for (int32_t c = kOccupation; c < kStateWidth; ++c) {
      columns_.Get(vectors_.Get(static_cast<StateColumn>(c)), source[kTensorLanes], c - kOccupation,
                   n);
    }
    columns_.Get(dloss_buffer_.Get<float>(), source[2 * kTensorLanes], 0, n);
    Fence();
    ToBlocks(block_buffer_.Get<float>(), dloss_buffer_.Get<float>(), n);
    Order<HardEvent::V_S>();
    queue_.FreeTensor(source);
  }

  // A row with dloss = 0 or that belongs to no path is 0, even if its logits are NaN; one of a NaN
  // sample is NaN.
  RNNT_FN void Weigh(const Piece& piece, const LocalTensor<float>& y, int32_t pitch) {
    WithRowValue<Times>(y, y, block_buffer_.Get<float>()[piece.row * kBlockLanes], piece.rows,
                        pitch);
    Fence();
    const LocalTensor<float> dloss = dloss_buffer_.Get<float>();
    const LocalTensor<float> occupation = vectors_.Get(kOccupation);
    for (int32_t i = 0; i < piece.rows; ++i) {
      const uint32_t row = static_cast<uint32_t>(piece.row + i);
      const float paths = occupation.GetValue(row);
      if (dloss.GetValue(row) == 0.0f || paths == 0.0f) {
        Duplicate(y[i * pitch], 0.0f, pitch);
      } else if (!(paths == paths)) {
        Duplicate(y[i * pitch], paths, pitch);
      }
    }
    Fence();
  }

 private:
  static constexpr int32_t kTensorLanes = kMaxRows * kBlockLanes;

  StateVectors vectors_;
  Records stats_, coefficients_, dloss_;
  RecordColumns columns_;
  TQue<TPosition::VECIN, 1> queue_;
  TBuf<TPosition::VECCALC> dloss_buffer_, block_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_CHUNK_STATE_H_
