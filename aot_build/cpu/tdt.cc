// SPDX-License-Identifier: Apache-2.0
// Phase 2 of a token-and-duration transducer over a batch. Memory: 8 (4 + D) bytes a cell.
#include <algorithm>

#include "lattice_outcome.h"
#include "lattice_tasks.h"
#include "phases.h"

namespace rnnt {
namespace {

class TdtLattices {
 public:
  TdtLattices(const Batch& batch, const TdtInput& input)
      : memory_(batch, /*more_arrays=*/input.D), input_(input) {}

  const LatticeMemory& memory() const { return memory_; }

  TdtLattice operator[](int64_t b) const {
    return {memory_[b], input_.D, input_.durations, memory_.more(b), memory_.array_size()};
  }

  // About the time of one thread in ns for one of arcs, alpha, beta and coefficients.
  int64_t work() const { return 6 * memory_.cells() * (input_.D + 1); }

 private:
  LatticeMemory memory_;
  TdtInput input_;
};

void FillPosteriors(const TdtLattices& lattices, const std::vector<SampleResult>& results,
                    float label_weight, const TdtPosteriors& out) {
  const auto fill = CurrentLevel().tdt_posteriors;
  const std::vector<Part> parts = DivideDiagonals(lattices.memory());
  ParallelFor(parts.size(), lattices.work(), [&](int64_t i) {
    const Part& part = parts[i];
    const TdtLattice lattice = lattices[part.b];
    const SampleResult& result = results[part.b];
    if (result.outcome == Outcome::kLoss) {
      fill(lattice, result.log_p_alpha, label_weight, part.begin, part.end, out);
      return;
    }
    const float value = CoefficientWithoutLoss(result.outcome);
    lattice.cells.ForEachRow(part.begin, part.end, [&](int64_t row) {
      out.coefficients[row] = {value, value, value};
      std::fill_n(out.durations + row * lattice.D, lattice.D, value);
    });
  });
}

}  // namespace

void LatticeOfTdt(const Batch& batch, const TdtInput& input, const Options& options, float* loss,
                  const TdtPosteriors& posteriors) {
  const TdtLattices lattices(batch, input);
  const Level& level = CurrentLevel();
  const std::vector<char> usable =
      FillArcs(lattices.memory(), lattices.work(), [&](const Part& part) {
        const TdtLattice lattice = lattices[part.b];
        return level.arcs(lattice.cells, input.stats, part.begin, part.end) &&
               level.tdt_durations(lattice, input.duration_log_probs, input.sigma, part.begin,
                                   part.end);
      });
  const std::vector<SampleResult> results = RunAlphaAndBeta(
      lattices.memory(), usable, 2 * lattices.work(),
      [&](int64_t b) { return level.tdt_alpha(lattices[b]); },
      [&](int64_t b) { return level.tdt_beta(lattices[b]); });
  WriteLosses(batch, results, options, loss);
  FillPosteriors(lattices, results, options.label_weight, posteriors);
  ThrowIfMismatch(batch, results, options);
}

}  // namespace rnnt
