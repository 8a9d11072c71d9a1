// SPDX-License-Identifier: Apache-2.0
// The state of a chunk of rows, from the tensors that RnntRowStats and RnntLattice left.
#ifndef MINDSPORE_RNNT_RNNT_CHUNK_STATE_H_
#define MINDSPORE_RNNT_RNNT_CHUNK_STATE_H_

#include "rnnt_state.h"

namespace rnnt {

// Each row has its own dloss.
class StateFromChunk {
 public:
  static constexpr bool kJoinsSpans = false;

  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, GM_ADDR stats, GM_ADDR coefficients,
                    GM_ADDR row_dloss) {
    vectors_.Init(pipe);
    stats_.Bind(tiling.rows, kStatCount, stats);
    coefficients_.Bind(tiling.rows, kStateWidth - kOccupation, coefficients);
    dloss_.Bind(tiling.rows, 1, row_dloss);
    columns_.Init(pipe);
    pipe->InitBuffer(queue_, 1, 3 * kTensorLanes * sizeof(float));  // free before the next load
    pipe->InitBuffer(vector_buffer_, kVectorCount * kMaxRows * sizeof(float));
    pipe->InitBuffer(block_buffer_, kMaxRows * kBlockBytes);
    Duplicate(vector_buffer_.Get<float>(), 0.0f, kVectorCount * kMaxRows);
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

  RNNT_FN void Compute(const Tile& tile, const Verdict&, Labels* labels) {
    const int32_t n = tile.count;
    LocalTensor<float> source = queue_.DeQue<float>();
    Order<HardEvent::S_V>();  // scalars of the last tile may still be read
    columns_.Get(vectors_.Get(kStateRowMax), source, kRowMax, n);
    columns_.Get(vectors_.Get(kStateLogSum), source, kRowSum, n);
    for (int32_t c = kOccupation; c < kStateWidth; ++c) {
      columns_.Get(vectors_.Get(static_cast<StateColumn>(c)), source[kTensorLanes], c - kOccupation,
                   n);
    }
    columns_.Get(Get(kDloss), source[2 * kTensorLanes], 0, n);
    Fence();
    queue_.FreeTensor(source);
    const LocalTensor<float> sum = vectors_.Get(kStateLogSum);
    Maxs(sum, sum, kLeastSum, n);
    Fence();
    Ln(sum, sum, n);
    labels->DistanceFromNoCell(Get(kCell), n);
    OneIfNotZero(Get(kCell), Get(kCell), n);
    MakeWeights(n);
  }

  // A row of weight 0, of dloss 0 or without a cell is 0, even if its logits are NaN.
  RNNT_FN void Weigh(const Piece& piece, const LocalTensor<float>& y, int32_t pitch) {
    WithRowValue<Times>(y, y, block_buffer_.Get<float>()[piece.row * kBlockLanes], piece.rows,
                        pitch);
    Fence();
    if (all_ordinary_) return;
    for (int32_t i = 0; i < piece.rows; ++i) {
      const uint32_t row = static_cast<uint32_t>(piece.row + i);
      if (Get(kWeight).GetValue(row) == 0.0f || IsDropped(row)) {
        Duplicate(y[i * pitch], 0.0f, pitch);
      }
    }
    Fence();
  }

  // Rows of weight NaN, once they are stored: as bits, since a Cast may not pass NaN on.
  template <class Filler>
  RNNT_FN void FillNaNRows(const Piece& piece, Filler* filler) {
    if (all_ordinary_ || !piece.row_ends) return;
    PipeBarrier<PIPE_MTE3>();
    for (int32_t i = 0; i < piece.rows; ++i) {
      const uint32_t row = static_cast<uint32_t>(piece.row + i);
      const float weight = Get(kWeight).GetValue(row);
      if (weight != weight && !IsDropped(row)) filler->Rows(piece.tile.row + row, 1, true);
    }
    PipeBarrier<PIPE_MTE3>();
  }

 private:
  static constexpr int32_t kTensorLanes = kMaxRows * kBlockLanes;
  // A sum over the rest may be 0; its logarithm must be finite.
  static constexpr float kLeastSum = 1e-37f;

  enum Vector { kDloss, kCell, kWeight, kOrdinary, kCount, kVectorCount };

  RNNT_FN LocalTensor<float> Get(Vector vector) {
    return vector_buffer_.Get<float>()[vector * kMaxRows];
  }

  RNNT_FN bool IsDropped(uint32_t row) {
    return Get(kDloss).GetValue(row) == 0.0f || Get(kCell).GetValue(row) == 0.0f;
  }

  // weight = dloss, but 0 for a row on no path and NaN for a row of a NaN sample. The ordinary rows
  // of a tile, with weights that are neither 0 nor NaN, are counted: usually all are.
  RNNT_FN void MakeWeights(int32_t n) {
    const LocalTensor<float> occupation = vectors_.Get(kOccupation);
    const LocalTensor<float> weight = Get(kWeight), ordinary = Get(kOrdinary);
    OneIfNotZero(ordinary, occupation, n);
    Mul(ordinary, ordinary, Get(kCell), n);
    Fence();
    Mul(weight, Get(kDloss), ordinary, n);
    Fence();
    Sub(ordinary, occupation, occupation, n);  // 0 or NaN
    Fence();
    Add(weight, weight, ordinary, n);
    Fence();
    ToBlocks(block_buffer_.Get<float>(), weight, n);
    Abs(ordinary, weight, n);
    Fence();
    OneIfNotZero(ordinary, ordinary, n);
    Sub(Get(kCount), weight, weight, n);
    Fence();
    Add(ordinary, ordinary, Get(kCount), n);
    Fence();
    all_ordinary_ = CountOnes(ordinary, n, Get(kCount)) == static_cast<float>(n);
  }

  StateVectors vectors_;
  Records stats_, coefficients_, dloss_;
  RecordColumns columns_;
  TQue<TPosition::VECIN, 1> queue_;
  TBuf<TPosition::VECCALC> vector_buffer_, block_buffer_;
  bool all_ordinary_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_CHUNK_STATE_H_
