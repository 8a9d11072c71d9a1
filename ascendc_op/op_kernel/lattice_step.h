// SPDX-License-Identifier: Apache-2.0
// The vector that a lattice task carries from diagonal to diagonal, and the arithmetic of a step.
//
//   alpha(t, u) = logadd(alpha(t-1, u) + lp_blank(t-1, u), alpha(t, u-1) + lp_label(t, u-1))
//   beta(t, u)  = logadd(lp_blank(t, u) + beta(t+1, u), lp_label(t, u) + beta(t, u+1))
//
// On lanes w = U - u the blank arc stays in its lane and the label arc moves by one; on lanes w = t
// it is the other way round. A Gather with constant offsets moves lanes; a guard block on either
// side of what it reads holds the lanes that lie beyond: those of the neighbouring strip, or none.
//
// float32 alone would drift at long T. So every kRnntScaleGroup diagonals the integer next to the
// largest value moves from the values to `scale`, exactly.
#ifndef MINDSPORE_RNNT_LATTICE_STEP_H_
#define MINDSPORE_RNNT_LATTICE_STEP_H_

#include "rnnt_vector.h"

namespace rnnt {

class LatticeStep {
 public:
  RNNT_FN void Init(TPipe* pipe) {
    pipe->InitBuffer(buffer_, kBufferLanes * sizeof(float));
    const LocalTensor<int32_t> offsets = At(kOffsets).ReinterpretCast<int32_t>();
    CreateVecIndex(offsets, int32_t{0}, static_cast<uint32_t>(kRnntStripLanes));
    Fence();
    Muls(offsets, offsets, static_cast<int32_t>(sizeof(float)), kRnntStripLanes);
    Duplicate(Small(kLargest), 0.0f, kRepeatLanes);
    Fence();
  }

  // All lanes impossible, except that lane `origin`, if any, has probability 1. Steps will work on
  // `lanes` lanes.
  RNNT_FN void Start(int32_t lanes, int32_t origin) {
    lanes_ = lanes;
    Fence();
    Duplicate(At(0), kLogZero, kOffsets);
    Duplicate(scale(), 0.0f, kBlockLanes);
    Fence();
    if (origin < 0) return;
    LaneMask lane(origin % kBlockLanes);
    Duplicate(At(kState + FloorToBlock(origin)), 0.0f, lane.bits, 1, 1, 8);
    Fence();
  }

  // To the next diagonal. `same_lane` and `next_lane` are the log-probs of the arcs that stay in their
  // lane or move by `by`. `out` gets alpha of this diagonal. Between the two halves the guards of
  // `moved` can be set.
  RNNT_FN void AlphaArcs(const LocalTensor<float>& same_lane, const LocalTensor<float>& next_lane,
                         const LocalTensor<float>& out) {
    Adds(out, state(), 0.0f, lanes_);
    Add(At(kSameLane), state(), same_lane, lanes_);
    Add(moved(), state(), next_lane, lanes_);
  }
  RNNT_FN void AlphaSum(int32_t by) {
    Shift(kMoved, by);
    Fence();
    LogAdd(At(kSameLane), At(kShifted));
  }

  // To the diagonal before. `out_same_lane` and `out_next_lane` get the two arcs of beta. The guards of
  // `state` are set.
  RNNT_FN void BetaArcs(const LocalTensor<float>& same_lane, const LocalTensor<float>& next_lane,
                        int32_t by, const LocalTensor<float>& out_same_lane,
                        const LocalTensor<float>& out_next_lane) {
    Add(out_same_lane, state(), same_lane, lanes_);
    Shift(kState, by);
    Fence();
    Add(out_next_lane, At(kShifted), next_lane, lanes_);
    Fence();
    LogAdd(out_same_lane, out_next_lane);
  }

  // Moves the integer next to the largest value to the scale, unless nothing is possible yet.
  RNNT_FN void Renormalise() {
    const LocalTensor<float> step = largest(), integer = Small(kEighth);
    FindLargest();
    Cast(integer, step, RoundMode::CAST_RINT, static_cast<uint32_t>(kBlockLanes));
    Fence();
    // 1 for a value that is possible, 0 for one that is not.
    Adds(step, step, -0.1f * kLogZero, kBlockLanes);
    Fence();
    Muls(step, step, 1e-28f, kBlockLanes);
    Fence();
    Maxs(step, step, 0.0f, kBlockLanes);
    Fence();
    Mins(step, step, 1.0f, kBlockLanes);
    Fence();
    Mul(step, step, integer, kBlockLanes);
    Fence();
    Add(scale(), scale(), step, kBlockLanes);
    WithRowValue<Minus>(state(), state(), step, 1, kRnntStripLanes);
    Fence();
    Maxs(state(), state(), kLogZero, kRnntStripLanes);
    Fence();
  }

