// SPDX-License-Identifier: Apache-2.0
// Phase 3 of the joiner that only adds.
#include <algorithm>
#include <vector>

#include "phases.h"
#include "simple_sides.h"
#include "threads.h"

namespace rnnt {
namespace {

// The gradients of some classes of sample b. Frames and steps are those of the sample.
class PartOfGradient {
 public:
  static constexpr int64_t kMost = 512;  // classes

  PartOfGradient(const SimpleJoiner& j, const Sides& sides, const SimpleGradients& gradients,
                 int64_t b, int64_t first)
      : sides_(sides),
        gradients_(gradients),
        stats_(j.stats),
        b_(b),
        first_(first),
        n_(std::min(kMost, j.V - first)),
        V_(j.V),
        T_(j.max_t),
        U1_(j.max_u1),
        dam_(gradients.am + b * T_ * V_ + first),
        dlm_(gradients.lm + b * U1_ * V_ + first) {}

  void Clear() const {
    for (int64_t t = 0; t < T_; ++t) std::fill_n(dam_ + t * V_, n_, 0.0f);
    for (int64_t u = 0; u < U1_; ++u) std::fill_n(dlm_ + u * V_, n_, 0.0f);
  }

  // The softmax term of all cells but those that were formed.
  void AddProducts(const float* weights) const {
    constexpr int64_t kFrames = 8;
    const Level& level = CurrentLevel();
    const float* const lm_exps = sides_.lm_exps.data() + b_ * U1_ * V_ + first_;
    float am_exps[kFrames * kMost];
    for (int64_t t = 0; t < T_; t += kFrames, weights += kFrames * U1_) {
      const int64_t count = std::min(kFrames, T_ - t);
      for (int64_t i = 0; i < count; ++i)
        sides_.am.Exp(Frame(t + i), first_, n_, am_exps + i * kMost);
      level.add_combined({weights, U1_, 1}, {lm_exps, V_, U1_}, n_, dam_ + t * V_, V_, count);
      level.add_combined({weights, 1, U1_}, {am_exps, kMost, count}, n_, dlm_, V_, U1_);
      for (int64_t i = 0; i < count; ++i) {
        Multiply(dam_ + (t + i) * V_, am_exps + i * kMost, sides_.am.Label(Frame(t + i)));
      }
    }
    for (int64_t u = 0; u < U1_; ++u) {
      Multiply(dlm_ + u * V_, lm_exps + u * V_, sides_.lm.Label(Step(u)));
    }
  }

  // The arcs of all cells, and the softmax term of those that were formed.
  void AddArcs() const {
    Options options = sides_.options;
    options.blank = Within(options.blank);
    float logits[kMost];
    for (int64_t t = 0; t < T_; ++t) {
      for (int64_t u = 0; u < U1_; ++u) {
        const int64_t cell = Frame(t) * U1_ + u;
        if (sides_.Label(Frame(t), Step(u)) == kNoCell) continue;
        const int32_t label = Within(sides_.Label(Frame(t), Step(u)));
        float *const of_frame = dam_ + t * V_, *const of_step = dlm_ + u * V_;
        const float dloss = gradients_.dloss[b_];
        if (IsFromProduct(stats_[cell].row_max, sides_.Max(Frame(t), Step(u)))) {
          const auto subtract = [&](int32_t k, float posterior) {
            if (k < 0 || posterior == 0.0f) return;
            of_frame[k] -= posterior * dloss;
            of_step[k] -= posterior * dloss;
          };
          subtract(options.blank, gradients_.coefficients[cell].post_blank);
          subtract(label, gradients_.coefficients[cell].post_label);
        } else {
          Rows row = {};
          row.x = row.grad = logits;
          row.count = 1;
          row.V = n_;
          row.labels = &label;
          row.stats = stats_.From(cell);
          row.coefficients = gradients_.coefficients.From(cell);
          row.dloss = &dloss;
          sides_.Form(Frame(t), Step(u), first_, n_, logits);
          CurrentLevel().row_grad[kFloat32](row, options);
          for (int64_t k = 0; k < n_; ++k) of_frame[k] += logits[k];
          for (int64_t k = 0; k < n_; ++k) of_step[k] += logits[k];
        }
      }
    }
  }

 private:
  int64_t Frame(int64_t t) const { return b_ * T_ + t; }
  int64_t Step(int64_t u) const { return b_ * U1_ + u; }
  // A class as one of these n, or none.
  int32_t Within(int32_t k) const {
    return k >= first_ && k < first_ + n_ ? static_cast<int32_t>(k - first_) : kNoLabelArc;
  }
  // NaN of the other side does not reach padding.
  void Multiply(float* gradient, const float* exps, int32_t label) const {
    for (int64_t k = 0; k < n_; ++k) gradient[k] = label == kNoCell ? 0.0f : gradient[k] * exps[k];
  }

  const Sides& sides_;
  const SimpleGradients& gradients_;
  Records<Stats> stats_;
  int64_t b_, first_, n_, V_, T_, U1_;
  float *dam_, *dlm_;
};

}  // namespace

void SimpleGrad(const SimpleJoiner& j, const SimpleGradients& gradients) {
  constexpr int64_t kClasses = PartOfGradient::kMost;
  const Sides sides(j);
  const int64_t parts = (j.V + kClasses - 1) / kClasses, cells = j.B * j.max_t * j.max_u1;
  std::vector<float> weights(cells);
  for (int64_t cell = 0; cell < cells; ++cell) {
    const int64_t t = cell / j.max_u1, b = t / j.max_t, u = b * j.max_u1 + cell % j.max_u1;
    const float occupation = gradients.coefficients[cell].occupation;
    if (occupation != 0.0f && sides.Label(t, u) != kNoCell &&
        IsFromProduct(j.stats[cell].row_max, sides.Max(t, u))) {
      weights[cell] = occupation / j.stats[cell].row_sum * gradients.dloss[b];
    }
  }
  // A task has some classes of a sample. So it alone writes their gradients, and sums over frames
  // and steps have the same order whatever the threads.
  ParallelFor(j.B * parts, cells * (j.V + 50) / 8, [&](int64_t task) {
    const int64_t b = task / parts, first = task % parts * kClasses;
    const PartOfGradient part(j, sides, gradients, b, first);
    part.Clear();
    if (gradients.dloss[b] == 0.0f) return;  // it drops a sample, NaN or not
    part.AddProducts(weights.data() + b * j.max_t * j.max_u1);
    part.AddArcs();
  });
}

}  // namespace rnnt
