// SPDX-License-Identifier: Apache-2.0
// One SIMD level: the kernels of simd/ for one instruction set, called through this table.
#ifndef MINDSPORE_RNNT_CPU_LEVEL_H_
#define MINDSPORE_RNNT_CPU_LEVEL_H_

#include <cstdint>

#include "dtype.h"
#include "records.h"

namespace rnnt {

struct Options {
  int32_t blank;  // in [0, V), or -1: no such class
  float clamp;    // bound of the unit-upstream gradient, or infinity
  bool fused_log_softmax;
  float label_weight;  // 1 + fastemit_lambda
  bool zero_infinity;
  bool may_throw;
};

// Consecutive rows of V entries, and what belongs to each.
struct Rows {
  const void* x;
  void* grad;  // written by row_grad
  int64_t count;
  int64_t V;
  const int32_t* labels;  // -1: the row has no label arc
  Records<Stats> stats;
  Records<Coefficients> coefficients;
  const float* dloss;
  int64_t dloss_stride;  // 0: one for all rows
  bool stream;           // write around the caches

  // Rows [begin, begin + size) of them.
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

// One sample's lattice. Cells lie by anti-diagonals d = t + u, so that the recursions run along
// contiguous memory: cell (d - u, u) is at start[d] + u. Between two diagonals lies one guard cell
// of log-prob -inf. Behind the last diagonal, d = T + U is the single cell (T, U) that the final
// blank leads to.
struct SampleLattice {
  int64_t T, U;
  const int64_t* start;     // [T + U + 1]
  double *blank, *label;    // log-probs of the arcs that leave a cell
  double *alpha, *beta;     // logarithms, too
  int64_t row, row_stride;  // of cell (t, u): row + t * row_stride + u

  int64_t diagonals() const { return T + U; }
  // The cells of a diagonal are low <= u <= high.
  int64_t low(int64_t d) const { return d < T ? 0 : d - T + 1; }
  int64_t high(int64_t d) const { return d < U ? d : U; }
};

struct Level {
  const char* name;

  // Each for float32, float16 and bfloat16.
  void (*row_stats[kDTypes])(const Rows& rows, const Options& options);
  void (*row_grad[kDTypes])(const Rows& rows, const Options& options);
  void (*scale[kDTypes])(const void* x, float factor, void* y, int64_t count, bool stream);

  // Fills the arcs of frames [begin, end); false: one is NaN or +inf, so the sample has no loss.
  bool (*arcs)(const SampleLattice& lattice, Records<Stats> stats, int64_t begin, int64_t end);
  double (*alpha)(const SampleLattice& lattice);  // both return log P(labels | logits)
  double (*beta)(const SampleLattice& lattice);
  // Of the cells on diagonals [begin, end).
  void (*coefficients)(const SampleLattice& lattice, double log_prob, float label_weight,
                       int64_t begin, int64_t end, Records<Coefficients> coefficients);

  float (*read)(const void* x, int64_t bytes);          // for the benchmark: a plain read and
  void (*copy)(const void* x, void* y, int64_t bytes);  // a plain read and streaming write
};

const Level& CurrentLevel();
// Comma-separated, best first.
const char* SupportedLevels();
bool SelectLevel(const char* name);

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_LEVEL_H_
