// SPDX-License-Identifier: Apache-2.0
// The operators as compositions of the three phases.
#ifndef MINDSPORE_RNNT_CPU_DRIVER_H_
#define MINDSPORE_RNNT_CPU_DRIVER_H_

#include "phases.h"

namespace rnnt {

struct Problem {
  Logits logits;
  BatchShape shape;
  const int32_t *targets, *logit_lengths, *target_lengths;
  Options options;
};

// The loss and its gradient for unit upstream, in one go.
void Fused(const Problem& problem, float* loss, void* grad);
// grad times dloss of its sample.
void ScaleGrad(Logits grad, const BatchShape& shape, const int32_t* logit_lengths,
               const int32_t* target_lengths, const float* dloss, void* dlogits);

// The loss, and in `state` (rows, kStateFloats) what the gradient will need beside the logits.
void Forward(const Problem& problem, float* loss, float* state);
void Backward(const Problem& problem, float* state, const float* dloss, void* dlogits);

// What operators on rows need of the batch:
// - the label of each row, kNoLabelArc (with options.rest also where the label is the blank, which
//   is one class then) or kNoCell;
// - its sample, 0 without a cell;
// - the least loss that a sample may have: NaN if its lengths or labels do not fit, and all its rows
//   are kNoCell then; 0 where probabilities of paths add up to 1 at most, and what is below is
//   rounding; the lowest float for log-probs as they came, and if a label is the blank, when two
//   paths may be the same arcs.
struct RowLabelsOut {
  int32_t *row_labels, *row_samples;  // (rows,)
  float* least_loss;                  // (B,)
};
// Reads no logits.
void RowLabels(const Problem& problem, const RowLabelsOut& out);

// The stats of a batch, (rows, 4), for operators between RowStats and RowGrad.
struct StatsBatch {
  BatchShape shape;
  float* stats;
  const int32_t *logit_lengths, *target_lengths;
};

// The lattice alone. coefficients: (rows, 3), 0 outside all valid samples.
void LatticeOfRows(const StatsBatch& input, const Options& options, float* loss,
                   float* coefficients);
void LatticeOfBatch(const Batch& batch, float* stats, const Options& options, float* loss,
                    float* coefficients);
// The loss, at least least_loss, and the posteriors of the arcs.
struct ArcPosteriorsOut {
  int64_t rows;
  const float* least_loss;  // (B,): NaN for a sample that is to be refused, see RowLabelsOut
  float* loss;              // (B,)
  float *blank, *label;     // (rows,), 0 outside all valid samples
};
void ArcPosteriors(const StatsBatch& input, const Options& options, const ArcPosteriorsOut& out);
// posteriors: of all rows, 0 outside all valid samples. A duration below 0 makes all samples
// invalid.
void TdtRows(const StatsBatch& input, TdtInput durations, const Options& options, float* loss,
             const TdtPosteriors& posteriors);
void AlignRows(StatsBatch input, Alignment alignment);

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_DRIVER_H_
