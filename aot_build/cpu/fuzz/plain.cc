// SPDX-License-Identifier: Apache-2.0
// The recursions of the oracle over a list of all arcs.
#include "plain.h"

#include <algorithm>
#include <cmath>

namespace fuzz {
namespace {

struct Arc {
  int64_t from, to;  // cells; (T, U) is cell T * (U + 1) + U
  double log_prob;
  bool is_label;
  int64_t duration;  // index, or -1
};

// In an order in which every arc comes after all arcs that end where it starts.
std::vector<Arc> ArcsOf(const Lattice& l) {
  const int64_t U1 = l.U + 1, D = static_cast<int64_t>(l.durations.size());
  std::vector<Arc> arcs;
  const auto add = [&](int64_t t, int64_t u, int64_t frames, bool is_label, int64_t i) {
    const int64_t cell = t * U1 + u, to = t + frames, to_u = u + (is_label ? 1 : 0);
    const bool ends = to == l.T && to_u == l.U && !is_label;
    if (to_u > l.U || (to >= l.T && !ends)) return;
    const double log_prob =
        (is_label ? l.label : l.blank)[cell] + (i < 0 ? 0.0 : l.duration_log_probs[cell * D + i]);
    arcs.push_back({cell, to * U1 + to_u, log_prob, is_label, i});
  };
  for (int64_t t = 0; t < l.T; ++t) {
    for (int64_t u = 0; u < U1; ++u) {
      if (D == 0) {
        add(t, u, 1, false, -1);
        add(t, u, 0, true, -1);
      }
      for (int64_t i = 0; i < D; ++i) {
        if (l.durations[i] > 0) add(t, u, l.durations[i], false, i);
        add(t, u, l.durations[i], true, i);
      }
    }
  }
  return arcs;
}

double LogAdd(double a, double b) {
  const double larger = std::max(a, b);
  return larger == -INFINITY ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

}  // namespace

Posteriors PlainPosteriors(const Lattice& l) {
  const int64_t cells = l.T * (l.U + 1), last = cells + l.U;
  const std::vector<Arc> arcs = ArcsOf(l);
  Doubles alpha(last + 1, -INFINITY), beta(last + 1, -INFINITY);
  alpha[0] = beta[last] = 0.0;
  for (const Arc& a : arcs) alpha[a.to] = LogAdd(alpha[a.to], alpha[a.from] + a.log_prob);
  std::for_each(arcs.rbegin(), arcs.rend(), [&](const Arc& a) {
    beta[a.from] = LogAdd(beta[a.from], a.log_prob + beta[a.to]);
  });
  const int64_t D = static_cast<int64_t>(l.durations.size());
  Posteriors post = {-alpha[last], Doubles(cells), Doubles(cells), Doubles(cells * D)};
  if (alpha[last] == -INFINITY) return post;
  for (const Arc& a : arcs) {
    const double p = std::exp(alpha[a.from] + a.log_prob + beta[a.to] - alpha[last]);
    (a.is_label ? post.label : post.blank)[a.from] += p;
    if (a.duration >= 0) post.durations[a.from * D + a.duration] += p;
  }
  return post;
}

double PlainBest(const Lattice& l) {
  const int64_t last = l.T * (l.U + 1) + l.U;
  Doubles best(last + 1, -INFINITY);
  best[0] = 0.0;
  for (const Arc& a : ArcsOf(l)) best[a.to] = std::max(best[a.to], best[a.from] + a.log_prob);
  return best[last];
}

Doubles PlainLogSoftmax(const float* row, int64_t V, double temperature) {
  const double largest = *std::max_element(row, row + V);
  Doubles log_probs(V);
  double sum = 0.0;
  for (int64_t k = 0; k < V; ++k) {
    log_probs[k] = (row[k] - largest) / temperature;
    sum += std::exp(log_probs[k]);
  }
  for (double& x : log_probs) x -= std::log(sum);
  return log_probs;
}

}  // namespace fuzz
