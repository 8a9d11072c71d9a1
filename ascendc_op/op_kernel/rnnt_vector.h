// SPDX-License-Identifier: Apache-2.0
// Vector helpers on a tile: n rows of `pitch` float lanes, pitch a multiple of 64.
//
// A value per row has two forms: a vector of n lanes, and n blocks of 8 equal lanes (Brcb), which
// an instruction can broadcast along a row with stride 0.
#ifndef MINDSPORE_RNNT_RNNT_VECTOR_H_
#define MINDSPORE_RNNT_RNNT_VECTOR_H_

#include "kernel_operator.h"

#define RNNT_FN __aicore__ inline
#define RNNT_SHARED_FN __aicore__ inline
#include "rnnt_schedule.h"

namespace rnnt {

using namespace AscendC;  // NOLINT: the kernel speaks AscendC

constexpr int32_t kBlockBytes = 32;
constexpr int32_t kBlockLanes = 8;  // floats in a block
constexpr int32_t kRepeatLanes =
    64;  // floats in a repeat, the 256 bytes of one step of an instruction
constexpr int32_t kMaxRepeats = 255;
constexpr int32_t kMaxRows = 128;  // rows of a tile

constexpr float kInfinity = __builtin_inff();
constexpr float kLowest = -3.402823466e38f;
// log 0 in the lattice: sums and differences of it stay finite, unlike those of -inf.
constexpr float kImpossible = -1e30f;

// The bits of T, for copies and fills: they need no arithmetic.
template <typename T>
struct Bits {
  using Word = uint16_t;
};
template <>
struct Bits<float> {
  using Word = uint32_t;
};
template <typename T>
struct MinusInfinity;
template <>
struct MinusInfinity<float> {
  static constexpr uint32_t kBits = 0xFF800000u;
};
template <>
struct MinusInfinity<half> {
  static constexpr uint16_t kBits = 0xFC00u;
};
template <>
struct MinusInfinity<bfloat16_t> {
  static constexpr uint16_t kBits = 0xFF80u;
};

// Orders vector instructions behind those that they depend on.
RNNT_FN void Fence() { PipeBarrier<PIPE_V>(); }

// Makes pipe B wait for what pipe A was given so far.
template <HardEvent kEvent>
RNNT_FN void Order() {
  const int32_t id = static_cast<int32_t>(GetTPipePtr()->FetchEventID(kEvent));
  SetFlag<kEvent>(id);
  WaitFlag<kEvent>(id);
}

RNNT_FN BinaryRepeatParams Strides(int32_t blk0, int32_t blk1, int32_t dst, int32_t rep0,
                                   int32_t rep1) {
  return BinaryRepeatParams(1, static_cast<uint8_t>(blk0), static_cast<uint8_t>(blk1),
                            static_cast<uint8_t>(dst), static_cast<uint8_t>(rep0),
                            static_cast<uint8_t>(rep1));
}

struct Plus {
  static RNNT_FN void Run(const LocalTensor<float>& dst, const LocalTensor<float>& a,
                          const LocalTensor<float>& b, int32_t repeats,
                          const BinaryRepeatParams& strides) {
    Add(dst, a, b, static_cast<uint64_t>(kRepeatLanes), static_cast<uint8_t>(repeats), strides);
  }
};
struct Minus {
  static RNNT_FN void Run(const LocalTensor<float>& dst, const LocalTensor<float>& a,
                          const LocalTensor<float>& b, int32_t repeats,
                          const BinaryRepeatParams& strides) {
    Sub(dst, a, b, static_cast<uint64_t>(kRepeatLanes), static_cast<uint8_t>(repeats), strides);
  }
};
struct Times {
  static RNNT_FN void Run(const LocalTensor<float>& dst, const LocalTensor<float>& a,
                          const LocalTensor<float>& b, int32_t repeats,
                          const BinaryRepeatParams& strides) {
    Mul(dst, a, b, static_cast<uint64_t>(kRepeatLanes), static_cast<uint8_t>(repeats), strides);
  }
};

// dst[i][:] = x[i][:] op blocks[i], by rows or by columns, whichever takes fewer instructions. None
// depends on another.
template <class Op>
RNNT_FN void WithRowValue(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                          const LocalTensor<float>& blocks, int32_t n, int32_t pitch) {
  const int32_t columns = pitch / kRepeatLanes, row_blocks = pitch / kBlockLanes;
  if (columns <= n && row_blocks <= kMaxRepeats) {
    for (int32_t c = 0; c < pitch; c += kRepeatLanes) {
      Op::Run(dst[c], x[c], blocks, n, Strides(1, 0, row_blocks, row_blocks, 1));
    }
    return;
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t c = 0; c < columns; c += kMaxRepeats) {
      const int32_t at = i * pitch + c * kRepeatLanes;
      const int32_t repeats = columns - c < kMaxRepeats ? columns - c : kMaxRepeats;
      Op::Run(dst[at], x[at], blocks[i * kBlockLanes], repeats, Strides(1, 0, 8, 8, 0));
    }
  }
}

