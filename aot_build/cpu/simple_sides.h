// SPDX-License-Identifier: Apache-2.0
// Both inputs of the joiner that only adds, whose stats and gradients come from matrix products of
// exponentials:
//
//   e(x)_k = exp(x_k - max x)
//   row_max(t, u) = max am[t] + max lm[u],   row_sum(t, u) = sum_k e(am[t])_k e(lm[u])_k
//   dam[t]_k = e(am[t])_k sum_u w(t, u) e(lm[u])_k - arcs,   w = dloss occupation / row_sum
//
// and dlm likewise. Where am and lm peak at different classes, terms of the product fall below the
// least float32. Cells in which that could be seen are formed, and left to the kernels for rows.
// Memory: exponentials of lm, and 8 bytes a cell.
#ifndef MINDSPORE_RNNT_CPU_SIMPLE_SIDES_H_
#define MINDSPORE_RNNT_CPU_SIMPLE_SIDES_H_

#include <cmath>
#include <vector>

#include "phases.h"
#include "threads.h"

namespace rnnt {

// Rows of am or of lm with their stats.
class Side {
 public:
  Side(const float* x, const int32_t* labels, int64_t count, int64_t V, const Options& options)
      : x_(x), labels_(labels), count_(count), V_(V), stats_(count) {
    Rows rows = {};
    rows.x = x;
    rows.count = count;
    rows.V = V;
    rows.labels = labels;
    rows.stats = {reinterpret_cast<float*>(stats_.data()), kStatsFloats};
    RowStats(rows, kFloat32, options);
  }

  const float* Row(int64_t i) const { return x_ + i * V_; }
  int32_t Label(int64_t i) const { return labels_[i]; }
  float Max(int64_t i) const { return stats_[i].row_max; }

  // e(x) of classes [first, first + n) of row i; 0 without a cell.
  void Exp(int64_t i, int64_t first, int64_t n, float* out) const {
    Stats shift = {Max(i), 1.0f, 0.0f, 0.0f};
    Coefficients one = {1.0f, 0.0f, 0.0f};
    Rows row = {};
    row.x = Row(i) + first;
    row.grad = out;
    row.count = 1;
    row.V = n;
    row.labels = labels_ + i;
    row.stats = {&shift.row_max, kStatsFloats};
    row.coefficients = {&one.occupation, kCoefficientsFloats};
    row.dloss = &one.occupation;
    CurrentLevel().row_grad[kFloat32](row, {-1, INFINITY, true, 1.0f, false, false});
  }

  std::vector<float> Exps() const {
    std::vector<float> out(count_ * V_);
    ParallelRows(count_, V_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Exp(i, 0, V_, out.data() + i * V_);
    });
    return out;
  }

 private:
  const float* x_;
  const int32_t* labels_;
  int64_t count_, V_;
  std::vector<Stats> stats_;
};

// What both phases need. `t` counts the frames of all samples, and `u` their steps.
struct Sides {
  Options options;
  Side am, lm;
  std::vector<float> lm_exps;

  explicit Sides(const SimpleJoiner& j)
      : options{j.blank, INFINITY, true, 1.0f, false, false},
        am(j.am, j.am_labels, j.B * j.max_t, j.V, options),
        lm(j.lm, j.lm_labels, j.B * j.max_u1, j.V, options),
        lm_exps(lm.Exps()) {}

  int32_t Label(int64_t t, int64_t u) const {
    return am.Label(t) == kNoCell ? kNoCell : lm.Label(u);
  }
  float Max(int64_t t, int64_t u) const { return am.Max(t) + lm.Max(u); }
  // The logits of n classes.
  void Form(int64_t t, int64_t u, int64_t first, int64_t n, float* logits) const {
    const float *x = am.Row(t) + first, *y = lm.Row(u) + first;
    for (int64_t k = 0; k < n; ++k) logits[k] = x[k] + y[k];
  }
};

// Of a cell's stats: the largest logit of a lossy cell is far below the sum of both maxima.
inline bool IsFromProduct(float row_max, float max_of_sides) {
  return row_max == max_of_sides && std::abs(row_max) < 1e8f;
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMPLE_SIDES_H_
