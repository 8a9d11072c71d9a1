// SPDX-License-Identifier: Apache-2.0
// Phase 2 over a batch: arcs, alpha and beta of each sample, outcomes, losses, coefficients.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "lattice_tasks.h"
#include "phases.h"
#include "threads.h"

namespace rnnt {
namespace {

enum class Outcome {
  kLoss,
  kImpossible,  // every path has probability 0
  kNaN,         // an arc is NaN or +inf
  kMismatch     // log P from alpha and log P from beta differ
};

struct SampleResult {
  bool usable;                     // all arcs are log-probs or -inf
  double log_p_alpha, log_p_beta;  // log P from alpha and from beta
  Outcome outcome;
};

using Results = std::vector<SampleResult>;

void RunAlphaAndBeta(const LatticeMemory& lattices, Results& results);
Outcome OutcomeOf(const SampleResult& result);
float LossOf(const SampleResult& result, const Sample& sample, const Options& options);
void FillCoefficients(const LatticeMemory& lattices, const Results& results, float label_weight,
                      Records<Coefficients> coefficients);
void ThrowMismatch(int64_t b, const SampleResult& result);

}  // namespace

void Lattice(const Batch& batch, Records<Stats> stats, const Options& options, float* loss,
             Records<Coefficients> coefficients) {
  const LatticeMemory lattices(batch);
  Results results(batch.size());
  const std::vector<char> usable = FillArcs(lattices, stats);
  for (int64_t b = 0; b < batch.size(); ++b) results[b].usable = usable[b];
  RunAlphaAndBeta(lattices, results);
  std::fill(loss, loss + batch.size(), NAN);
  for (const int64_t b : lattices.order()) {
    results[b].outcome = OutcomeOf(results[b]);
    loss[b] = LossOf(results[b], batch[b], options);
  }
  FillCoefficients(lattices, results, options.label_weight, coefficients);
  for (int64_t b = 0; options.may_throw && b < batch.size(); ++b) {
    if (batch[b].valid && results[b].outcome == Outcome::kMismatch) ThrowMismatch(b, results[b]);
  }
}

namespace {

// Largest sample first, alpha and beta apart.
void RunAlphaAndBeta(const LatticeMemory& lattices, Results& results) {
  const Level& level = CurrentLevel();
  const std::vector<int64_t>& order = lattices.order();
  ParallelFor(2 * order.size(), 6 * lattices.cells(), [&](int64_t i) {
    const int64_t b = order[i / 2];
    if (!results[b].usable) return;
    if (i % 2 == 0) {
      results[b].log_p_alpha = level.alpha(lattices[b]);
    } else {
      results[b].log_p_beta = level.beta(lattices[b]);
    }
  });
}

// log P from alpha and log P from beta sum the same paths in another order, so their difference is
// bounded by rounding. The bound grows with the loss, as the rounding of long utterances does.
Outcome OutcomeOf(const SampleResult& result) {
  if (!result.usable) return Outcome::kNaN;
  const double log_p = result.log_p_alpha, difference = std::abs(log_p - result.log_p_beta);
  if (log_p == -HUGE_VAL && result.log_p_beta == -HUGE_VAL) return Outcome::kImpossible;
  return difference <= 1e-6 + 1e-9 * std::abs(log_p) ? Outcome::kLoss : Outcome::kMismatch;
}

float LossOf(const SampleResult& result, const Sample& sample, const Options& options) {
  switch (result.outcome) {
    case Outcome::kLoss: {
      const double loss = 0.0 - result.log_p_alpha;
      // Paths exclude each other, so a sum of their probabilities above 1 is rounding.
      const bool at_most_one = options.fused_log_softmax && !sample.blank_in_labels;
      return static_cast<float>(at_most_one ? std::max(loss, 0.0) : loss);
    }
    case Outcome::kImpossible:
      return options.zero_infinity ? 0.0f : INFINITY;
    default:
      return NAN;
  }
}

// A sample without a loss has one coefficient in all cells: 0 if it is impossible, else NaN.
void FillCoefficients(const LatticeMemory& lattices, const Results& results, float label_weight,
                      Records<Coefficients> coefficients) {
  const auto fill = CurrentLevel().coefficients;
  const std::vector<Part> parts = DivideDiagonals(lattices);
  ParallelFor(parts.size(), 4 * lattices.cells(), [&](int64_t i) {
    const Part& part = parts[i];
    const SampleLattice& lattice = lattices[part.b];
    const SampleResult& result = results[part.b];
    if (result.outcome == Outcome::kLoss) {
      fill(lattice, result.log_p_alpha, label_weight, part.begin, part.end, coefficients);
      return;
    }
    const float value = result.outcome == Outcome::kImpossible ? 0.0f : NAN;
    for (int64_t d = part.begin; d < part.end; ++d) {
      for (int64_t u = lattice.low(d); u <= lattice.high(d); ++u) {
        coefficients[lattice.row + (d - u) * lattice.row_stride + u] = {value, value, value};
      }
    }
  });
}

void ThrowMismatch(int64_t b, const SampleResult& result) {
  throw std::runtime_error("For 'rnnt_loss', the loss of sample " + std::to_string(b) + " is " +
                           std::to_string(-result.log_p_alpha) + " from alpha, but " +
                           std::to_string(-result.log_p_beta) +
                           " from beta; its logits are too large in magnitude.");
}

}  // namespace
}  // namespace rnnt
