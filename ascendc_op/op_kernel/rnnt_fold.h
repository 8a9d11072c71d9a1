// SPDX-License-Identifier: Apache-2.0
// The maximum or the sum of each row of a tile, in an order that depends on the pitch alone.
#ifndef MINDSPORE_RNNT_RNNT_FOLD_H_
#define MINDSPORE_RNNT_RNNT_FOLD_H_

#include "rnnt_vector.h"

namespace rnnt {

struct Largest {
  static constexpr bool kInPlace = false;  // the rows are still needed
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
  static constexpr bool kInPlace = true;
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

// Rows of at most 8 repeats, in their own place: the repeats of a row lane by lane.
RNNT_FN void AddRepeatsOfRows(const LocalTensor<float>& x, int32_t n, int32_t pitch) {
  const int32_t row_blocks = pitch / kBlockLanes;
  for (int32_t left = pitch / kRepeatLanes; left > 1;) {
    const int32_t half = left / 2;
    left -= half;
    for (int32_t r = 0; r < half; ++r) {
      const LocalTensor<float> sum = x[r * kRepeatLanes];
      Add(sum, sum, x[(left + r) * kRepeatLanes], static_cast<uint64_t>(kRepeatLanes),
          static_cast<uint8_t>(n), Strides(1, 1, row_blocks, row_blocks, row_blocks));
    }
    Fence();
  }
}

// Rows of at most 8 repeats: each repeat to a block, one value for each of its blocks; the blocks of
// a row lane by lane; then each block to one value.
template <class Fold>
RNNT_FN void FoldNarrowRows(const LocalTensor<float>& dst, const LocalTensor<float>& x, int32_t n,
                            int32_t pitch, const LocalTensor<float>& values) {
  const int32_t lanes = n * kBlockLanes;
  int32_t left = pitch / kRepeatLanes;
  if (Fold::kInPlace) {
    AddRepeatsOfRows(x, n, pitch);
    left = 1;
  }
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

// dst[i] = fold of x[i][:]; a sum leaves something else in x. The order of folding depends on the pitch alone, never on n.
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

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_FOLD_H_
