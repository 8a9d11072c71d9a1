// SPDX-License-Identifier: Apache-2.0
// Consecutive rows of logits, the input of row_stats and row_grad.
#ifndef MINDSPORE_RNNT_CPU_ROWS_H_
#define MINDSPORE_RNNT_CPU_ROWS_H_

#include <cstdint>

#include "dtype.h"
#include "records.h"

namespace rnnt {

// Row labels that are no class.
constexpr int32_t kNoLabelArc = -1;  // the last position, u = U
constexpr int32_t kNoCell = -2;      // the row is not read; its stats and its gradient are 0

struct Rows {
  const void* x;  // (count, V)
  void* grad;     // (count, V), written by row_grad
  int64_t count;
  int64_t V;
  const int32_t* labels;  // (count,), or kNoLabelArc, kNoCell
  Records<Stats> stats;
  Records<Coefficients> coefficients;
  const float* dloss;
  int64_t dloss_stride;  // 1, or 0: one dloss for all rows
  bool stream;           // row_grad writes around the caches

  // Rows [begin, begin + size) of these.
  Rows Slice(int64_t begin, int64_t size, DType dtype) const {
    Rows slice = *this;
    const int64_t bytes = begin * V * SizeOf(dtype);
    slice.x = static_cast<const char*>(x) + bytes;
    slice.grad = static_cast<char*>(grad) + bytes;
    slice.count = size;
    slice.labels += begin;
    slice.stats = stats.From(begin);
    slice.coefficients = coefficients.From(begin);
    slice.dloss += begin * dloss_stride;
    return slice;
  }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_ROWS_H_
