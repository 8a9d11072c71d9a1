// SPDX-License-Identifier: Apache-2.0
// The coefficients of all rows as a tensor, for a launch that has no gradient to write: all five
// (state), or the last three of them.
#ifndef MINDSPORE_RNNT_STATE_WRITER_H_
#define MINDSPORE_RNNT_STATE_WRITER_H_

#include "rnnt_coefficients.h"
#include "rnnt_fill.h"

namespace rnnt {

class StateWriter {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, LatticeCoefficients* coefficients, Coefficient first,
                    GM_ADDR state) {
    const int32_t width = kCoefficientCount - first;
    first_ = first;
    batch_ = batch;
    coefficients_ = coefficients;
    writer_.Init(pipe, batch->tiling().rows, width, state);
    filler_.Init(pipe, batch->tiling(), width, state);
    pipe->InitBuffer(mark_buffer_, kCoefficientCount * kMaxRows * sizeof(float));
  }

  RNNT_FN void Run() {
    filler_.ZeroOutside(batch_);
    Tiles tiles;
    tiles.Init(batch_, kMaxRows, kCoefficientCount * sizeof(float));
    Tile next;
    int64_t sample = -1;
    Verdict next_verdict = {};
    bool more = Next(&tiles, &next, &sample, &next_verdict);
    while (more) {
      const Tile tile = next;
      const Verdict verdict = next_verdict;
      const bool worked = verdict.outcome == kHasGradient;
      if (worked) coefficients_->Compute(tile, verdict);
      more = Next(&tiles, &next, &sample, &next_verdict);
      writer_.Store(tile,
                    (worked ? coefficients_->vectors().All() : Mark(verdict))[first_ * kMaxRows]);
    }
  }

 private:
  RNNT_FN bool Next(Tiles* tiles, Tile* tile, int64_t* sample, Verdict* verdict) {
    if (!tiles->Next(tile)) return false;
    if (tile->sample.index != *sample) {
      *sample = tile->sample.index;
      *verdict = coefficients_->Of(tile->sample);
    }
    if (verdict->outcome == kHasGradient) coefficients_->Load(*tile);
    return true;
  }

  // NaN everywhere; or no occupation, and a log_sum by which StateCoefficients::Of knows the
  // sample.
  RNNT_FN LocalTensor<float> Mark(const Verdict& verdict) {
    const LocalTensor<float> mark = mark_buffer_.Get<float>();
    const bool zero = verdict.outcome == kZeroGradient;
    Fence();
    Duplicate(mark, zero ? 0.0f : __builtin_nanf(""), kCoefficientCount * kMaxRows);
    Fence();
    if (zero) Duplicate(mark[kCoefLogSum * kMaxRows], kInfinity, kMaxRows);
    Fence();
    return mark;
  }

  Batch* batch_;
  LatticeCoefficients* coefficients_;
  Coefficient first_;
  RecordWriter writer_;
  Filler<float> filler_;
  TBuf<TPosition::VECCALC> mark_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_STATE_WRITER_H_