  // largest() becomes a block of the largest value of the state.
  RNNT_FN void FindLargest() {
    FoldRows<Largest>(Small(kLargest), state(), 1, kRnntStripLanes, Small(kEighth),
                      Small(kPartial));
    Fence();
    ToBlocks(largest(), Small(kLargest), 1);
    Fence();
  }

  RNNT_FN LocalTensor<float> state() { return At(kState); }
  RNNT_FN LocalTensor<float> moved() { return At(kMoved); }
  RNNT_FN LocalTensor<float> scale() { return Small(kScale); }
  RNNT_FN LocalTensor<float> largest() { return Small(kLargestBlock); }
  // The block behind the lanes in use (by = 1) or before them (by = -1), and the last or first of
  // those lanes.
  RNNT_FN LocalTensor<float> StateGuard(int32_t by) { return Guard(kState, by); }
  RNNT_FN LocalTensor<float> MovedGuard(int32_t by) { return Guard(kMoved, by); }
  RNNT_FN LocalTensor<float> StateEdge(int32_t by) { return Edge(kState, by); }
  RNNT_FN LocalTensor<float> MovedEdge(int32_t by) { return Edge(kMoved, by); }

 private:
  static constexpr int32_t kState = kBlockLanes;
  static constexpr int32_t kMoved = kState + kRnntStripLanes + 2 * kBlockLanes;
  static constexpr int32_t kSameLane = kMoved + kRnntStripLanes + kBlockLanes;
  static constexpr int32_t kShifted = kSameLane + kRnntStripLanes;
  static constexpr int32_t kOffsets = kShifted + kRnntStripLanes;
  static constexpr int32_t kSmall = kOffsets + kRnntStripLanes;
  enum SmallVector {
    kScale,
    kLargest,
    kLargestBlock,
    kEighth,
    kPartial = kEighth + kRnntStripLanes / 8 / kRepeatLanes,
    kSmallCount
  };
  static constexpr int32_t kBufferLanes = kSmall + kSmallCount * kRepeatLanes;

  RNNT_FN LocalTensor<float> At(int32_t lane) { return buffer_.Get<float>()[lane]; }
  RNNT_FN LocalTensor<float> Small(int32_t v) { return At(kSmall + v * kRepeatLanes); }
  RNNT_FN LocalTensor<float> Guard(int32_t array, int32_t by) {
    return At(by > 0 ? array + lanes_ : array - kBlockLanes);
  }
  // What the strip on the other side will find in its guard.
  RNNT_FN LocalTensor<float> Edge(int32_t array, int32_t by) {
    return At(by > 0 ? array : array + lanes_ - kBlockLanes);
  }

  // shifted[w] = array[w + by].
  RNNT_FN void Shift(int32_t array, int32_t by) {
    const uint32_t base = static_cast<uint32_t>((kBlockLanes + by) * sizeof(float));
    Gather(At(kShifted), At(array - kBlockLanes), At(kOffsets).ReinterpretCast<uint32_t>(), base,
           static_cast<uint32_t>(lanes_));
  }

  // state = log(exp(a) + exp(b)) = max + log(1 + exp(min - max)).
  RNNT_FN void LogAdd(const LocalTensor<float>& a, const LocalTensor<float>& b) {
    const LocalTensor<float> sum = state(), rest = moved();
    Max(sum, a, b, lanes_);
    Min(rest, a, b, lanes_);
    Fence();
    Sub(rest, rest, sum, lanes_);
    Fence();
    Exp(rest, rest, lanes_);
    Fence();
    Adds(rest, rest, 1.0f, lanes_);
    Fence();
    Ln(rest, rest, lanes_);
    Fence();
    Add(sum, sum, rest, lanes_);
    Fence();
  }

  int32_t lanes_;
  TBuf<TPosition::VECCALC> buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_LATTICE_STEP_H_
