// SPDX-License-Identifier: Apache-2.0
// The most probable path of each sample.
//
// best(t, u), the log-prob of the best path from (t, u) to (T, U), stands in place of beta. The
// path follows from it without back pointers: at each cell the arc that attains best is taken.
// Memory: as the lattice of the loss, 32 bytes a cell, of which alpha is never touched.
#include <algorithm>
#include <cmath>

#include "lattice_tasks.h"
#include "phases.h"
#include "threads.h"

namespace rnnt {
namespace {

// From (0, 0) on. Where both arcs lead to the same score the label is taken: the earliest emission.
void Walk(const SampleLattice& lattice, int32_t* frames, float* log_probs) {
  for (int64_t t = 0, u = 0; u < lattice.U;) {
    const int64_t cell = lattice.start[t + u] + u, after = lattice.start[t + u + 1] + u;
    const double by_blank = lattice.blank[cell] + lattice.beta[after];
    const double by_label = lattice.label[cell] + lattice.beta[after + 1];
    if (by_label >= by_blank) {
      frames[u] = static_cast<int32_t>(t);
      log_probs[u++] = static_cast<float>(lattice.label[cell]);
    } else {
      ++t;
    }
  }
}

}  // namespace

void Align(const Batch& batch, Records<Stats> stats, const int32_t* target_lengths, Alignment out) {
  const LatticeMemory lattices(batch);
  const Level& level = CurrentLevel();
  const std::vector<char> usable = FillArcs(lattices, 4 * lattices.cells(), [&](const Part& part) {
    return level.arcs(lattices[part.b], stats, part.begin, part.end);
  });
  const int64_t max_u = out.max_u;
  std::fill_n(out.frames, batch.size() * max_u, -1);
  std::fill_n(out.log_probs, batch.size() * max_u, 0.0f);
  std::fill_n(out.path_log_prob, batch.size(), NAN);
  const std::vector<int64_t>& order = lattices.order();
  ParallelFor(order.size(), 3 * lattices.cells(), [&](int64_t i) {
    const int64_t b = order[i];
    if (!usable[b]) return;
    const double log_prob = level.best(lattices[b]);
    out.path_log_prob[b] = static_cast<float>(log_prob);
    if (log_prob > -HUGE_VAL) Walk(lattices[b], out.frames + b * max_u, out.log_probs + b * max_u);
  });
  // The labels of a sample without a path.
  for (int64_t b = 0; b < batch.size(); ++b) {
    const float value = out.path_log_prob[b];
    if (std::isfinite(value)) continue;
    const int64_t U = std::min<int64_t>(std::max(target_lengths[b], 0), max_u);
    std::fill_n(out.log_probs + b * max_u, U, value);
  }
}

}  // namespace rnnt
