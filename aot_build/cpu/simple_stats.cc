// SPDX-License-Identifier: Apache-2.0
// Phase 1 of the joiner that only adds.
#include <algorithm>
#include <cmath>
#include <vector>

#include "phases.h"
#include "simple_sides.h"
#include "threads.h"

namespace rnnt {
namespace {

// Whether terms that are lost, each below the least normal number, may be more than 1e-7 of the sum.
bool IsLossy(float row_sum, float row_max, int64_t V) {
  // Beyond 1e8 float32 cannot tell row_max from the largest logit, see IsFromProduct.
  return row_sum < static_cast<float>(V + 10) * (1.2e-38f / 1e-7f) || std::abs(row_max) >= 1e8f;
}

// The stats of these cells from their logits.
void FormedStats(const SimpleJoiner& j, const Sides& sides, const std::vector<int64_t>& cells) {
  const auto count = static_cast<int64_t>(cells.size()), ranges = std::min<int64_t>(count, 64);
  std::vector<float> memory(ranges * j.V);  // a row for each range
  ParallelFor(ranges, count * j.V, [&](int64_t range) {
    for (int64_t i = range * count / ranges; i < (range + 1) * count / ranges; ++i) {
      const int64_t t = cells[i] / j.max_u1, u = t / j.max_t * j.max_u1 + cells[i] % j.max_u1;
      const int32_t label = sides.Label(t, u);
      Rows row = {};
      row.x = memory.data() + range * j.V;
      row.count = 1;
      row.V = j.V;
      row.labels = &label;
      row.stats = j.stats.From(cells[i]);
      sides.Form(t, u, 0, j.V, memory.data() + range * j.V);
      CurrentLevel().row_stats[kFloat32](row, sides.options);
    }
  });
}

}  // namespace

void SimpleStats(const SimpleJoiner& j) {
  constexpr int64_t kFrames = 4, kClasses = 1024;
  const Level& level = CurrentLevel();
  const Sides sides(j);
  const int64_t V = j.V, U1 = j.max_u1, frames = j.B * j.max_t;
  const int64_t blocks = (j.max_t + kFrames - 1) / kFrames;  // of frames of a sample
  std::vector<double> sums(frames * U1);
  ParallelFor(j.B * blocks, frames * U1 * (V + 50) / 16, [&](int64_t block) {
    const int64_t b = block / blocks, from = block % blocks * kFrames, t0 = b * j.max_t + from;
    const int64_t count = std::min(kFrames, j.max_t - from);
    float am_exps[kFrames * kClasses];
    for (int64_t first = 0; first < V; first += kClasses) {
      const int64_t n = std::min(kClasses, V - first);
      for (int64_t i = 0; i < count; ++i) sides.am.Exp(t0 + i, first, n, am_exps + i * kClasses);
      level.add_dots({am_exps, kClasses, count}, {sides.lm_exps.data() + b * U1 * V + first, V, U1},
                     n, sums.data() + t0 * U1, U1);
    }
    for (int64_t cell = t0 * U1; cell < (t0 + count) * U1; ++cell) {
      const int64_t t = cell / U1, u = b * U1 + cell % U1;
      const int32_t label = sides.Label(t, u);
      const float row_max = sides.Max(t, u);
      const auto gap = [&](int32_t k) { return sides.am.Row(t)[k] + sides.lm.Row(u)[k] - row_max; };
      if (label == kNoCell) {
        j.stats[cell] = {};
      } else if (j.blank < 0 || label < kNoLabelArc || label >= V) {
        j.stats[cell] = {NAN, NAN, NAN, NAN};
      } else {
        j.stats[cell] = {row_max, static_cast<float>(sums[cell]), gap(j.blank),
                         label < 0 ? -INFINITY : gap(label)};
      }
    }
  });
  std::vector<int64_t> lossy;
  for (int64_t cell = 0; cell < frames * U1; ++cell) {
    const int64_t t = cell / U1, u = t / j.max_t * U1 + cell % U1;
    const Stats& s = j.stats[cell];
    if (sides.Label(t, u) != kNoCell && IsLossy(s.row_sum, s.row_max, V)) lossy.push_back(cell);
  }
  if (!lossy.empty()) FormedStats(j, sides, lossy);
}

}  // namespace rnnt
