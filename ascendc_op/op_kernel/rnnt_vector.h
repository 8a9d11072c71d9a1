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
#include "rnnt_placement.h"
#include "rnnt_sizes.h"

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
constexpr float kLogZero = -1e30f;

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

// blocks[i][0..8) = values[i]; reads values up to the next multiple of 8.
RNNT_FN void ToBlocks(const LocalTensor<float>& blocks, const LocalTensor<float>& values,
                      int32_t n) {
  Brcb(blocks, values, static_cast<uint8_t>((n + 7) / 8), BrcbRepeatParams(1, 8));
}

// 1 for a value above 0, and 0 for 0; for NaN either of them or NaN.
RNNT_FN void OneIfNotZero(const LocalTensor<float>& dst, const LocalTensor<float>& x, int32_t n) {
  Muls(dst, x, 1e38f, n);
  Fence();
  Muls(dst, dst, 1e38f, n);
  Fence();
  Mins(dst, dst, 1.0f, n);
  Fence();
}

// A lane mask: one lane of each of the first `blocks` blocks of a repeat.
struct LaneMask {
  uint64_t bits[2];
  RNNT_FN explicit LaneMask(int32_t lane, int32_t blocks = 1)
      : bits{(0x0101010101010101ull >> (kRepeatLanes - kBlockLanes * blocks)) << lane, 0} {}
};

RNNT_FN int32_t FloorToBlock(int32_t lane) { return lane / kBlockLanes * kBlockLanes; }

// One lane of each of `rows` rows that lie `row_blocks` blocks apart.
RNNT_FN void FillLane(const LocalTensor<float>& x, int32_t at, float value, int32_t rows,
                      int32_t row_blocks) {
  LaneMask lane(at % kBlockLanes);
  Duplicate(x[FloorToBlock(at)], value, lane.bits, static_cast<uint8_t>(rows), 1,
            static_cast<uint8_t>(row_blocks));
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_VECTOR_H_
