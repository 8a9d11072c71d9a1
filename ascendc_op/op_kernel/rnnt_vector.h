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

struct Largest {
  static RNNT_FN float Neutral() { return -kInfinity; }
  static RNNT_FN void Blocks(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                             int32_t mask, int32_t repeats, int32_t src_blocks = 8) {
    BlockReduceMax(dst, x, repeats, mask, 1, 1, src_blocks);
  }
  static RNNT_FN void Pairs(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                            int32_t lanes) {
    Max(dst, dst, x, lanes);
  }
  static RNNT_FN void Whole(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                            int32_t mask, int32_t repeats, int32_t dst_lanes, int32_t src_blocks) {
    WholeReduceMax(dst, x, mask, repeats, dst_lanes, 1, src_blocks, ReduceOrder::ORDER_ONLY_VALUE);
  }
};
struct Total {
  static RNNT_FN float Neutral() { return 0.0f; }
  static RNNT_FN void Blocks(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                             int32_t mask, int32_t repeats, int32_t src_blocks = 8) {
    BlockReduceSum(dst, x, repeats, mask, 1, 1, src_blocks);
  }
  static RNNT_FN void Pairs(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                            int32_t lanes) {
    Add(dst, dst, x, lanes);
  }
  static RNNT_FN void Whole(const LocalTensor<float>& dst, const LocalTensor<float>& x,
                            int32_t mask, int32_t repeats, int32_t dst_lanes, int32_t src_blocks) {
    WholeReduceSum(dst, x, mask, repeats, dst_lanes, 1, src_blocks);
  }
};

// dst[b] = fold of block b of x; x has `lanes` lanes, whole blocks.
template <class Fold>
RNNT_FN void FoldBlocks(const LocalTensor<float>& dst, const LocalTensor<float>& x, int32_t lanes) {
  const int32_t repeats = lanes / kRepeatLanes, rest = lanes % kRepeatLanes;
  for (int32_t r = 0; r < repeats; r += kMaxRepeats) {
    Fold::Blocks(dst[r * kBlockLanes], x[r * kRepeatLanes], kRepeatLanes,
                 repeats - r < kMaxRepeats ? repeats - r : kMaxRepeats);
  }
  if (rest > 0) {
    Fold::Blocks(dst[repeats * kBlockLanes], x[repeats * kRepeatLanes], rest, 1);
  }
}

// The same row by row: dst has rows of `dst_pitch` lanes, whole repeats, filled up with what
// changes no result.
template <class Fold>
RNNT_FN void FoldBlocksOfRows(const LocalTensor<float>& dst, const LocalTensor<float>& x, int32_t n,
                              int32_t pitch, int32_t dst_pitch) {
  const int32_t lanes = pitch / kBlockLanes;
  for (int32_t i = 0; i < n; ++i) {
    Fold::Blocks(dst[i * dst_pitch], x[i * pitch], kRepeatLanes, pitch / kRepeatLanes);
  }
  if (lanes < dst_pitch) {
    Duplicate(dst[lanes], Fold::Neutral(), static_cast<uint64_t>(dst_pitch - lanes),
              static_cast<uint8_t>(n), 1, static_cast<uint8_t>(dst_pitch / kBlockLanes));
  }
}

// Rows of `lanes` blocks, at most 64: each block to a value, then each row's values to one.
template <class Fold>
RNNT_FN void FoldShortRows(const LocalTensor<float>& dst, const LocalTensor<float>& x, int32_t n,
                           int32_t lanes, const LocalTensor<float>& values) {
  FoldBlocks<Fold>(values, x, n * lanes * kBlockLanes);
  Fence();
  if (lanes == kBlockLanes) {
    FoldBlocks<Fold>(dst, values, n * lanes);
  } else {
    Fold::Whole(dst, values, lanes, n, 1, lanes / kBlockLanes);
  }
}

