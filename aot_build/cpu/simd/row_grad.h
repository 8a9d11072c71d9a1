// SPDX-License-Identifier: Apache-2.0
// Phase 3 on rows: one read of the logits, one write of the gradient.
//
//   g_k = exp(x_k - row_max) * (occupation / row_sum) - [k = blank] post_blank - [k = label]
//   post_label dlogits_k = clamp(g_k) * dloss
#ifndef MINDSPORE_RNNT_CPU_SIMD_ROW_GRAD_H_
#define MINDSPORE_RNNT_CPU_SIMD_ROW_GRAD_H_

#include "../level.h"
#include "elements.h"
#include "math.h"

namespace rnnt {

// What turns the softmax share of a gradient into the final entry.
template <class Isa>
struct RowFinish {
  using F = typename Isa::F;
  using I = typename Isa::I;
  I blank, label;
  F post_blank, post_label, clamp, dloss;

  F operator()(F g, I index) const {
    g = g - Isa::Where(index == blank, post_blank);
    g = g - Isa::Where(index == label, post_label);
    g = Isa::Max(-clamp, Isa::Min(clamp, g));  // NaN stays NaN
    return g * dloss;
  }
};

// y[i] = value(i) for i in [0, V). With `stream`, whole vectors are written around the caches; what
// lies before the first aligned address and behind the last is not.
template <class Isa, class T, class Value, class PartValue>
void WriteRow(T* y, int64_t V, bool stream, Value value, PartValue part_value) {
  constexpr int64_t kLanes = Isa::kFloats;
  int64_t i = 0;
  if (stream) {
    const int64_t past = reinterpret_cast<uintptr_t>(y) / sizeof(T) % kLanes;
    const int64_t head = past == 0 ? 0 : kLanes - past < V ? kLanes - past : V;
    if (head > 0) Isa::StorePart(y, head, part_value(0, head));
    for (i = head; i + kLanes <= V; i += kLanes) Isa::Stream(y + i, value(i));
  } else {
    for (; i + kLanes <= V; i += kLanes) Isa::Store(y + i, value(i));
  }
  if (i < V) Isa::StorePart(y + i, V - i, part_value(i, V - i));
}

template <class Isa, class T>
void RowGradOf(const Rows& rows, const Options& options) {
  using F = typename Isa::F;
  using I = typename Isa::I;
  const I iota = Isa::Iota();
  const auto index = [&](int64_t i) { return iota + static_cast<int32_t>(i); };
  const T* x = static_cast<const T*>(rows.x);
  T* y = static_cast<T*>(rows.grad);
  for (int64_t r = 0; r < rows.count; ++r, x += rows.V, y += rows.V) {
    const float dloss = rows.dloss[r * rows.dloss_stride] + 0.0f;  // never -0
    const Coefficients c = dloss == 0.0f ? Coefficients{} : rows.coefficients[r];
    const RowFinish<Isa> finish = {Isa::Set(options.blank), Isa::Set(rows.labels[r]),
                                   Isa::Set(c.post_blank),  Isa::Set(c.post_label),
                                   Isa::Set(options.clamp), Isa::Set(dloss)};
    if (options.fused_log_softmax && c.occupation != 0.0f) {
      const Stats s = rows.stats[r];
      const float row_max = s.row_max, scale = c.occupation / s.row_sum;
      const auto softmax = [=](F v) { return Exp<Isa>(v - row_max) * scale; };
      WriteRow<Isa>(
          y, rows.V, rows.stream,
          [&](int64_t i) { return finish(softmax(Isa::Load(x + i)), index(i)); },
          [&](int64_t i, int64_t n) {
            return finish(softmax(Isa::LoadPart(x + i, n, MinusInfinity<T>())), index(i));
          });
    } else {                                         // no softmax share, so x is not read
      const F base = Isa::Set(c.occupation * 0.0f);  // NaN for a sample that has no loss
      WriteRow<Isa>(
          y, rows.V, rows.stream, [&](int64_t i) { return finish(base, index(i)); },
          [&](int64_t i, int64_t) { return finish(base, index(i)); });
    }
  }
  if (rows.stream) Isa::StreamFence();
}

// y = x * factor; zeros if factor is 0, whatever x holds.
template <class Isa, class T>
void ScaleOf(const void* from, float factor, void* to, int64_t count, bool stream) {
  using F = typename Isa::F;
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  if (factor == 0.0f) {
    WriteRow<Isa>(
        y, count, stream, [](int64_t) { return F{}; }, [](int64_t, int64_t) { return F{}; });
  } else {
    WriteRow<Isa>(
        y, count, stream, [=](int64_t i) { return Isa::Load(x + i) * factor; },
        [=](int64_t i, int64_t n) { return Isa::LoadPart(x + i, n, T{}) * factor; });
  }
  if (stream) Isa::StreamFence();
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ROW_GRAD_H_