constexpr int32_t kPartials = 32;  // lanes for the partial results of a row of FoldRows

struct Largest {
  static RNNT_FN float Neutral() { return -kInfinity; }
  static RNNT_FN void Blocks(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                             int32_t repeats) {
    BlockReduceMax(dst, x, repeats, kRepeatLanes, 1, 1, 8);
  }
  static RNNT_FN void Whole(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                            int32_t mask, int32_t repeats, int32_t dst_lanes, int32_t src_blocks) {
    WholeReduceMax(dst, x, mask, repeats, dst_lanes, 1, src_blocks, ReduceOrder::ORDER_ONLY_VALUE);
  }
};
struct Total {
  static RNNT_FN float Neutral() { return 0.0f; }
  static RNNT_FN void Blocks(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                             int32_t repeats) {
    BlockReduceSum(dst, x, repeats, kRepeatLanes, 1, 1, 8);
  }
  static RNNT_FN void Whole(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                            int32_t mask, int32_t repeats, int32_t dst_lanes, int32_t src_blocks) {
    WholeReduceSum(dst, x, mask, repeats, dst_lanes, 1, src_blocks);
  }
};

// dst[i] = fold of x[i][:]. The order of folding depends on the pitch alone, never on n.
// `eighth` has n rows of pitch / 8 lanes, or of the next multiple of 64 if that is more than 64;
// `partials` n rows. Blocks of 8 lanes at 64 lanes a cycle first, since WholeReduce takes 7 cycles
// for as many. Up to a pitch of 512 the rows of the first result fit a repeat each; beyond, they
// take whole repeats, filled up with what changes no result.
template <class Fold>
RNNT_FN void FoldRows(const LocalTensor<float>& dst, const LocalTensor<float>& x, int32_t n,
                      int32_t pitch, const LocalTensor<float>& eighth,
                      const LocalTensor<float>& partials) {
  const int32_t repeats = pitch / kRepeatLanes, lanes = pitch / kBlockLanes;
  if (lanes <= kRepeatLanes) {
    for (int32_t r = 0; r < n * repeats; r += kMaxRepeats) {
      const int32_t left = n * repeats - r;
      Fold::Blocks(eighth[r * kBlockLanes], x[r * kRepeatLanes],
                   left < kMaxRepeats ? left : kMaxRepeats);
    }
    Fence();
    Fold::Whole(dst, eighth, lanes, n, 1, lanes / kBlockLanes);
    return;
  }
  const int32_t pieces = (lanes + kRepeatLanes - 1) / kRepeatLanes;
  const int32_t eighth_pitch = pieces * kRepeatLanes;
  for (int32_t i = 0; i < n; ++i) Fold::Blocks(eighth[i * eighth_pitch], x[i * pitch], repeats);
  if (lanes < eighth_pitch) {
    Duplicate(eighth[lanes], Fold::Neutral(), static_cast<uint64_t>(eighth_pitch - lanes),
              static_cast<uint8_t>(n), 1, static_cast<uint8_t>(eighth_pitch / kBlockLanes));
  }
  Fence();
  for (int32_t i = 0; i < n; ++i) {
    Fold::Whole(partials[i * kPartials], eighth[i * eighth_pitch], kRepeatLanes, pieces, 1, 8);
  }
  Fence();
  Fold::Whole(dst, partials, pieces, n, 1, kPartials / kBlockLanes);
}

// blocks[i][0..8) = values[i]; reads values up to the next multiple of 8.
RNNT_FN void ToBlocks(const LocalTensor<float>& blocks, const LocalTensor<float>& values,
                      int32_t n) {
  Brcb(blocks, values, static_cast<uint8_t>((n + 7) / 8), BrcbRepeatParams(1, 8));
}

// One bit of a lane mask: the lane that holds element `index` of a block-aligned view.
struct LaneMask {
  uint64_t bits[2];
  RNNT_FN explicit LaneMask(int32_t lane) : bits{1ull << lane, 0} {}
};

RNNT_FN int32_t FloorToBlock(int32_t lane) { return lane / kBlockLanes * kBlockLanes; }

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_VECTOR_H_
