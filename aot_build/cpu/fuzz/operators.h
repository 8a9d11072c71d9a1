// SPDX-License-Identifier: Apache-2.0
// Each operator, or a sequence of them, on a problem.
#ifndef MINDSPORE_RNNT_CPU_FUZZ_OPERATORS_H_
#define MINDSPORE_RNNT_CPU_FUZZ_OPERATORS_H_

#include "problem.h"

namespace fuzz {

struct Result {
  Floats loss, grad;
};

// RnntFused and RnntScaleGrad; RnntForward and RnntBackward.
Result RunFused(const Problem& p, const Floats& dloss);
Result RunTwoOp(const Problem& p, const Floats& dloss);

struct RowLabels {
  Ints labels, samples;
  Floats least_loss;
};
RowLabels RunRowLabels(const Problem& p);
Floats RunRowStats(const Problem& p, const Ints& row_labels);
// RnntLattice and RnntRowGrad, with an upstream gradient for each row.
Result RunPhases(const Problem& p, const Ints& row_labels, const Floats& stats,
                 const Floats& row_dloss);
Floats RunRowGrad(const Problem& p, const Ints& row_labels, const Floats& stats,
                  const Floats& coefficients, const Floats& row_dloss);

struct Distillation {
  Floats loss, coefficients;
};
// Labels and samples of rows may be of any value.
Distillation RunDistillation(const Problem& p, const Floats& stats, const Floats& teacher_stats,
                             const RowLabels& rows);

struct ArcPosteriors {
  Floats loss, blank, label;
};
ArcPosteriors RunArcPosteriors(const Problem& p, const Floats& stats, const Floats& least_loss);

struct Alignment {
  Ints frames;
  Floats log_probs, path_log_prob;
};
Alignment RunAlign(const Problem& p, const Floats& stats, const Floats& least_loss);

struct Tdt {
  Floats loss, coefficients, durations;
};
Tdt RunTdt(const Problem& p, const Floats& stats, const Floats& log_probs, const Ints& durations);

// RnntDurationLogProbs and RnntDurationGrad on rows (n, D), which need no batch.
struct DurationHead {
  int64_t D;
  std::string dtype;
  Floats logits, params;  // logits exact in dtype
  Ints row_labels;
  Floats coefficients, posteriors, dloss;
  bool at_end;

  int64_t rows() const { return static_cast<int64_t>(row_labels.size()); }
};
Floats RunDurationLogProbs(const DurationHead& head);
Floats RunDurationGrad(const DurationHead& head);

// RnntSimpleStats and RnntSimpleGrad, which need no batch.
struct SimpleJoiner {
  int64_t B, T, U1, V;
  Floats am, lm, params;
  Ints am_labels, lm_labels;
  Floats coefficients, dloss;
  bool at_end;
};
Floats RunSimpleStats(const SimpleJoiner& joiner);
struct SimpleGradients {
  Floats am, lm;
};
SimpleGradients RunSimpleGrad(const SimpleJoiner& joiner, const Floats& stats);

}  // namespace fuzz

#endif  // MINDSPORE_RNNT_CPU_FUZZ_OPERATORS_H_
