// SPDX-License-Identifier: Apache-2.0
// The diagonals that a task of the lattice with durations has in UB, and the arithmetic of a step.
//
//   alpha(t, u) = sum_{d > 0} alpha(t-d, u) p_blank p_d  +  sum_d alpha(t-d, u-1) p_label p_d
//   beta(t, u)  = sum_{d > 0} p_blank p_d beta(t+d, u)   +  sum_d p_label p_d beta(t+d, u+1)
//
// with the p of the cell that an arc leaves. A blank arc keeps its lane and leads d diagonals on; a
// label arc leads to the lane before, d + 1 diagonals on. So a ring of reach + 1 slots holds a
// vector of each kind of arc for every diagonal that arcs still lead to. Alpha adds up in the slots
// what its arcs carry, in the lane that they leave; beta keeps itself there, for label arcs with
// its lanes moved. A Gather moves lanes; its offsets lead the lane at the strip's edge to a guard
// block behind the vector, where the neighbouring strip's lane is put.
//
// Sums of many arcs are taken at once, relative to the largest exponent. Each alpha and beta is
// normalised: arcs may skip any diagonals that are normalised now and then.
#ifndef MINDSPORE_RNNT_TDT_STEP_H_
#define MINDSPORE_RNNT_TDT_STEP_H_

#include "rnnt_scaled.h"
#include "tdt_space.h"

namespace rnnt {

// rows[0] = the fold of `count` vectors of `lanes` lanes; the others are lost.
template <class Op>
RNNT_FN void FoldRows(const LocalTensor<float>& rows, int32_t count, int32_t lanes) {
  while (count > 1) {
    const int32_t half = count / 2;
    Op::Run(rows, rows, rows[(count - half) * lanes], half * lanes);
    Fence();
    count -= half;
  }
}
struct LargestOf {
  static RNNT_FN void Run(const LocalTensor<float>& dst, const LocalTensor<float>& a,
                          const LocalTensor<float>& b, int32_t lanes) {
    Max(dst, a, b, lanes);
  }
};
struct SumOf {
  static RNNT_FN void Run(const LocalTensor<float>& dst, const LocalTensor<float>& a,
                          const LocalTensor<float>& b, int32_t lanes) {
    Add(dst, a, b, lanes);
  }
};

class TdtStep {
 public:
  RNNT_FN void Init(TPipe* pipe, const RnntDurations* durations) {
    durations_ = durations;
    pipe->InitBuffer(buffer_, kRnntTdtWorkFloats * sizeof(float));
    const LocalTensor<int32_t> first_block = At(kFirstBlock).ReinterpretCast<int32_t>();
    CreateVecIndex(first_block, int32_t{0}, static_cast<uint32_t>(kBlockLanes));
    Fence();
    Muls(first_block, first_block, static_cast<int32_t>(sizeof(float)), kBlockLanes);
    Fence();
  }

  // A new task.
  RNNT_FN void Begin(const Sample& sample) {
    terms_.List(*durations_, sample.T);
    distinct_ = terms_.AreDistinct();
    slots_ = sample.reach + 1;
    Duplicate(At(kNaN), 0.0f, kBlockLanes);
    Fence();
  }

  // A new strip of `lanes` lanes: all slots have probability 0. Label arcs come from the lane
  // behind (by = 1) or before (by = -1).
  RNNT_FN void Start(int32_t lanes, int32_t by) {
    strip_lanes_ = lanes;
    lanes_ = static_cast<int32_t>(RnntAlignUp(lanes, kBlockLanes));
    const int32_t D = durations_->count, ring = 2 * slots_ * Pitch();
    taken_ = kRnntTdtFixedFloats;
    ring_exponents_ = Take(ring);
    ring_mantissas_ = Take(ring);
    term_exponents_ = Take(2 * D * lanes_);
    term_mantissas_ = Take(2 * D * lanes_);
    largest_ = Take(2 * D * lanes_);
    mantissa_sums_ = Take(RnntTdtArrays(D) * lanes_);
    products_ = Take(4 * lanes_);
    shifted_ = Take(2 * lanes_);
    work_ = Take(lanes_);  // behind the mantissas of what is shifted
    offsets_ = Take(lanes_);
    Fence();
    Duplicate(At(ring_exponents_), kLogZero, ring);
    Duplicate(At(ring_mantissas_), 1.0f, ring);
    Duplicate(At(mantissa_sums_), 0.0f, RnntTdtArrays(D) * lanes_);
    MakeOffsets(by);
  }

