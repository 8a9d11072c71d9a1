// SPDX-License-Identifier: Apache-2.0
// Results against the oracle.
#include "checks.h"

#include <algorithm>
#include <cmath>

#include "operators.h"

namespace fuzz {

void Near(double got, double expected, double limit, const char* what) {
  const bool near = std::abs(got - expected) <= limit || got == expected;
  Require(near, std::string(what) + ": " + std::to_string(got) + " instead of " +
                    std::to_string(expected));
}

double LimitOf(const std::string& dtype) {
  return dtype == "float32" ? 3e-6 : dtype == "float16" ? 1e-3 : 8e-3;
}

namespace {

Ints RandomDurations(Random& random, bool legal) {
  Ints durations = random.Of<Ints>({{0, 1, 2, 3, 4}, {1}, {2, 0}, {0, 1}, {3, 5, 0}, {}});
  if (!legal) durations.push_back(random.Odd());
  return durations;
}

}  // namespace

void CheckRowLabels(const Problem& p) {
  const RowLabels got = RunRowLabels(p);
  const Ints labels = p.RowLabels();
  Require(got.labels == labels, "labels of rows");
  for (int64_t b = 0; b < p.B; ++b) {
    bool blank_in_labels = false;
    for (int64_t t = 0; t < p.logit_lengths[b]; ++t) {
      for (int64_t u = 0; u <= p.target_lengths[b]; ++u) {
        const int64_t row = p.Row(b, t, u);
        Require(got.samples[row] == b, "samples of rows");
        blank_in_labels = blank_in_labels || labels[row] == p.blank;
      }
    }
    Require((got.least_loss[b] == 0.0f) != blank_in_labels, "the least loss");
  }
}

void CheckAlign(const Problem& p) {
  const RowLabels rows = RunRowLabels(p);
  const Alignment got = RunAlign(p, RunRowStats(p, rows.labels), rows.least_loss);
  for (int64_t b = 0; b < p.B; ++b) {
    const Lattice lattice = p.LatticeOf(b);
    const double best = PlainBest(lattice);
    Near(got.path_log_prob[b], best, 3e-7 * std::max(1.0, std::abs(best)), "best path");
    // The path of the frames has that log-prob, too.
    double along = 0.0;
    for (int64_t t = 0, u = 0; t < lattice.T; ++t) {
      for (; u < lattice.U && got.frames[b * p.max_u + u] == t; ++u) {
        const double label = lattice.label[t * (lattice.U + 1) + u];
        Near(got.log_probs[b * p.max_u + u], label, 1e-5, "log-prob of a label");
        along += label;
      }
      along += lattice.blank[t * (lattice.U + 1) + u];
    }
    Near(along, best, 1e-5, "path of the frames");
  }
}

void CheckArcPosteriors(const Problem& p) {
  const RowLabels rows = RunRowLabels(p);
  const ArcPosteriors got = RunArcPosteriors(p, RunRowStats(p, rows.labels), rows.least_loss);
  for (int64_t b = 0; b < p.B; ++b) {
    const Posteriors post = PlainPosteriors(p.LatticeOf(b));
    Near(got.loss[b], post.loss, 3e-7 * std::max(1.0, std::abs(post.loss)), "loss of posteriors");
    for (int64_t t = 0, cell = 0; t < p.logit_lengths[b]; ++t) {
      for (int64_t u = 0; u <= p.target_lengths[b]; ++u, ++cell) {
        Near(got.blank[p.Row(b, t, u)], post.blank[cell], 3e-6, "posterior of a blank");
        Near(got.label[p.Row(b, t, u)], post.label[cell], 3e-6, "posterior of a label");
      }
    }
  }
}

void CheckTdt(const Problem& p, Random& random) {
  const Ints durations = RandomDurations(random, true);
  const auto D = static_cast<int64_t>(durations.size());
  const Ints labels = p.RowLabels();
  Floats log_probs(p.rows() * D, NAN);
  for (int64_t i = 0; i < p.rows() * D; ++i) {
    if (labels[i / D] != -2) log_probs[i] = -static_cast<float>(random.Below(64)) / 16.0f;
  }
  const Tdt got = RunTdt(p, RunRowStats(p, labels), log_probs, durations);
  for (int64_t b = 0; b < p.B; ++b) {
    Lattice lattice = p.LatticeOf(b);
    lattice.durations = durations;
    if (D == 0) {
      Near(got.loss[b], INFINITY, 0.0, "TDT loss without durations");
      continue;
    }
    std::vector<int64_t> rows;
    for (int64_t t = 0; t < lattice.T; ++t) {
      for (int64_t u = 0; u <= lattice.U; ++u) rows.push_back(p.Row(b, t, u));
    }
    for (const int64_t row : rows) {
      const auto begin = log_probs.begin() + row * D;
      lattice.duration_log_probs.insert(lattice.duration_log_probs.end(), begin, begin + D);
    }
    const Posteriors post = PlainPosteriors(lattice);
    Near(got.loss[b], post.loss, 3e-7 * std::max(1.0, std::abs(post.loss)), "TDT loss");
    for (size_t cell = 0; cell < rows.size(); ++cell) {
      Near(got.coefficients[rows[cell] * 3 + 1], post.blank[cell], 3e-6, "TDT post_blank");
      Near(got.coefficients[rows[cell] * 3 + 2], post.label[cell], 3e-6, "TDT post_label");
      for (int64_t i = 0; i < D; ++i) {
        Near(got.durations[rows[cell] * D + i], post.durations[cell * D + i], 3e-6, "durations");
      }
    }
  }
}

void CheckDurationHead(Random& random) {
  const bool legal = random.Coin();
  const auto one = [&] { return static_cast<float>(random.Below(127) - 63) / 16.0f; };
  const auto some = [&] {
    return legal ? one() : random.Of<float>({NAN, INFINITY, -INFINITY, 0.0f, -1.0f, 1e30f, one()});
  };
  const auto fill = [](Floats& x, int64_t size, const auto& value) {
    x.resize(size);
    std::generate(x.begin(), x.end(), value);
  };
  DurationHead head = {};
  head.D = random.Of<int64_t>({1, 2, 5, 8, 17, 32, 33});
  head.dtype = random.Of<const char*>({"float32", "float16", "bfloat16"});
  head.at_end = random.Coin();
  const int64_t n = random.Below(5000), D = head.D;
  for (int64_t r = 0; r < n; ++r) {
    head.row_labels.push_back(legal ? random.Of<int32_t>({-2, -1, 0, 3}) : random.Odd());
  }
  fill(head.logits, n * D, [&] { return legal ? one() : random.Of({one(), NAN, -INFINITY}); });
  fill(head.coefficients, n * 3, some);
  fill(head.posteriors, n * D, some);
  fill(head.dloss, n, some);
  fill(head.params, 8, [] { return 0.0f; });
  const float clamp = head.params[1] = random.Of({-1.0f, 0.5f});
  const Floats log_probs = RunDurationLogProbs(head), grad = RunDurationGrad(head);
  for (int64_t r = 0; r < n; ++r) {
    const bool is_cell = head.row_labels[r] != -2;
    const Doubles expected = PlainLogSoftmax(&head.logits[r * D], D);
    for (int64_t i = r * D, d = 0; d < D; ++d, ++i) {
      if (!is_cell || head.dloss[r] == 0.0f) Near(grad[i], 0.0, 0.0, "gradient without a cell");
      if (!is_cell) Near(log_probs[i], 0.0, 0.0, "log-prob without a cell");
      if (!is_cell || !legal) continue;
      Near(log_probs[i], expected[d], 3e-6, "log-prob of a duration");
      double g = std::exp(expected[d]) * head.coefficients[r * 3] - head.posteriors[i];
      if (clamp > 0.0f) g = std::min<double>(clamp, std::max<double>(-clamp, g));
      g *= head.dloss[r];
      Near(grad[i], g, LimitOf(head.dtype) * (4.0 + std::abs(g)), "gradient of a duration");
    }
  }
}

void CheckIllegal(const Problem& p, Random& random) {
  const Floats dloss(p.B, random.Of<float>({0.0f, 1.0f, -2.0f, INFINITY, NAN}));
  RunFused(p, dloss);
  RunTwoOp(p, dloss);
  const RowLabels rows = RunRowLabels(p);
  for (int64_t i = 0; i < p.rows(); ++i) {
    const int32_t label = rows.labels[i], b = rows.samples[i];
    Require(-2 <= label && label < p.V && 0 <= b && b < p.B, "a label or sample out of range");
  }
  Ints labels(p.rows());
  for (int32_t& label : labels) label = random.Odd();
  Floats stats = RunRowStats(p, labels);
  for (float& x : stats) {
    if (random.Below(10) == 0) x = random.Of<float>({NAN, INFINITY, -INFINITY, 0.0f, -1.0f, 1e30f});
  }
  RunPhases(p, labels, stats, Floats(p.rows(), 1.0f));
  Ints samples(p.rows());
  for (int32_t& sample : samples) sample = random.Odd();
  RunDistillation(p, stats, RunRowStats(p, labels), {labels, samples, rows.least_loss});
  RunArcPosteriors(p, stats, random.Coin() ? rows.least_loss : Floats(p.B, 0.0f));
  RunAlign(p, stats, random.Coin() ? rows.least_loss : Floats(p.B, 0.0f));
  const Ints durations = RandomDurations(random, random.Coin());
  Floats log_probs(p.rows() * static_cast<int64_t>(durations.size()));
  for (float& x : log_probs) x = random.Of<float>({-1.0f, 0.0f, -INFINITY, INFINITY, NAN, 3.0f});
  RunTdt(p, stats, log_probs, durations);
}

void CheckShapes(const Problem& p, Random& random) {
  const int64_t wrong = random.Below(7);
  const auto off = [&](int64_t tensor, Shape shape) {
    if (tensor == wrong) shape[random.Below(static_cast<int64_t>(shape.size()))] += 1;
    return shape;
  };
  const auto fitting = [](auto values, const Shape& shape) {
    values.resize(SizeOf(shape));
    return values;
  };
  const Shape targets = off(1, {p.B, p.max_u}), T = off(2, {p.B}), U = off(3, {p.B});
  const Shape logits = off(0, p.Of(p.V)), params = off(4, {8});
  Call fused("RnntFused", RnntFused, p.at_end);
  fused.Rows(fitting(p.logits, logits), logits, p.dtype).In(fitting(p.targets, targets), targets);
  fused.In(fitting(p.logit_lengths, T), T).In(fitting(p.target_lengths, U), U);
  fused.In(fitting(p.params, params), params).Out(off(5, {p.B})).Out(off(6, p.Of(p.V)), p.dtype);
  const bool accepted = fused.Run();
  // Labels of one more column, or logits of one more row or class and their gradient, may fit.
  Require(!accepted || wrong <= 1,
          "RnntFused accepts a wrong shape of tensor " + std::to_string(wrong));
}

}  // namespace fuzz