// Rows of at most 8 repeats: each repeat to a block, one value for each of its blocks; the blocks of
// a row lane by lane; then each block to one value.
template <class Fold>
RNNT_FN void FoldNarrowRows(const LocalTensor<float>& dst, const LocalTensor<float>& x, int32_t n,
                            int32_t pitch, const LocalTensor<float>& values) {
  const int32_t lanes = n * kBlockLanes;
  int32_t left = pitch / kRepeatLanes;
  for (int32_t r = 0; r < left; ++r) {
    Fold::Blocks(values[r * lanes], x[r * kRepeatLanes], kRepeatLanes, n, pitch / kBlockLanes);
  }
  Fence();
  while (left > 1) {
    const int32_t half = left / 2;
    left -= half;
    Fold::Pairs(values, values[left * lanes], half * lanes);
    Fence();
  }
  FoldBlocks<Fold>(dst, values, lanes);
}

// dst[i] = fold of x[i][:]. The order of folding depends on the pitch alone, never on n.
// Blocks of 8 lanes take a cycle for 64 lanes; WholeReduce takes 7, so it comes last. dst is
// aligned if the pitch is at most 512. `eighth` has n rows of a whole repeat for each 512 of x (or
// pitch / 8 lanes, if that is less than 64), `partials` n rows of an eighth of that, or of the next
// whole repeat if that is more than one.
template <class Fold>
RNNT_FN void FoldRows(const LocalTensor<float>& dst, const LocalTensor<float>& x, int32_t n,
                      int32_t pitch, const LocalTensor<float>& eighth,
                      const LocalTensor<float>& partials) {
  const int32_t lanes = pitch / kBlockLanes;
  if (lanes <= kRepeatLanes) {
    FoldNarrowRows<Fold>(dst, x, n, pitch, eighth);
    return;
  }
  const int32_t repeats = (lanes + kRepeatLanes - 1) / kRepeatLanes;
  const int32_t eighth_pitch = repeats * kRepeatLanes;
  FoldBlocksOfRows<Fold>(eighth, x, n, pitch, eighth_pitch);
  Fence();
  const int32_t left = repeats * kBlockLanes;
  if (left <= kRepeatLanes) {
    FoldShortRows<Fold>(dst, eighth, n, left, partials);
    return;
  }
  const int32_t pieces = (left + kRepeatLanes - 1) / kRepeatLanes;
  const int32_t partial_pitch = pieces * kRepeatLanes;
  FoldBlocksOfRows<Fold>(partials, eighth, n, eighth_pitch, partial_pitch);
  Fence();
  for (int32_t i = 0; i < n; ++i) {
    Fold::Whole(eighth[i * kBlockLanes], partials[i * partial_pitch], kRepeatLanes, pieces, 1, 8);
  }
  Fence();
  Fold::Whole(dst, eighth, pieces, n, 1, 1);
}

// The sum of n lanes, at most kMaxRows, as a scalar; `work` has a block for each 64 of them.
RNNT_FN float CountOnes(const LocalTensor<float>& x, int32_t n, const LocalTensor<float>& work) {
  const int32_t parts = (n + kRepeatLanes - 1) / kRepeatLanes;
  for (int32_t part = 0; part < parts; ++part) {
    const int32_t row = part * kRepeatLanes;
    Total::Whole(work[part * kBlockLanes], x[row],
                 static_cast<int32_t>(RnntMin(kRepeatLanes, n - row)), 1, 1, 8);
  }
  Order<HardEvent::V_S>();
  float count = 0.0f;
  for (int32_t part = 0; part < parts; ++part) {
    count += work.GetValue(static_cast<uint32_t>(part * kBlockLanes));
  }
  return count;
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

// One bit of a lane mask: the lane that holds element `index` of a block-aligned view.
struct LaneMask {
  uint64_t bits[2];
  RNNT_FN explicit LaneMask(int32_t lane) : bits{1ull << lane, 0} {}
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
