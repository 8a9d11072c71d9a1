// SPDX-License-Identifier: Apache-2.0
// The vectors that a lattice task carries from diagonal to diagonal, and the arithmetic of a step.
//
//   alpha(t, u) = alpha(t-1, u) p_blank(t-1, u) + alpha(t, u-1) p_label(t, u-1)
//   beta(t, u)  = p_blank(t, u) beta(t+1, u)    + p_label(t, u) beta(t, u+1)
//
// On lanes w = U - u the blank arc keeps its lane and the label arc leads to the next one; on lanes
// w = t it is the other way round. A Gather with constant offsets moves lanes; a guard block on
// either side of what it reads holds the lanes beyond: those of the neighbouring strip, or none.
//
// Vectors of the same step lie side by side where that lets one instruction do both: a lattice of
// few lanes costs a repeat an instruction.
#ifndef MINDSPORE_RNNT_LATTICE_STEP_H_
#define MINDSPORE_RNNT_LATTICE_STEP_H_

#include "rnnt_scaled.h"

namespace rnnt {

// The arcs of a diagonal: exponents of the blank arc and of the label arc, then mantissas alike.
struct Arcs {
  LocalTensor<float> arrays;
  int32_t lanes;
  bool by_frame;  // the blank arc is the one that leads to the next lane

  RNNT_FN Scaled Blank() const { return {arrays, arrays[2 * lanes]}; }
  RNNT_FN Scaled Label() const { return Blank().From(lanes); }
  RNNT_FN Scaled SameLane() const { return by_frame ? Label() : Blank(); }
  RNNT_FN Scaled NextLane() const { return by_frame ? Blank() : Label(); }
};

class LatticeStep {
 public:
  // Mantissas of e^-2 .. e^2 stay in e^-24 .. e^24 for so many steps.
  static constexpr int32_t kNormaliseDiagonals = 8;

  RNNT_FN void Init(TPipe* pipe) { pipe->InitBuffer(buffer_, kBufferLanes * sizeof(float)); }

  // All lanes have probability 0, except that lane `origin`, if any, has 1. Steps will work on
  // `lanes` lanes.
  RNNT_FN void Start(int32_t lanes, int32_t origin) {
    lanes_ = lanes;
    Fence();
    MakeOffsets();
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
    Multiply(same(), alpha, arcs.SameLane(), lanes_);
    Multiply(beta(), alpha, arcs.NextLane(), lanes_);
  }
  RNNT_FN void AlphaSum(int32_t by, const Scaled& next) {
    Shift(by);
    Fence();
    AddScaled(next, shifted(), same().exponent, At(kWork), lanes_);
  }

  // To beta of the diagonal before. `out` gets the two terms of its sum. The guards are set.
  RNNT_FN void BetaStep(const Arcs& arcs, int32_t by, const Arcs& out) {
    Shift(by);
    Multiply(out.SameLane(), beta(), arcs.SameLane(), lanes_);
    Fence();
    Multiply(out.NextLane(), shifted(), arcs.NextLane(), lanes_);
    Fence();
    AddScaled(beta(), out.Blank(), out.Label().exponent, At(kWork), lanes_);
  }

  RNNT_FN void Normalise(const Scaled& x) { rnnt::Normalise(x, At(kWork), lanes_); }
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
  static constexpr int32_t kExponentLanes = kAlpha + kRnntStripLanes;
  // Exponents and mantissas that were moved by a lane; mantissas, then exponents, that were not.
  static constexpr int32_t kShifted = 2 * kExponentLanes;
  static constexpr int32_t kWork = kShifted + 4 * kRnntStripLanes;
  static constexpr int32_t kOffsets = kWork + 2 * kRnntStripLanes;
  static constexpr int32_t kBufferLanes = kOffsets + 2 * kRnntStripLanes;
  static constexpr int32_t kLaneBytes = sizeof(float);

  RNNT_FN LocalTensor<float> At(int32_t lane) { return buffer_.Get<float>()[lane]; }
  RNNT_FN Scaled Pair(int32_t lane) { return {At(lane), At(kExponentLanes + lane)}; }
  RNNT_FN Scaled shifted() { return {At(kShifted), At(kShifted + lanes_)}; }
  RNNT_FN Scaled same() { return {At(kShifted + 3 * lanes_), At(kShifted + 2 * lanes_)}; }

  // Exponents and mantissas of the lanes in use, one behind the other.
  RNNT_FN void MakeOffsets() {
    const LocalTensor<int32_t> offsets = At(kOffsets).ReinterpretCast<int32_t>();
    CreateVecIndex(offsets, int32_t{0}, static_cast<uint32_t>(lanes_));
    Fence();
    Muls(offsets, offsets, kLaneBytes, lanes_);
    Fence();
    Adds(offsets[lanes_], offsets, kExponentLanes * kLaneBytes, lanes_);
  }

  // shifted[w] = beta[w + by].
  RNNT_FN void Shift(int32_t by) {
    const uint32_t base = static_cast<uint32_t>((kBlockLanes + by) * kLaneBytes);
    Gather(shifted().exponent, At(kBeta - kBlockLanes), At(kOffsets).ReinterpretCast<uint32_t>(),
           base, static_cast<uint32_t>(2 * lanes_));
  }

  int32_t lanes_;
  TBuf<TPosition::VECCALC> buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_LATTICE_STEP_H_
