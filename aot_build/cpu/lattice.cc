// SPDX-License-Identifier: Apache-2.0
// Phase 2 over a batch: arcs, alpha and beta of each sample, outcomes, losses, coefficients.
#include "lattice_outcome.h"
#include "lattice_tasks.h"
#include "phases.h"

namespace rnnt {
namespace {

void FillCoefficients(const LatticeMemory& lattices, const std::vector<SampleResult>& results,
                      float label_weight, Records<Coefficients> coefficients) {
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
    const float value = CoefficientWithoutLoss(result.outcome);
    lattice.ForEachRow(part.begin, part.end,
                       [&](int64_t row) { coefficients[row] = {value, value, value}; });
  });
}

}  // namespace

void Lattice(const Batch& batch, Records<Stats> stats, const Options& options, float* loss,
             Records<Coefficients> coefficients) {
  const LatticeMemory lattices(batch);
  const Level& level = CurrentLevel();
  const std::vector<char> usable = FillArcs(lattices, 4 * lattices.cells(), [&](const Part& part) {
    return level.arcs(lattices[part.b], stats, part.begin, part.end);
  });
  const std::vector<SampleResult> results = RunAlphaAndBeta(
      lattices, usable, 6 * lattices.cells(), [&](int64_t b) { return level.alpha(lattices[b]); },
      [&](int64_t b) { return level.beta(lattices[b]); });
  WriteLosses(batch, results, options, loss);
  FillCoefficients(lattices, results, options.label_weight, coefficients);
  ThrowIfMismatch(batch, results, options);
}

}  // namespace rnnt
