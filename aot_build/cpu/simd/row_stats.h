// SPDX-License-Identifier: Apache-2.0
// Phase 1 on rows: row_max, row_sum and the gaps of blank and label. Each row is read from memory
// once.
#ifndef MINDSPORE_RNNT_CPU_SIMD_ROW_STATS_H_
#define MINDSPORE_RNNT_CPU_SIMD_ROW_STATS_H_

#include "../level.h"
#include "constants.h"
#include "gap.h"
#include "math.h"

namespace rnnt {

// The maximum of `best` and x[0, n); NaN is skipped.
template <class Isa, class T>
float RowMax(const T* x, int64_t n, float best) {
  using F = typename Isa::F;
  constexpr int64_t kLanes = Isa::kFloats;
  F m0 = Isa::Set(best), m1 = m0, m2 = m0, m3 = m0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    m0 = Isa::Max(Isa::Load(x + i), m0);
    m1 = Isa::Max(Isa::Load(x + i + kLanes), m1);
    m2 = Isa::Max(Isa::Load(x + i + 2 * kLanes), m2);
    m3 = Isa::Max(Isa::Load(x + i + 3 * kLanes), m3);
  }
  for (; i + kLanes <= n; i += kLanes) m0 = Isa::Max(Isa::Load(x + i), m0);
  if (i < n) m1 = Isa::Max(Isa::LoadPart(x + i, n - i, kMinusInfinity<T>), m1);
  return Isa::MaxOf(Isa::Max(Isa::Max(m0, m1), Isa::Max(m2, m3)));
}

// The sum of exp(gap) over x[0, n); meanwhile as much is fetched from x + ahead on.
template <class Isa, class Gap, class T>
float ExpSum(const T* x, int64_t n, const Gap& gap, int64_t ahead) {
  using F = typename Isa::F;
  constexpr int64_t kLanes = Isa::kFloats;
  F s0 = F{}, s1 = F{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    // Prefetch the next chunk or row while this one is computed: with this much arithmetic between
    // loads, no hardware prefetcher runs far enough ahead.
    __builtin_prefetch(x + ahead + i);
    if (kLanes * sizeof(T) > 32) __builtin_prefetch(x + ahead + i + kLanes);
    s0 += Exp<Isa>(gap(Isa::Load(x + i)));
    s1 += Exp<Isa>(gap(Isa::Load(x + i + kLanes)));
  }
  if (i + kLanes <= n) {
    s0 += Exp<Isa>(gap(Isa::Load(x + i)));
    i += kLanes;
  }
  if (i < n) s1 += Exp<Isa>(gap(Isa::LoadPart(x + i, n - i, kMinusInfinity<T>)));
  return Isa::SumOf(s0 + s1);
}

// The same in pieces. A piece is summed in float32, and pieces in float64: a float32 sum loses
// accuracy with its length. One lane adds 32 numbers of a piece at avx512, 128 at portable.
template <class Isa, class Gap, class T>
double ExpSumInPieces(const T* x, int64_t n, const Gap& gap, int64_t ahead) {
  constexpr int64_t kPiece = 1024;
  double sum = 0.0;
  for (int64_t i = 0; i < n; i += kPiece) {
    sum += ExpSum<Isa>(x + i, n - i < kPiece ? n - i : kPiece, gap, ahead);
  }
  return sum;
}

// The same over x[begin, end) without the entries `blank` and `label`.
template <class Isa, class Gap, class T>
double RestSum(const T* x, int64_t begin, int64_t end, int32_t blank, int32_t label,
               const Gap& gap) {
  const int64_t ahead = end - begin;
  const int32_t skipped[] = {blank < label ? blank : label, blank < label ? label : blank};
  double sum = 0.0;
  for (const int32_t k : skipped) {
    if (k < begin || k >= end) continue;
    sum += ExpSumInPieces<Isa>(x + begin, k - begin, gap, ahead);
    begin = k + 1;
  }
  return sum + ExpSumInPieces<Isa>(x + begin, end - begin, gap, ahead);
}

// With options.rest, row_sum is the sum over the classes that are neither blank nor label.
template <class Isa, bool kScaled, class T>
Stats SoftmaxStats(const T* x, int64_t V, int32_t label, const Options& options) {
  // A chunk fills half of a small L1 cache, so that its second read hits it.
  constexpr int64_t kChunk = 16384 / sizeof(T);
  const int32_t blank = options.blank;
  Gap<Isa, kScaled> gap = {kLowest, options.temperature};
  double row_sum = 0.0;
  for (int64_t i = 0; i < V; i += kChunk) {
    const int64_t n = V - i < kChunk ? V - i : kChunk;
    const double old_max = gap.row_max;
    gap.row_max = RowMax<Isa>(x + i, n, gap.row_max);
    if (i > 0) row_sum *= ExpDouble<Isa>(Isa::Set((old_max - gap.row_max) / gap.temperature))[0];
    row_sum += options.rest ? RestSum<Isa>(x, i, i + n, blank, label, gap)
                            : ExpSumInPieces<Isa>(x + i, n, gap, n);
  }
  const float blank_gap = gap(Isa::ToFloat(x[blank]));
  const float label_gap = label < 0 ? -kInfinity : gap(Isa::ToFloat(x[label]));
  // A row of -inf has no softmax; else the gap of some class is 0.
  const bool has_softmax =
      row_sum > 0.0 || (options.rest && (blank_gap == 0.0f || label_gap == 0.0f));
  return {gap.row_max, has_softmax ? static_cast<float>(row_sum) : kNaN, blank_gap, label_gap};
}

template <class Isa, class T>
Stats LogProbStats(const T* x, int32_t blank, int32_t label) {
  return {0.0f, 1.0f, Isa::ToFloat(x[blank]), label < 0 ? -kInfinity : Isa::ToFloat(x[label])};
}

template <class Isa, class T>
void RowStatsOf(const Rows& rows, const Options& options) {
  const T* x = static_cast<const T*>(rows.x);
  const auto softmax_stats =
      options.temperature == 1.0f ? SoftmaxStats<Isa, false, T> : SoftmaxStats<Isa, true, T>;
  for (int64_t r = 0; r < rows.count; ++r, x += rows.V) {
    const int32_t label = rows.labels[r];
    if (label == kNoCell) {
      rows.stats[r] = {};
    } else if (options.blank < 0 || label < kNoLabelArc || label >= rows.V) {
      rows.stats[r] = {kNaN, kNaN, kNaN, kNaN};  // no such class: the sample has no loss
    } else if (options.fused_log_softmax) {
      rows.stats[r] = softmax_stats(x, rows.V, label, options);
    } else {
      rows.stats[r] = LogProbStats<Isa>(x, options.blank, label);
    }
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ROW_STATS_H_
