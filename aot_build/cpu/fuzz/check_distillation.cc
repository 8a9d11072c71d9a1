// SPDX-License-Identifier: Apache-2.0
// Distillation against sums of probabilities over the classes of each row: blank, label, rest.
#include <algorithm>
#include <array>
#include <cmath>

#include "checks.h"
#include "operators.h"

namespace fuzz {
namespace {

using Classes = std::array<double, 3>;

int ClassOf(int64_t k, const Problem& p, int32_t label) {
  return k == p.blank ? 0 : k == label ? 1 : 2;
}

Doubles Softmax(const Problem& p, int64_t row, double temperature) {
  Doubles q = PlainLogSoftmax(p.LogitsOf(row), p.V, temperature);
  for (double& x : q) x = std::exp(x);
  return q;
}

Classes Sums(const Doubles& q, const Problem& p, int32_t label) {
  Classes sums = {};
  for (size_t k = 0; k < q.size(); ++k) sums[ClassOf(static_cast<int64_t>(k), p, label)] += q[k];
  return sums;
}

// Logits of another model. In a part of the problems some classes are impossible, or no numbers.
void FillLogits(Problem& p, const Ints& labels, Random& random) {
  p.logits.resize(p.rows() * p.V);
  for (float& x : p.logits) x = static_cast<float>(random.Below(127) - 63) / 16.0f;
  const float spoilt = random.Of<float>({0.0f, 0.0f, -INFINITY, NAN});
  for (int64_t row = 0; row < p.rows(); ++row) {
    float* const x = &p.logits[row * p.V];
    if (labels[row] == -2) std::fill_n(x, p.V, NAN);
    if (spoilt != 0.0f && random.Below(20) == 0) x[random.Below(p.V)] = spoilt;
  }
}

void NearOrNaN(double got, double expected, double limit, const char* what) {
  if (!std::isnan(expected) || !std::isnan(got)) Near(got, expected, limit, what);
}

}  // namespace

void CheckDistillation(Problem p, Random& random) {
  const float temperature = random.Of({1.0f, 0.5f, 2.5f}), dloss = random.Of({1.0f, -0.5f, 0.0f});
  p.params = {static_cast<float>(p.blank), -1, 1, 0, 0, 0, temperature, 1};
  const Ints labels = p.RowLabels();
  Problem teacher = p;
  teacher.V += random.Of<int64_t>({0, 0, 3});
  teacher.dtype = random.Of<const char*>({"float32", "float16", "bfloat16"});
  FillLogits(p, labels, random);
  FillLogits(teacher, labels, random);
  const RowLabels rows = RunRowLabels(p);
  const Floats stats = RunRowStats(p, rows.labels);
  const Distillation got = RunDistillation(p, stats, RunRowStats(teacher, rows.labels), rows);
  const Floats grad = RunRowGrad(p, rows.labels, stats, got.coefficients, Floats(p.rows(), dloss));
  Doubles losses(p.B), cells(p.B);
  std::vector<Doubles> student(p.rows());
  std::vector<Classes> of_teacher(p.rows()), of_student(p.rows());
  for (int64_t row = 0; row < p.rows(); ++row) {
    if (labels[row] == -2) continue;
    student[row] = Softmax(p, row, temperature);
    of_student[row] = Sums(student[row], p, labels[row]);
    of_teacher[row] = Sums(Softmax(teacher, row, temperature), p, labels[row]);
    for (int c = 0; c < 3; ++c) {
      const double share = of_teacher[row][c];
      if (share != 0.0) losses[rows.samples[row]] += share * std::log(share / of_student[row][c]);
    }
    cells[rows.samples[row]] += 1.0;
  }
  for (int64_t b = 0; b < p.B; ++b) {
    NearOrNaN(got.loss[b], losses[b], 1e-6 * (cells[b] + losses[b]), "distillation loss");
  }
  for (int64_t row = 0; row < p.rows(); ++row) {
    const double loss = losses[rows.samples[row]];
    const bool zero = labels[row] == -2 || dloss == 0.0f || loss == INFINITY;
    for (int64_t k = 0; k < p.V; ++k) {
      const int c = ClassOf(k, p, labels[row]);
      double g = zero ? 0.0 : loss - loss;  // NaN for all of a sample
      if (!zero && of_student[row][c] != 0.0) {
        g += student[row][k] * (1.0 - of_teacher[row][c] / of_student[row][c]);
      }
      NearOrNaN(grad[row * p.V + k], g / temperature * dloss, 2.0 * LimitOf(p.dtype),
                "gradient of distillation");
    }
  }
}

}  // namespace fuzz
