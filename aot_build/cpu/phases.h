// SPDX-License-Identifier: Apache-2.0
// The three phases, each over a whole batch and on all threads.
#ifndef MINDSPORE_RNNT_CPU_PHASES_H_
#define MINDSPORE_RNNT_CPU_PHASES_H_

#include "batch.h"
#include "level.h"

namespace rnnt {

struct Logits {
  const void* data;
  DType dtype;
};

// Phase 1: the stats of each row of logits.
void RowStats(const Batch& batch, Logits logits, const Options& options, Records<Stats> stats);

// Phase 2: the loss of each sample and the coefficients of each row. `stats` and `coefficients` may
// overlap within a row. Throws if options.may_throw and log P from alpha differs from log P from
// beta.
void Lattice(const Batch& batch, Records<Stats> stats, const Options& options, float* loss,
             Records<Coefficients> coefficients);

// The lattice with durations in place of phase 2.
struct TdtInput {
  Records<Stats> stats;
  const float* duration_log_probs;  // (rows, D)
  int64_t D;
  const int32_t* durations;  // (D,), each at least 0
  float sigma;               // subtracted from the log-prob of each arc
};
void LatticeOfTdt(const Batch& batch, const TdtInput& input, const Options& options, float* loss,
                  const TdtPosteriors& posteriors);

// Its phases 1 and 3 on the duration head.
void DurationLogProbs(const DurationRows& rows, DType dtype);
void DurationGrad(const DurationRows& rows, DType dtype);

// Distillation in place of phase 2, from stats of options.rest.
struct DistillationInput {
  int64_t B, rows;
  Records<Stats> student, teacher;
  const int32_t *row_labels, *row_samples;
  const float* least_loss;  // (B,): NaN for a sample that is to be refused, see RowLabelsOut
};
void Distil(const DistillationInput& input, double temperature, float* loss,
            Records<Coefficients> coefficients);

// Phases 1 and 3 of the joiner that only adds: of the rows am[t] + lm[u], which have the label of u.
struct SimpleJoiner {
  int64_t B, max_t, max_u1, V;
  const float *am, *lm;                  // (B, max_t, V), (B, max_u1, V)
  const int32_t *am_labels, *lm_labels;  // (B, max_t), (B, max_u1): kNoCell in padding
  int32_t blank;
  Records<Stats> stats;  // (B, max_t, max_u1), written by SimpleStats; row_sum may be below 1
};
struct SimpleGradients {
  Records<Coefficients> coefficients;  // (B, max_t, max_u1)
  const float* dloss;                  // (B,)
  float *am, *lm;  // written: the gradients of rows, summed over steps and over frames
};
void SimpleStats(const SimpleJoiner& joiner);
void SimpleGrad(const SimpleJoiner& joiner, const SimpleGradients& gradients);

// The most probable path in place of phase 2. Outputs of shape (B, max_u) hold -1 and 0 behind a
// sample's labels.
struct Alignment {
  int64_t max_u;
  const float* least_loss;  // (B,): NaN for a sample that is to be refused, see RowLabelsOut
  int32_t* frames;       // (B, max_u): the frame that emits label u; -1 if the sample has no path
  float* log_probs;      // (B, max_u): of label u there; path_log_prob if the sample has no path
  float* path_log_prob;  // (B,); -inf if every path is impossible, NaN as for the loss
};
void Align(const Batch& batch, Records<Stats> stats, const int32_t* target_lengths, Alignment out);

// Phase 3: the gradient of each row. dloss (B,) may be null, which stands for ones. Rows outside
// all valid samples get 0.
void RowGrad(const Batch& batch, Logits logits, const Options& options, Records<Stats> stats,
             Records<Coefficients> coefficients, const float* dloss, void* grad);

// Phases 1 and 3 on rows without a batch: each row has a label and a dloss of its own.
void RowStats(const Rows& rows, DType dtype, const Options& options);
void RowGrad(Rows rows, DType dtype, const Options& options);

// Gradients of this size or more are written around the caches, which could not hold them.
constexpr int64_t kStreamBytes = int64_t{16} << 20;

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_PHASES_H_