  // Row j's vector of blank arcs or of label arcs.
  RNNT_FN Scaled Blank(int64_t j) { return Slot(0, j); }
  RNNT_FN Scaled Label(int64_t j) { return Slot(1, j); }
  RNNT_FN Scaled Guard(const Scaled& vector) { return vector.From(lanes_); }
  // Probability 1 for a lane of a vector that has 0.
  RNNT_FN void SetOne(const Scaled& vector, int32_t lane) {
    LaneMask mask(lane % kBlockLanes);
    Duplicate(vector.exponent[FloorToBlock(lane)], 0.0f, mask.bits, 1, 1, 8);
    Fence();
  }
  // Lane 0 of `out` is the strip's last lane.
  RNNT_FN void LastLane(const Scaled& out, const Scaled& vector) {
    const LocalTensor<uint32_t> offsets = At(kFirstBlock).ReinterpretCast<uint32_t>();
    const uint32_t base = static_cast<uint32_t>((strip_lanes_ - 1) * sizeof(float));
    Gather(out.exponent, vector.exponent, offsets, base, static_cast<uint32_t>(kBlockLanes));
    Gather(out.mantissa, vector.mantissa, offsets, base, static_cast<uint32_t>(kBlockLanes));
  }
  // out[w] = vector[w + by]
  RNNT_FN void Shift(const Scaled& out, const Scaled& vector) {
    const LocalTensor<uint32_t> offsets = At(offsets_).ReinterpretCast<uint32_t>();
    Gather(out.exponent, vector.exponent, offsets, 0, static_cast<uint32_t>(lanes_));
    Gather(out.mantissa, vector.mantissa, offsets, 0, static_cast<uint32_t>(lanes_));
  }

  // out = alpha of row j, which takes its slots.
  RNNT_FN void Alpha(int64_t j, const Scaled& out) {
    const Scaled blank = Blank(j), label = Label(j), shifted = Pair(shifted_);
    Shift(shifted, label);
    Adds(At(work_), blank.mantissa, 0.0f, lanes_);
    Fence();
    AddScaled(out, shifted, blank.exponent, At(products_), lanes_);
    Duplicate(blank.exponent, kLogZero, lanes_);
    Duplicate(blank.mantissa, 1.0f, lanes_);
    Duplicate(label.exponent, kLogZero, Pitch());
    Duplicate(label.mantissa, 1.0f, Pitch());
    Normalise(out, At(work_), lanes_);
  }

  // Adds alpha of row j times its arcs to the slots that they lead to.
  RNNT_FN void PushAlpha(int64_t j, const Scaled& alpha, const Scaled& arcs) {
    const Scaled blank = {At(products_), At(products_ + 2 * lanes_)};
    const Scaled label = blank.From(lanes_);
    Multiply(blank, alpha, arcs.From(kTdtBlank * lanes_), lanes_);
    Multiply(label, alpha, arcs.From(kTdtLabel * lanes_), lanes_);
    Fence();
    for (int32_t x = 0; x < terms_.count; ++x) {
      Multiply(Term(x), terms_.IsBlank(x) ? blank : label, arcs.From(terms_.array[x] * lanes_),
               lanes_);
    }
    Fence();
    if (distinct_) {
      PushTerms(j, 0, terms_.count);
      return;
    }
    for (int32_t x = 0; x < terms_.count; ++x) PushTerms(j, x, 1);
  }

  // Row j's slots become beta, and beta of the lane before.
  RNNT_FN void Beta(int64_t j, const Scaled& arcs) {
    const Scaled sum = terms_.count > 0 ? SumOfTerms(j, arcs) : Nothing();
    CopyScaled(Blank(j), sum, lanes_);
    Fence();
    Normalise(Blank(j), At(work_), lanes_);
  }

  // Sums of mantissas are NaN if one is; each diagonal once.
  RNNT_FN void LookForNaN(const LocalTensor<float>& mantissas) {
    const LocalTensor<float> sums = At(mantissa_sums_);
    Add(sums, sums, mantissas, RnntTdtArrays(durations_->count) * lanes_);
  }
  // What the strip's sums say is added to NaN().
  RNNT_FN void EndLookForNaN() {
    const LocalTensor<float> sums = At(mantissa_sums_);
    FoldRows<SumOf>(sums, RnntTdtArrays(durations_->count) * lanes_ / kBlockLanes, kBlockLanes);
    WholeReduceSum(At(kStripNaN), sums, kBlockLanes, 1, 1, 1, 8);
    Fence();
    Muls(At(kStripNaN), At(kStripNaN), 0.0f, 1);
    Fence();
    Add(At(kNaN), At(kNaN), At(kStripNaN), 1);
    Fence();
  }
  // Lane 0 is 0, or NaN if an arc of the sample is.
  RNNT_FN LocalTensor<float> NaN() { return At(kNaN); }

  RNNT_FN int32_t lanes() const { return lanes_; }  // in whole blocks

 private:
  // What does not depend on the strip.
  enum Fixed { kFirstBlock = 0, kNaN = 8, kStripNaN = 16 };

