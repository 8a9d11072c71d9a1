// SPDX-License-Identifier: Apache-2.0
// Random sizes, values and options.
#include "problem.h"

#include <algorithm>
#include <cmath>

namespace fuzz {
namespace {

// Sixteenths below 8 are exact in float16 and bfloat16.
void FillLogits(Problem& p, Random& random) {
  p.logits.resize(p.rows() * p.V);
  for (float& x : p.logits) x = static_cast<float>(random.Below(127) - 63) / 16.0f;
}

Problem Sizes(Random& random) {
  Problem p = {};
  p.padded = random.Coin();
  p.B = 1 + random.Below(4);
  p.V = random.Of<int64_t>({1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 33, 50, 129, 500, 4100});
  p.dtype = random.Of<const char*>({"float32", "float16", "bfloat16"});
  p.at_end = random.Coin();
  return p;
}

}  // namespace

Shape Problem::Of(int64_t last) const {
  Shape shape = cells;
  shape.push_back(last);
  return shape;
}

int64_t Problem::Row(int64_t b, int64_t t, int64_t u) const {
  if (padded) return (b * max_t + t) * (max_u + 1) + u;
  int64_t row = t * (target_lengths[b] + 1) + u;
  for (int64_t i = 0; i < b; ++i) row += logit_lengths[i] * (target_lengths[i] + 1);
  return row;
}

Ints Problem::RowLabels() const {
  Ints labels(rows(), -2);
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t t = 0; t < logit_lengths[b]; ++t) {
      for (int64_t u = 0; u <= target_lengths[b]; ++u) {
        labels[Row(b, t, u)] = u < target_lengths[b] ? targets[b * max_u + u] : -1;
      }
    }
  }
  return labels;
}

Lattice Problem::LatticeOf(int64_t b) const {
  Lattice lattice = {logit_lengths[b], target_lengths[b], {}, {}, {}, {}};
  for (int64_t t = 0; t < lattice.T; ++t) {
    for (int64_t u = 0; u <= lattice.U; ++u) {
      const Doubles log_probs = PlainLogSoftmax(LogitsOf(Row(b, t, u)), V);
      lattice.blank.push_back(log_probs[blank]);
      lattice.label.push_back(u < lattice.U ? log_probs[targets[b * max_u + u]] : -INFINITY);
    }
  }
  return lattice;
}

Problem LegalProblem(Random& random) {
  Problem p = Sizes(random);
  for (int64_t b = 0; b < p.B; ++b) {
    const bool large = p.V > 200;
    p.logit_lengths.push_back(static_cast<int32_t>(1 + random.Below(large ? 4 : 30)));
    p.target_lengths.push_back(static_cast<int32_t>(random.Below(large ? 3 : 9)));
    p.max_t = std::max<int64_t>(p.max_t, p.logit_lengths[b] + random.Below(3));
    p.max_u = std::max<int64_t>(p.max_u, p.target_lengths[b] + random.Below(3));
  }
  int64_t N = 0;
  for (int64_t b = 0; b < p.B; ++b) N += p.logit_lengths[b] * (p.target_lengths[b] + 1);
  p.cells = p.padded ? Shape{p.B, p.max_t, p.max_u + 1} : Shape{N};
  p.blank = static_cast<int32_t>(random.Below(p.V));
  p.targets.assign(p.B * p.max_u, 0);
  for (int32_t& label : p.targets) label = static_cast<int32_t>(random.Below(p.V));
  FillLogits(p, random);
  const Ints labels = p.RowLabels();
  for (int64_t row = 0; row < p.rows(); ++row) {
    const float padding = random.Of<float>({NAN, INFINITY, -INFINITY, 7.0f});
    if (labels[row] == -2) std::fill_n(&p.logits[row * p.V], p.V, padding);
  }
  const auto from_end = static_cast<float>(p.blank - p.V);
  p.params = {random.Coin() ? static_cast<float>(p.blank) : from_end, -1, 1, 0, 0, 0, 0, 0};
  return p;
}

Problem IllegalProblem(Random& random) {
  Problem p = Sizes(random);
  p.max_t = random.Below(6);
  p.max_u = random.Below(5);
  for (int64_t b = 0; b < p.B; ++b) {
    p.logit_lengths.push_back(random.Odd());
    p.target_lengths.push_back(random.Odd());
  }
  p.targets.resize(p.B * p.max_u);
  for (int32_t& label : p.targets) label = random.Odd();
  p.cells = p.padded ? Shape{p.B, p.max_t, p.max_u + 1} : Shape{random.Below(40)};
  FillLogits(p, random);
  for (float& x : p.logits) {
    if (random.Below(20) == 0) x = random.Of<float>({NAN, INFINITY, -INFINITY, 0.0f});
  }
  for (int i = 0; i < 8; ++i) {
    p.params.push_back(
        random.Of<float>({-1e20f, -1.0f, -1e-20f, 0.0f, 0.5f, 1.0f, 2.0f, 1e20f, INFINITY, NAN}));
  }
  p.params[5] = 0.0f;  // may_throw
  return p;
}

}  // namespace fuzz
