// SPDX-License-Identifier: Apache-2.0
// The vectors that a lattice task carries from diagonal to diagonal, and the arithmetic of a step.
//
//   alpha(t, u) = alpha(t-1, u) p_blank(t-1, u) + alpha(t, u-1) p_label(t, u-1)
//   beta(t, u)  = p_blank(t, u) beta(t+1, u)    + p_label(t, u) beta(t, u+1)
//
// On lanes w = U - u the blank arc keeps its lane and the label arc leads to the next one; on lanes
// w = t it is the other way round. A Gather with constant offsets moves lanes; a guard block on
// either side of what it reads holds the lanes beyond: those of the neighbouring strip, or none.
#ifndef MINDSPORE_RNNT_LATTICE_STEP_H_
#define MINDSPORE_RNNT_LATTICE_STEP_H_

#include "rnnt_scaled.h"

namespace rnnt {

// The arcs of a diagonal, by the lane that they lead to.
struct Arcs {
  Scaled same_lane, next_lane;
};

class LatticeStep {
 public:
  // Mantissas of e^-2 .. e^2 stay in e^-24 .. e^24 for so many steps.
  static constexpr int32_t kNormaliseDiagonals = 8;

  RNNT_FN void Init(TPipe* pipe) {
    pipe->InitBuffer(buffer_, kBufferLanes * sizeof(float));
    const LocalTensor<int32_t> offsets = At(kOffsets).ReinterpretCast<int32_t>();
    CreateVecIndex(offsets, int32_t{0}, static_cast<uint32_t>(kRnntStripLanes));
    Fence();
    Muls(offsets, offsets, static_cast<int32_t>(sizeof(float)), kRnntStripLanes);
    Fence();
  }

  // All lanes have probability 0, except that lane `origin`, if any, has 1. Steps will work on
  // `lanes` lanes.
  RNNT_FN void Start(int32_t lanes, int32_t origin) {
    lanes_ = lanes;
    Fence();
    const Scaled all = Pair(kBeta - kBlockLanes);
    Duplicate(all.exponent, kLogZero, lanes + 2 * kBlockLanes);
    Duplicate(all.mantissa, 1.0f, lanes + 2 * kBlockLanes);
    Duplicate(alpha().exponent, kLogZero, lanes);
    Duplicate(alpha().mantissa, 1.0f, lanes);
    Fence();
    if (origin < 0) return;
    LaneMask lane(origin % kBlockLanes);
    Duplicate(alpha().exponent[FloorToBlock(origin)], 0.0f, lane.bits, 1, 1, 8);
    Duplicate(beta().exponent[FloorToBlock(origin)], 0.0f, lane.bits, 1, 1, 8);
    Fence();
  }

  // From alpha of a diagonal to `next`, that of the following one. Between the two halves the
  // guards of what moves, which is in beta's place, can be set.
  RNNT_FN void AlphaArcs(const Scaled& alpha, const Arcs& arcs) {
    Multiply(Pair(kSame), alpha, arcs.same_lane, lanes_);
    Multiply(beta(), alpha, arcs.next_lane, lanes_);
  }
  RNNT_FN void AlphaSum(int32_t by, const Scaled& next) {
    Shift(by);
    Fence();
    const Scaled same = Pair(kSame), shifted = Pair(kShifted);
    AddScaled(next, same, shifted, same.exponent, shifted.exponent, lanes_);
  }

  // To beta of the diagonal before. `out` gets the two terms of its sum. The guards are set.
  RNNT_FN void BetaStep(const Arcs& arcs, int32_t by, const Arcs& out) {
    Shift(by);
    Multiply(out.same_lane, beta(), arcs.same_lane, lanes_);
    Fence();
    Multiply(out.next_lane, Pair(kShifted), arcs.next_lane, lanes_);
    Fence();
    const Scaled work = Pair(kSame);
    AddScaled(beta(), out.same_lane, out.next_lane, work.exponent, work.mantissa, lanes_);
  }

  RNNT_FN void Normalise(const Scaled& x) { rnnt::Normalise(x, Pair(kShifted).exponent, lanes_); }
  RNNT_FN void Copy(const Scaled& out, const Scaled& x) { CopyScaled(out, x, lanes_); }

  // alpha between two slabs; beta, or what moves of alpha.
  RNNT_FN Scaled alpha() { return Pair(kAlpha); }
  RNNT_FN Scaled beta() { return Pair(kBeta); }
  // The block behind the lanes in use (by = 1) or before them (by = -1), and the last or first of
  // those lanes, which the strip on the other side finds in its guard.
  RNNT_FN Scaled Guard(int32_t by) { return Pair(by > 0 ? kBeta + lanes_ : kBeta - kBlockLanes); }
  RNNT_FN Scaled Edge(int32_t by) { return Pair(by > 0 ? kBeta : kBeta + lanes_ - kBlockLanes); }

 private:
  // Exponents, then mantissas in the same order.
  static constexpr int32_t kBeta = kBlockLanes;
  static constexpr int32_t kAlpha = kBeta + kRnntStripLanes + kBlockLanes;
  static constexpr int32_t kSame = kAlpha + kRnntStripLanes;
  static constexpr int32_t kShifted = kSame + kRnntStripLanes;
  static constexpr int32_t kExponentLanes = kShifted + kRnntStripLanes;
  static constexpr int32_t kOffsets = 2 * kExponentLanes;
  static constexpr int32_t kBufferLanes = kOffsets + kRnntStripLanes;

  RNNT_FN LocalTensor<float> At(int32_t lane) { return buffer_.Get<float>()[lane]; }
  RNNT_FN Scaled Pair(int32_t lane) { return {At(lane), At(kExponentLanes + lane)}; }

  // shifted[w] = beta[w + by].
  RNNT_FN void Shift(int32_t by) {
    const uint32_t base = static_cast<uint32_t>((kBlockLanes + by) * sizeof(float));
    const Scaled from = Pair(kBeta - kBlockLanes), to = Pair(kShifted);
    const LocalTensor<uint32_t> offsets = At(kOffsets).ReinterpretCast<uint32_t>();
    Gather(to.exponent, from.exponent, offsets, base, static_cast<uint32_t>(lanes_));
    Gather(to.mantissa, from.mantissa, offsets, base, static_cast<uint32_t>(lanes_));
  }

  int32_t lanes_;
  TBuf<TPosition::VECCALC> buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_LATTICE_STEP_H_
