// SPDX-License-Identifier: Apache-2.0
// row_stats and row_grad of a duration head, whose rows are short and have as many arcs as entries:
//
//   log P(d) = x_d - row_max - log(row_sum)
//   g_d = exp(x_d - row_max) / row_sum * occupation - post_d,   dlogits_d = clamp(g_d) * dloss
//
// with post_d the posterior of both arcs of duration d.
#ifndef MINDSPORE_RNNT_CPU_SIMD_DURATION_HEAD_H_
#define MINDSPORE_RNNT_CPU_SIMD_DURATION_HEAD_H_

#include "row_grad.h"
#include "row_stats.h"

namespace rnnt {

template <class Isa, class T>
Stats DurationStats(const T* x, int64_t D) {
  Options plain = {};
  return SoftmaxStats<Isa, false>(x, D, kNoLabelArc, plain);
}

template <class Isa, class T>
void DurationLogProbsOf(const DurationRows& rows) {
  const T* x = static_cast<const T*>(rows.x);
  float* log_probs = rows.log_probs;
  for (int64_t r = 0; r < rows.count; ++r, x += rows.D, log_probs += rows.D) {
    if (rows.labels[r] == kNoCell) {
      for (int64_t d = 0; d < rows.D; ++d) log_probs[d] = 0.0f;
      continue;
    }
    const Stats s = DurationStats<Isa>(x, rows.D);
    const double sum = s.row_sum, log_sum = Log<Isa>(Isa::Set(sum))[0] + (sum - sum);
    for (int64_t d = 0; d < rows.D; ++d) {
      const double gap = static_cast<double>(Isa::ToFloat(x[d])) - s.row_max;
      log_probs[d] = static_cast<float>(gap - log_sum);  // NaN if any entry is
    }
  }
}

template <class Isa, class T>
void DurationGradOf(const DurationRows& rows) {
  using F = typename Isa::F;
  const T* x = static_cast<const T*>(rows.x);
  T* y = static_cast<T*>(rows.grad);
  const float* posteriors = rows.posteriors;
  const F clamp = Isa::Set(rows.clamp);
  for (int64_t r = 0; r < rows.count; ++r, x += rows.D, y += rows.D, posteriors += rows.D) {
    const float dloss = rows.dloss[r] + 0.0f;  // never -0
    if (dloss == 0.0f || rows.labels[r] == kNoCell) {
      const auto zero = [](auto...) { return F{}; };
      WriteRow<Isa>(y, rows.D, false, zero, zero);
      continue;
    }
    const float occupation = rows.coefficients[r].occupation;
    const Stats s = occupation != 0.0f ? DurationStats<Isa>(x, rows.D) : Stats{0, 1, 0, 0};
    const float scale = occupation / s.row_sum;
    const Upstream<Isa> upstream = {dloss};
    const auto finish = [=](F logits, F post) {
      const F softmax = occupation != 0.0f ? Exp<Isa>(logits - s.row_max) * scale : F{};
      F g = softmax - post;
      if (rows.clamp < kInfinity) g = Isa::AtLeast(-clamp, Isa::AtMost(clamp, g));
      return upstream(g);
    };
    WriteRow<Isa>(
        y, rows.D, false,
        [=](int64_t d) { return finish(Isa::Load(x + d), Isa::Load(posteriors + d)); },
        [=](int64_t d, int64_t n) {
          return finish(Isa::LoadPart(x + d, n, kMinusInfinity<T>),
                        Isa::LoadPart(posteriors + d, n, 0.0f));
        });
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_DURATION_HEAD_H_
