// SPDX-License-Identifier: Apache-2.0
// The state of all rows as a tensor, or only its coefficients, for a launch that writes no gradient.
#ifndef MINDSPORE_RNNT_STATE_WRITER_H_
#define MINDSPORE_RNNT_STATE_WRITER_H_

#include "rnnt_fill.h"
#include "rnnt_state.h"

namespace rnnt {

class StateWriter {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, StateFromLattice* source, StateColumn first,
                    GM_ADDR state) {
    const int32_t width = kStateWidth - first;
    first_ = first;
    batch_ = batch;
    source_ = source;
    writer_.Init(pipe, batch->tiling().rows, width, state);
    filler_.Init(pipe, batch->tiling(), width, state);
    pipe->InitBuffer(mark_buffer_, kStateWidth * kMaxRows * sizeof(float));
  }

  RNNT_FN void Run() {
    filler_.ZeroOutside(batch_);
    Tiles tiles;
    tiles.Init(batch_, kMaxRows, kStateWidth * sizeof(float));
    Tile next;
    int64_t sample = -1;
    Verdict next_verdict = {};
    bool more = Next(&tiles, &next, &sample, &next_verdict);
    while (more) {
      const Tile tile = next;
      const Verdict verdict = next_verdict;
      const bool worked = verdict.outcome == kLoss;
      if (worked) source_->Compute(tile, verdict);
      more = Next(&tiles, &next, &sample, &next_verdict);
      if (!worked) Mark(verdict);
      RecordColumnList columns;
      for (int32_t c = first_; c < kStateWidth; ++c) {
        columns.column[c - first_] =
            worked ? source_->vectors().Get(static_cast<StateColumn>(c)) : MarkOf(c);
      }
      writer_.Store(tile, columns);
    }
  }

 private:
  RNNT_FN bool Next(Tiles* tiles, Tile* tile, int64_t* sample, Verdict* verdict) {
    if (!tiles->Next(tile)) return false;
    if (tile->sample.index != *sample) {
      *sample = tile->sample.index;
      *verdict = source_->Of(tile->sample);
    }
    if (verdict->outcome == kLoss) source_->Load(*tile);
    return true;
  }

  // NaN everywhere; or no occupation, and a log_sum by which StateFromTensor::Of knows the
  // sample.
  RNNT_FN void Mark(const Verdict& verdict) {
    const LocalTensor<float> mark = mark_buffer_.Get<float>();
    const bool zero = !verdict.HasNaNGradient();
    Fence();
    Duplicate(mark, zero ? 0.0f : __builtin_nanf(""), kStateWidth * kMaxRows);
    Fence();
    if (zero) Duplicate(MarkOf(kStateLogSum), kInfinity, kMaxRows);
    Fence();
  }
  RNNT_FN LocalTensor<float> MarkOf(int32_t column) {
    return mark_buffer_.Get<float>()[column * kMaxRows];
  }

  Batch* batch_;
  StateFromLattice* source_;
  StateColumn first_;
  RecordWriter writer_;
  Filler<float> filler_;
  TBuf<TPosition::VECCALC> mark_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_STATE_WRITER_H_