  RNNT_FN int32_t Take(int32_t floats) {
    taken_ += floats;
    return taken_ - floats;
  }
  RNNT_FN LocalTensor<float> At(int32_t lane) { return buffer_.Get<float>()[lane]; }
  RNNT_FN Scaled Pair(int32_t at) { return {At(at), At(at + lanes_)}; }
  RNNT_FN int32_t Pitch() const { return lanes_ + kRnntTdtGuardLanes; }
  RNNT_FN Scaled Slot(int32_t kind, int64_t j) {
    const int32_t at = (kind * slots_ + static_cast<int32_t>(j % slots_)) * Pitch();
    return {At(ring_exponents_ + at), At(ring_mantissas_ + at)};
  }
  RNNT_FN Scaled Term(int32_t x) {
    return {At(term_exponents_ + x * lanes_), At(term_mantissas_ + x * lanes_)};
  }
  RNNT_FN Scaled Target(int64_t j, int32_t x) {
    return Slot(terms_.IsBlank(x) ? 0 : 1, j + terms_.offset[x]);
  }

  // The lane w + by; beyond the strip the guard.
  RNNT_FN void MakeOffsets(int32_t by) {
    const LocalTensor<int32_t> offsets = At(offsets_).ReinterpretCast<int32_t>();
    const int32_t edge = by > 0 ? strip_lanes_ - 1 : 0;
    constexpr int32_t kBytes = sizeof(float);
    CreateVecIndex(offsets, by, static_cast<uint32_t>(lanes_));
    Fence();
    Muls(offsets, offsets, kBytes, lanes_);
    Fence();
    LaneMask mask(edge % kBlockLanes);
    Duplicate(offsets[FloorToBlock(edge)], lanes_ * kBytes, mask.bits, 1, 1, 8);
    Fence();
  }

  // Slots of different terms: none depends on another.
  RNNT_FN void PushTerms(int64_t j, int32_t first, int32_t count) {
    const int32_t end = first + count, all = count * lanes_;
    const LocalTensor<float> largest = At(largest_);
    const Scaled terms = Term(first);
    for (int32_t x = first; x < end; ++x) {
      Max(largest[x * lanes_], Term(x).exponent, Target(j, x).exponent, lanes_);
    }
    Fence();
    Sub(terms.exponent, terms.exponent, largest[first * lanes_], all);
    for (int32_t x = first; x < end; ++x) {
      const Scaled target = Target(j, x);
      Sub(target.exponent, target.exponent, largest[x * lanes_], lanes_);
    }
    Fence();
    Exp(terms.exponent, terms.exponent, all);
    for (int32_t x = first; x < end; ++x) {
      Exp(Target(j, x).exponent, Target(j, x).exponent, lanes_);
    }
    Fence();
    Mul(terms.mantissa, terms.mantissa, terms.exponent, all);
    for (int32_t x = first; x < end; ++x) {
      const Scaled target = Target(j, x);
      Mul(target.mantissa, target.mantissa, target.exponent, lanes_);
    }
    Fence();
    for (int32_t x = first; x < end; ++x) {
      const Scaled target = Target(j, x);
      Add(target.mantissa, target.mantissa, Term(x).mantissa, lanes_);
      Adds(target.exponent, largest[x * lanes_], 0.0f, lanes_);
    }
    Fence();
  }

  RNNT_FN Scaled SumOfTerms(int64_t j, const Scaled& arcs) {
    const LocalTensor<float> largest = At(largest_);
    const Scaled terms = Term(0);
    for (int32_t x = 0; x < terms_.count; ++x) {
      Multiply(Term(x), Target(j, x), arcs.From(terms_.array[x] * lanes_), lanes_);
    }
    Fence();
    for (int32_t x = 0; x < terms_.count; ++x) {
      Multiply(Term(x), Term(x), arcs.From(terms_.Token(x) * lanes_), lanes_);
    }
    Fence();
    Adds(largest, terms.exponent, 0.0f, terms_.count * lanes_);
    Fence();
    FoldRows<LargestOf>(largest, terms_.count, lanes_);
    for (int32_t x = 0; x < terms_.count; ++x) {
      Sub(Term(x).exponent, Term(x).exponent, largest, lanes_);
    }
    Fence();
    Exp(terms.exponent, terms.exponent, terms_.count * lanes_);
    Fence();
    Mul(terms.mantissa, terms.mantissa, terms.exponent, terms_.count * lanes_);
    Fence();
    FoldRows<SumOf>(terms.mantissa, terms_.count, lanes_);
    return {largest, terms.mantissa};
  }

  RNNT_FN Scaled Nothing() {
    const Scaled nothing = Pair(shifted_);
    Duplicate(nothing.exponent, kLogZero, lanes_);
    Duplicate(nothing.mantissa, 1.0f, lanes_);
    Fence();
    return nothing;
  }

  const RnntDurations* durations_;
  TBuf<TPosition::VECCALC> buffer_;
  TdtTerms terms_;
  bool distinct_;
  int32_t strip_lanes_, lanes_, slots_;
  int32_t taken_, ring_exponents_, ring_mantissas_, term_exponents_, term_mantissas_, largest_;
  int32_t mantissa_sums_, products_, shifted_, offsets_, work_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_TDT_STEP_H_
