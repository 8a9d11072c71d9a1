// SPDX-License-Identifier: Apache-2.0
// Outcome and loss of a sample.
#include "lattice_outcome.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace rnnt {

// log P from alpha and log P from beta sum the same paths in another order, so their difference is
// bounded by rounding. The bound grows with the loss, as the rounding of long utterances does.
//
// Posteriors are exponentials of differences from log P, whose last bit is 2^-52 |log P|: beyond
// kLargest it is 2e-7, and with T + U of them the gradient of no cell would be right. All
// log-probs that float16 can hold stay below it (T = 10 000 frames of -65 504: 7e8).
Outcome OutcomeOf(double log_p_alpha, double log_p_beta) {
  constexpr double kLargest = 1e9;
  if (log_p_alpha == -HUGE_VAL && log_p_beta == -HUGE_VAL) return Outcome::kImpossible;
  const double size = std::abs(log_p_alpha), difference = std::abs(log_p_alpha - log_p_beta);
  return difference <= 1e-6 + 1e-9 * size && size <= kLargest ? Outcome::kLoss : Outcome::kMismatch;
}

namespace {

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

}  // namespace

void WriteLosses(const Batch& batch, const std::vector<SampleResult>& results,
                 const Options& options, float* loss) {
  for (int64_t b = 0; b < batch.size(); ++b) {
    loss[b] = batch[b].valid ? LossOf(results[b], batch[b], options) : NAN;
  }
}

void ThrowIfMismatch(const Batch& batch, const std::vector<SampleResult>& results,
                     const Options& options) {
  for (int64_t b = 0; options.may_throw && b < batch.size(); ++b) {
    if (!batch[b].valid || results[b].outcome != Outcome::kMismatch) continue;
    throw std::runtime_error("For 'rnnt_loss', the loss of sample " + std::to_string(b) + " is " +
                             std::to_string(-results[b].log_p_alpha) + " from alpha, but " +
                             std::to_string(-results[b].log_p_beta) +
                             " from beta; its logits are too large in magnitude.");
  }
}

float CoefficientWithoutLoss(Outcome outcome) {
  return outcome == Outcome::kImpossible ? 0.0f : NAN;
}

}  // namespace rnnt
