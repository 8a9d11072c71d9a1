// SPDX-License-Identifier: Apache-2.0
// Phase 3 on rows: one read of the logits, one write of the gradient.
//
//   g_k = exp((x_k - row_max) / temperature) * (occupation / row_sum)
//         - [k = blank] post_blank - [k = label] post_label
//
//   dlogits_k = clamp(g_k) * dloss
//
// With options.rest, the entries of blank and label have no first term: what would cancel in it,
// the caller has put into the coefficients.
#ifndef MINDSPORE_RNNT_CPU_SIMD_ROW_GRAD_H_
#define MINDSPORE_RNNT_CPU_SIMD_ROW_GRAD_H_

#include "../level.h"
#include "constants.h"
#include "gap.h"
#include "math.h"
#include "write_row.h"

namespace rnnt {

// g * upstream, where a gradient of exactly 0 stays 0. The upstream gradient of an impossible or
// invalid sample may be infinite or NaN, as its loss is, while its own gradient is 0.
template <class Isa>
struct Upstream {
  using F = typename Isa::F;
  float factor;
  bool finite = factor - factor == 0.0f;

  F operator()(F g) const { return finite ? g * factor : Isa::Where(g != F{}, g * factor); }
};

// From the softmax term of entries [k, k + kFloats) to their gradient.
template <class Isa>
struct RowFinish {
  using F = typename Isa::F;
  using I = typename Isa::I;
  int64_t blank, label;
  F post_blank, post_label, clamp;
  bool bounded, rest;
  Upstream<Isa> dloss;

  F operator()(F g, int64_t k) const {
    if (Holds(k, blank) || Holds(k, label)) {
      const I is_blank = Entries(k) == Isa::Set(static_cast<int32_t>(blank));
      const I is_label = Entries(k) == Isa::Set(static_cast<int32_t>(label));
      if (rest) g = Isa::Where(~(is_blank | is_label), g);
      g = g - Isa::Where(is_blank, post_blank);
      g = g - Isa::Where(is_label, post_label);
    }
    if (bounded) g = Isa::AtLeast(-clamp, Isa::AtMost(clamp, g));
    return dloss(g);  // NaN stays NaN
  }

  static bool Holds(int64_t k, int64_t entry) {
    return static_cast<uint64_t>(entry - k) < static_cast<uint64_t>(Isa::kFloats);
  }
  static I Entries(int64_t k) { return Isa::Iota() + static_cast<int32_t>(k); }
};

template <class Isa, bool kScaled, class T>
void RowGradBy(const Rows& rows, const Options& options) {
  using F = typename Isa::F;
  const T* x = static_cast<const T*>(rows.x);
  T* y = static_cast<T*>(rows.grad);
  for (int64_t r = 0; r < rows.count; ++r, x += rows.V, y += rows.V) {
    const float dloss = rows.dloss[r * rows.dloss_stride] + 0.0f;  // never -0
    const bool zero = dloss == 0.0f || rows.labels[r] == kNoCell;
    const Coefficients c = zero ? Coefficients{} : rows.coefficients[r];
    const RowFinish<Isa> finish = {options.blank,
                                   rows.labels[r],
                                   Isa::Set(c.post_blank),
                                   Isa::Set(c.post_label),
                                   Isa::Set(options.clamp),
                                   options.clamp < kInfinity,
                                   options.rest,
                                   {dloss}};
    if (options.fused_log_softmax && c.occupation != 0.0f) {
      const Stats s = rows.stats[r];
      const Gap<Isa, kScaled> gap = {s.row_max, options.temperature};
      const float scale = c.occupation / s.row_sum;
      const auto softmax = [=](F v) { return Exp<Isa>(gap(v)) * scale; };
      WriteRow<Isa>(
          y, rows.V, rows.stream, [=](int64_t k) { return finish(softmax(Isa::Load(x + k)), k); },
          [=](int64_t k, int64_t n) {
            return finish(softmax(Isa::LoadPart(x + k, n, kMinusInfinity<T>)), k);
          });
    } else {                                         // no softmax term, so x is not read
      const F none = Isa::Set(c.occupation * 0.0f);  // NaN for a sample that has no loss
      WriteRow<Isa>(
          y, rows.V, rows.stream, [=](int64_t k) { return finish(none, k); },
          [=](int64_t k, int64_t) { return finish(none, k); });
    }
  }
  if (rows.stream) Isa::StreamFence();
}

template <class Isa, class T>
void RowGradOf(const Rows& rows, const Options& options) {
  return options.temperature == 1.0f ? RowGradBy<Isa, false, T>(rows, options)
                                     : RowGradBy<Isa, true, T>(rows, options);
}

// y = x * factor; zeros if factor is 0, whatever x holds, and where x is 0.
template <class Isa, class T>
void ScaleOf(const void* from, float factor, void* to, int64_t count, bool stream) {
  using F = typename Isa::F;
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  if (factor == 0.0f) {
    WriteRow<Isa>(
        y, count, stream, [](int64_t) { return F{}; }, [](int64_t, int64_t) { return F{}; });
  } else {
    const Upstream<Isa> times = {factor};
    WriteRow<Isa>(
        y, count, stream, [=](int64_t i) { return times(Isa::Load(x + i)); },
        [=](int64_t i, int64_t n) { return times(Isa::LoadPart(x + i, n, T{})); });
  }
  if (stream) Isa::StreamFence();
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ROW_GRAD_H_
