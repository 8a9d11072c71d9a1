// SPDX-License-Identifier: Apache-2.0
// The second half of phase lattice, on all cores: what each row's gradient needs beside the row.
//
//   post_blank = alpha * arc_blank / P
//   post_label = alpha * arc_label / P * (1 + fastemit_lambda)
//   occupation = post_blank + post_label
//
// The occupation is not alpha * beta / P: as a sum, it makes a row of the gradient add up
// to 0 however alpha and beta were rounded. These three are the row's `coefficients`; together with
// row_max and log_sum they are its `state`, which RnntForward leaves for RnntBackward.
#ifndef MINDSPORE_RNNT_RNNT_STATE_H_
#define MINDSPORE_RNNT_RNNT_STATE_H_

#include "rnnt_labels.h"
#include "rnnt_outcome.h"
#include "rnnt_records.h"

namespace rnnt {

// Columns of the state; the last three are the coefficients.
enum StateColumn { kStateRowMax, kStateLogSum, kOccupation, kPostBlank, kPostLabel, kStateWidth };

// kStateWidth vectors of kMaxRows lanes, all of them defined.
class StateVectors {
 public:
  RNNT_FN void Init(TPipe* pipe) {
    pipe->InitBuffer(buffer_, kStateWidth * kMaxRows * sizeof(float));
    Duplicate(buffer_.Get<float>(), 0.0f, kStateWidth * kMaxRows);
    Fence();
  }
  RNNT_FN LocalTensor<float> Get(StateColumn c) { return buffer_.Get<float>()[c * kMaxRows]; }
  RNNT_FN LocalTensor<float> All() { return buffer_.Get<float>(); }

 private:
  TBuf<TPosition::VECCALC> buffer_;
};

// From what the lattice left in the workspace.
class StateFromLattice {
 public:
  static constexpr bool kJoinsSpans = true;

  RNNT_FN void Init(TPipe* pipe, const Options& options, GM_ADDR workspace) {
    label_weight_ = options.label_weight;
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    vectors_.Init(pipe);
    outcome_.Init(pipe, options, workspace);
    pipe->InitBuffer(queue_, 2, kSourceCount * kMaxRows * sizeof(float));
  }

  RNNT_FN Verdict Of(const Sample& sample) { return outcome_.Of(sample); }
  RNNT_FN OutcomeReader& outcomes() { return outcome_; }
  RNNT_FN StateVectors& vectors() { return vectors_; }

  RNNT_FN void Weigh(const Piece&, const LocalTensor<float>&, int32_t) {}
  template <class Filler>
  RNNT_FN void FillNaNRows(const Piece&, Filler*) {}

  RNNT_FN void Load(const Tile& tile) {
    const LocalTensor<float> source = queue_.AllocTensor<float>();
    const int32_t P = tile.places;
    for (Span span = tile.FirstSpan(); span.count > 0; tile.Step(&span)) {
      const Strip strip = SampleSpace(tile.sample).StripOf(span.lane);
      const int64_t W = strip.lanes, d = span.diagonal, w = span.lane - strip.first;
      const LocalTensor<float> at = source[span.place];
      CopyIn(at, P, strip.stats + d * kCellStats * W + w, kAlpha, W, span.count);
      CopyIn(at[kAlpha * P], P, strip.alpha + d * 2 * W + w, 2, W, span.count);
      CopyIn(at[kArcs * P], P, strip.arcs + d * 4 * W + w, 4, W, span.count);
    }
    queue_.EnQue(source);
  }

