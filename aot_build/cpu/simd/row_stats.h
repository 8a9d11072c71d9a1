// SPDX-License-Identifier: Apache-2.0
// Phase 1 on rows: row_max, row_sum and the gaps of blank and label. Each row is read from memory
// once.
#ifndef MINDSPORE_RNNT_CPU_SIMD_ROW_STATS_H_
#define MINDSPORE_RNNT_CPU_SIMD_ROW_STATS_H_

#include "../level.h"
#include "constants.h"
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

// The sum of exp(x - row_max) over x[0, n); meanwhile as much is fetched from x + ahead on.
template <class Isa, class T>
float ExpSum(const T* x, int64_t n, float row_max, int64_t ahead) {
  using F = typename Isa::F;
  constexpr int64_t kLanes = Isa::kFloats;
  F s0 = F{}, s1 = F{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    // Prefetch the next chunk or row while this one is computed: with this much arithmetic between
    // loads, no hardware prefetcher runs far enough ahead.
    __builtin_prefetch(x + ahead + i);
    if (kLanes * sizeof(T) > 32) __builtin_prefetch(x + ahead + i + kLanes);
    s0 += Exp<Isa>(Isa::Load(x + i) - row_max);
    s1 += Exp<Isa>(Isa::Load(x + i + kLanes) - row_max);
  }
  if (i + kLanes <= n) {
    s0 += Exp<Isa>(Isa::Load(x + i) - row_max);
    i += kLanes;
  }
  if (i < n) s1 += Exp<Isa>(Isa::LoadPart(x + i, n - i, kMinusInfinity<T>) - row_max);
  return Isa::SumOf(s0 + s1);
}

template <class Isa, class T>
Stats SoftmaxStats(const T* x, int64_t V, int32_t blank, int32_t label) {
  // A chunk fills half of a small L1 cache, so that its second read hits it.
  constexpr int64_t kChunk = 16384 / sizeof(T);
  // A piece is summed in float32, and pieces in float64: a float32 sum loses accuracy with its
  // length. One lane adds 32 numbers of a piece at avx512, 128 at portable.
  constexpr int64_t kPiece = 1024;
  float row_max = kLowest;
  double row_sum = 0.0;
  for (int64_t i = 0; i < V; i += kChunk) {
    const int64_t n = V - i < kChunk ? V - i : kChunk;
    const float old_max = row_max;
    row_max = RowMax<Isa>(x + i, n, old_max);
    if (i > 0) row_sum *= ExpDouble<Isa>(Isa::Set(static_cast<double>(old_max) - row_max))[0];
    for (int64_t j = 0; j < n; j += kPiece) {
      row_sum += ExpSum<Isa>(x + i + j, n - j < kPiece ? n - j : kPiece, row_max, n);
    }
  }
  if (!(row_sum > 0.0)) row_sum = kNaN;  // a row of -inf has no softmax
  return {row_max, static_cast<float>(row_sum), Isa::ToFloat(x[blank]) - row_max,
          label < 0 ? -kInfinity : Isa::ToFloat(x[label]) - row_max};
}

template <class Isa, class T>
Stats LogProbStats(const T* x, int32_t blank, int32_t label) {
  return {0.0f, 1.0f, Isa::ToFloat(x[blank]), label < 0 ? -kInfinity : Isa::ToFloat(x[label])};
}

template <class Isa, class T>
void RowStatsOf(const Rows& rows, const Options& options) {
  const T* x = static_cast<const T*>(rows.x);
  for (int64_t r = 0; r < rows.count; ++r, x += rows.V) {
    const int32_t label = rows.labels[r];
    if (options.blank < 0 || label < -1 ||
        label >= rows.V) {  // no such class: the sample has no loss
      rows.stats[r] = {kNaN, kNaN, kNaN, kNaN};
    } else if (options.fused_log_softmax) {
      rows.stats[r] = SoftmaxStats<Isa>(x, rows.V, options.blank, label);
    } else {
      rows.stats[r] = LogProbStats<Isa>(x, options.blank, label);
    }
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ROW_STATS_H_
