// SPDX-License-Identifier: Apache-2.0
// alpha and beta of all samples, and what follows from both: the outcome and the loss of a sample.
#ifndef MINDSPORE_RNNT_CPU_LATTICE_OUTCOME_H_
#define MINDSPORE_RNNT_CPU_LATTICE_OUTCOME_H_

#include <cstdint>
#include <vector>

#include "batch.h"
#include "lattice_memory.h"
#include "options.h"
#include "threads.h"

namespace rnnt {

enum class Outcome {
  kLoss,
  kImpossible,  // every path has probability 0
  kNaN,         // an arc is NaN or +inf
  kMismatch     // log P from alpha and log P from beta differ, or are too large to be exact
};

struct SampleResult {
  double log_p_alpha, log_p_beta;  // log P from alpha and from beta
  Outcome outcome;
};

Outcome OutcomeOf(double log_p_alpha, double log_p_beta);

// Calls alpha(b) and beta(b), which return log P, for each usable sample: the largest first, and the
// two apart. `work` is the time of one thread in ns. Samples outside lattices.order() keep kNaN.
template <class Alpha, class Beta>
std::vector<SampleResult> RunAlphaAndBeta(const LatticeMemory& lattices,
                                          const std::vector<char>& usable, int64_t work,
                                          const Alpha& alpha, const Beta& beta) {
  const std::vector<int64_t>& order = lattices.order();
  std::vector<SampleResult> results(lattices.size(), {0.0, 0.0, Outcome::kNaN});
  ParallelFor(2 * order.size(), work, [&](int64_t i) {
    const int64_t b = order[i / 2];
    if (!usable[b]) return;
    if (i % 2 == 0) {
      results[b].log_p_alpha = alpha(b);
    } else {
      results[b].log_p_beta = beta(b);
    }
  });
  for (const int64_t b : order) {
    SampleResult& result = results[b];
    if (usable[b]) result.outcome = OutcomeOf(result.log_p_alpha, result.log_p_beta);
  }
  return results;
}

// The losses (B,); NaN for samples that are not valid.
void WriteLosses(const Batch& batch, const std::vector<SampleResult>& results,
                 const Options& options, float* loss);

// Throws for the first valid sample with a mismatch, if options.may_throw.
void ThrowIfMismatch(const Batch& batch, const std::vector<SampleResult>& results,
                     const Options& options);

// The value of all coefficients of a sample without a loss: 0 if it is impossible, else NaN.
float CoefficientWithoutLoss(Outcome outcome);

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_LATTICE_OUTCOME_H_