  // posterior = alpha * arc / P. The exponents are added first, exactly.
  RNNT_FN void Compute(const Tile& tile, const Verdict& verdict, Labels* = nullptr) {
    const int32_t P = tile.places;
    LocalTensor<float> source = queue_.DeQue<float>();
    const Scaled alpha = {source[kAlpha * P], source[(kAlpha + 1) * P]};
    const Scaled arcs = {source[kArcs * P], source[(kArcs + 2) * P]};  // blank, and label behind it
    Adds(vectors_.Get(kStateRowMax), source, 0.0f, P);
    Adds(vectors_.Get(kStateLogSum), source[P], 0.0f, P);
    Multiply(arcs, arcs, alpha, P);
    Multiply(arcs.From(P), arcs.From(P), alpha, P);
    Fence();
    Adds(arcs.exponent, arcs.exponent, -verdict.exponent, 2 * P);
    Fence();
    Adds(arcs.exponent, arcs.exponent, -verdict.log_mantissa, 2 * P);
    Fence();
    Exp(arcs.exponent, arcs.exponent, 2 * P);
    Fence();
    const LocalTensor<float> blank = vectors_.Get(kPostBlank), label = vectors_.Get(kPostLabel);
    Mul(blank, arcs.exponent, arcs.mantissa, P);
    Mul(label, arcs.exponent[P], arcs.mantissa[P], P);
    Fence();
    if (label_weight_ != 1.0f) Muls(label, label, label_weight_, P);
    Fence();
    Add(vectors_.Get(kOccupation), blank, label, P);
    Fence();
    queue_.FreeTensor(source);
  }

 private:
  enum Source {
    kSourceRowMax,
    kSourceLogSum,
    kAlpha,
    kArcs = kAlpha + 2,
    kSourceCount = kArcs + 4
  };

  // n lanes of `count` arrays, which are `lanes` long and begin at lane `at`, to vectors `pitch`
  // lanes apart.
  RNNT_FN void CopyIn(const LocalTensor<float>& dst, int64_t pitch, int64_t at, int64_t count,
                      int64_t lanes, int64_t n) {
    const int64_t filled = RnntAlignUp(n, kBlockLanes);
    DataCopyPad(
        dst, workspace_[static_cast<uint64_t>(at)],
        DataCopyExtParams(static_cast<uint16_t>(count), static_cast<uint32_t>(n * sizeof(float)),
                          static_cast<uint32_t>((lanes - n) * sizeof(float)),
                          static_cast<uint32_t>((pitch - filled) / kBlockLanes), 0),
        DataCopyPadExtParams<float>(true, 0, static_cast<uint8_t>(filled - n), 0.0f));
  }

  float label_weight_;
  GlobalTensor<float> workspace_;
  TQue<TPosition::VECIN, 1> queue_;
  StateVectors vectors_;
  OutcomeReader outcome_;
};

// From the state of RnntForward.
class StateFromTensor {
 public:
  static constexpr bool kJoinsSpans = false;

  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, GM_ADDR state) {
    vectors_.Init(pipe);
    reader_.Init(pipe, tiling.rows, kStateWidth, state);
    scalars_.Init(pipe, tiling.rows, kStateWidth, state);
  }

  // The state of a sample without a gradient says so in every row: log_sum is +inf (zero) or NaN.
  RNNT_FN Verdict Of(const Sample& sample) {
    Verdict verdict = {kImpossible, 0.0f, 0.0f, 0.0f};
    if (!sample.valid) return verdict;
    const float log_sum = scalars_.At(sample.row_base, kStateLogSum);
    verdict.outcome = log_sum == kInfinity ? kImpossible : log_sum == log_sum ? kLoss : kNaN;
    return verdict;
  }

  RNNT_FN StateVectors& vectors() { return vectors_; }
  RNNT_FN void Weigh(const Piece&, const LocalTensor<float>&, int32_t) {}
  template <class Filler>
  RNNT_FN void FillNaNRows(const Piece&, Filler*) {}
  RNNT_FN void Load(const Tile& tile) { reader_.Load(tile); }
  RNNT_FN void Compute(const Tile& tile, const Verdict&, Labels*) {
    reader_.Receive();
    for (int32_t c = 0; c < kStateWidth; ++c) {
      reader_.Column(vectors_.Get(static_cast<StateColumn>(c)), c, tile.count);
    }
    Fence();
    reader_.Release();
  }

 private:
  StateVectors vectors_;
  RecordReader reader_;
  ScalarReader scalars_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_STATE_H_
