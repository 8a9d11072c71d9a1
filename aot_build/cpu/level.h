// SPDX-License-Identifier: Apache-2.0
// The table of kernels of one SIMD level (one instruction set), and the choice of the level.
#ifndef MINDSPORE_RNNT_CPU_LEVEL_H_
#define MINDSPORE_RNNT_CPU_LEVEL_H_

#include <cstdint>

#include "dtype.h"
#include "options.h"
#include "records.h"
#include "rows.h"
#include "sample_lattice.h"
#include "tdt_lattice.h"

namespace rnnt {

// Consecutive rows of a duration head, see simd/duration_head.h.
struct DurationRows {
  const void* x;  // (count, D)
  int64_t count, D;
  const int32_t* labels;  // of which only kNoCell counts
  float* log_probs;       // (count, D), written by duration_log_probs
  // Of duration_grad:
  Records<Coefficients> coefficients;
  const float *posteriors, *dloss;  // (count, D), (count,)
  float clamp;                      // or infinity
  void* grad;                       // (count, D), written
};

// Consecutive rows of a teacher and a student, see simd/divergence.h.
struct DivergenceRows {
  Records<Stats> teacher, student;
  const int32_t* labels;
  int64_t count;
  double temperature;
  double* divergence;
  Records<Coefficients> coefficients;
};

// Rows of a matrix; beyond the last one that row again.
struct FloatRows {
  const float* data;
  int64_t stride, count;

  const float* Row(int64_t i) const { return data + (i < count ? i : count - 1) * stride; }
};

// w(i, j) of a matrix product.
struct Weights {
  const float* data;
  int64_t row_stride, column_stride;
};

struct Level {
  const char* name;

  // Each for float32, float16 and bfloat16.
  void (*row_stats[kDTypes])(const Rows& rows, const Options& options);
  void (*row_grad[kDTypes])(const Rows& rows, const Options& options);
  void (*duration_log_probs[kDTypes])(const DurationRows& rows);
  void (*duration_grad[kDTypes])(const DurationRows& rows);
  void (*scale[kDTypes])(const void* x, float factor, void* y, int64_t count, bool stream);

  // Fills the arcs of frames [begin, end). False if an arc is NaN or +inf: the sample has no loss.
  bool (*arcs)(const SampleLattice& lattice, Records<Stats> stats, int64_t begin, int64_t end);
  // The two recursions. Each returns log P(labels | logits).
  double (*alpha)(const SampleLattice& lattice);
  double (*beta)(const SampleLattice& lattice);
  // As beta with the maximum in place of the sum: returns the log-prob of the best path.
  double (*best)(const SampleLattice& lattice);
  // Coefficients of the cells on diagonals [begin, end).
  void (*coefficients)(const SampleLattice& lattice, double log_prob, float label_weight,
                       int64_t begin, int64_t end, Records<Coefficients> coefficients);

  // The same with durations. tdt_durations fills those of frames [begin, end) beside the arcs.
  bool (*tdt_durations)(const TdtLattice& lattice, const float* log_probs, float sigma,
                        int64_t begin, int64_t end);
  double (*tdt_alpha)(const TdtLattice& lattice);
  double (*tdt_beta)(const TdtLattice& lattice);
  void (*tdt_posteriors)(const TdtLattice& lattice, double log_prob, float label_weight,
                         int64_t begin, int64_t end, const TdtPosteriors& out);

  // Matrix products of the simple joiner, over n classes: sums (x.count, stride) += x y^T in float32,
  // each sum added in float64; y (rows, y_stride) += w x.
  void (*add_dots)(const FloatRows& x, const FloatRows& y, int64_t n, double* sums, int64_t stride);
  void (*add_combined)(const Weights& w, const FloatRows& x, int64_t n, float* y, int64_t y_stride,
                       int64_t rows);

  // Of a teacher from a student.
  void (*divergence)(const DivergenceRows& rows);

  // For the benchmark: a plain read, and a plain read with a streaming write.
  float (*read)(const void* x, int64_t bytes);
  void (*copy)(const void* x, void* y, int64_t bytes);
};

// Throws if MINDSPORE_RNNT_CPU does not name a level of this machine.
const Level& CurrentLevel();
// The levels of this machine, comma-separated, best first.
const char* SupportedLevels();
// False if this machine has no level of that name.
bool SelectLevel(const char* name);

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_LEVEL_H_
