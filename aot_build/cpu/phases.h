// SPDX-License-Identifier: Apache-2.0
// The three phases that every operator is made of, each over a whole batch and all threads.
#ifndef MINDSPORE_RNNT_CPU_PHASES_H_
#define MINDSPORE_RNNT_CPU_PHASES_H_

#include "batch.h"
#include "level.h"

namespace rnnt {

struct Logits {
  const void* data;
  DType dtype;
};

// Phase 1: one look at each row of logits.
void RowStats(const Batch& batch, Logits logits, const Options& options, Records<Stats> stats);

// Phase 2: the losses, and what each row's gradient needs. `stats` and `coefficients` may overlap
// within a row. Throws if options.may_throw and the loss from the front of a lattice differs from
// the loss from its end.
void Lattice(const Batch& batch, Records<Stats> stats, const Options& options, float* loss,
             Records<Coefficients> coefficients);

// Phase 3: the second look, and the gradient. dloss (B,) may be null: 1 for all. Writes all rows; 0
// in those that are no valid sample's.
void RowGrad(const Batch& batch, Logits logits, const Options& options, Records<Stats> stats,
             Records<Coefficients> coefficients, const float* dloss, void* grad);

// Phases 1 and 3 on rows that stand for themselves: each brings its label and its dloss.
void RowStats(const Rows& rows, DType dtype, const Options& options);
void RowGrad(Rows rows, DType dtype, const Options& options);

// Gradients that reach this size go around the caches: nobody finds them there anyway.
constexpr int64_t kStreamBytes = int64_t{16} << 20;

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_PHASES_H_
