// SPDX-License-Identifier: Apache-2.0
// The simple joiner against formed logits.
#include <algorithm>
#include <cmath>

#include "checks.h"
#include "operators.h"

namespace fuzz {
namespace {

SimpleJoiner RandomJoiner(Random& random, bool legal) {
  SimpleJoiner j = {};
  j.B = 1 + random.Below(3);
  j.T = random.Below(20);
  j.U1 = random.Below(10);
  j.V = random.Of<int64_t>({1, 2, 9, 33, 520, 1030});
  j.at_end = random.Coin();
  const auto one = [&] { return static_cast<float>(random.Below(127) - 63) / 16.0f; };
  const auto some = [&] {
    return legal ? one() : random.Of<float>({NAN, INFINITY, -INFINITY, 0.0f, -1.0f, 1e30f, one()});
  };
  const auto peaked = [&] { return random.Below(40) == 0 ? 110.0f : some(); };
  const auto fill = [](Floats& x, int64_t size, const auto& value) {
    x.resize(size);
    std::generate(x.begin(), x.end(), value);
  };
  fill(j.am, j.B * j.T * j.V, peaked);
  fill(j.lm, j.B * j.U1 * j.V, peaked);
  fill(j.coefficients, j.B * j.T * j.U1 * 3, some);
  fill(j.dloss, j.B, some);
  j.params = {-1.0f, -1.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  for (int64_t i = 0; i < j.B * j.T; ++i) {
    j.am_labels.push_back(legal ? random.Of<int32_t>({-1, -1, -1, -2}) : random.Odd());
  }
  for (int64_t i = 0; i < j.B * j.U1; ++i) {
    j.lm_labels.push_back(legal ? random.Of<int32_t>({-1, 0, -2}) : random.Odd());
  }
  return j;
}

}  // namespace

void CheckSimpleJoiner(Random& random) {
  const bool legal = random.Coin();
  const SimpleJoiner j = RandomJoiner(random, legal);
  const Floats stats = RunSimpleStats(j);
  const SimpleGradients got = RunSimpleGrad(j, stats);
  if (!legal) return;
  Doubles dam(j.am.size()), dlm(j.lm.size()), size_am(j.am.size()), size_lm(j.lm.size());
  Floats logits(j.V);
  for (int64_t t = 0; t < j.B * j.T; ++t) {
    for (int64_t i = 0; i < j.U1; ++i) {
      const int64_t b = t / j.T, u = b * j.U1 + i, cell = t * j.U1 + i;
      const float *const s = &stats[cell * 4], *const c = &j.coefficients[cell * 3];
      if (j.am_labels[t] == -2 || j.lm_labels[u] == -2) {
        Near(s[1], 0.0, 0.0, "stats of the simple joiner without a cell");
        continue;
      }
      for (int64_t k = 0; k < j.V; ++k) logits[k] = j.am[t * j.V + k] + j.lm[u * j.V + k];
      const Doubles log_probs = PlainLogSoftmax(logits.data(), j.V);
      const double log_sum = std::log(static_cast<double>(s[1]));
      const double blank = log_probs[j.V - 1], limit = 3e-5;
      Near(s[2] - log_sum, blank, limit, "blank of the simple joiner");
      if (j.lm_labels[u] >= 0) {
        Near(s[3] - log_sum, log_probs[j.lm_labels[u]], limit, "label of the simple joiner");
      }
      for (int64_t k = 0; k < j.V; ++k) {
        double g = std::exp(log_probs[k]) * c[0];
        if (k == j.V - 1) g -= c[1];
        if (k == j.lm_labels[u]) g -= c[2];
        g *= j.dloss[b];
        dam[t * j.V + k] += g;
        dlm[u * j.V + k] += g;
        size_am[t * j.V + k] += std::abs(g) + std::abs(j.dloss[b]);
        size_lm[u * j.V + k] += std::abs(g) + std::abs(j.dloss[b]);
      }
    }
  }
  for (size_t i = 0; i < dam.size(); ++i) {
    Near(got.am[i], dam[i], 3e-5 * size_am[i], "gradient of am");
  }
  for (size_t i = 0; i < dlm.size(); ++i) {
    Near(got.lm[i], dlm[i], 3e-5 * size_lm[i], "gradient of lm");
  }
}

}  // namespace fuzz
