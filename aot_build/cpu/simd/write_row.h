// SPDX-License-Identifier: Apache-2.0
// Writing a row of results, through the caches or around them.
#ifndef MINDSPORE_RNNT_CPU_SIMD_WRITE_ROW_H_
#define MINDSPORE_RNNT_CPU_SIMD_WRITE_ROW_H_

#include <cstdint>

namespace rnnt {

// y[k] = value(k) for k in [begin, end), a vector at a time; part(k, n) gives the last n lanes.
template <class Isa, class T, class Value, class Part>
__attribute__((always_inline)) inline void WriteThroughCache(T* y, int64_t begin, int64_t end,
                                                             const Value& value, const Part& part) {
  int64_t k = begin;
  for (; k + Isa::kFloats <= end; k += Isa::kFloats) Isa::Store(y + k, value(k));
  if (k < end) Isa::StorePart(y + k, end - k, part(k, end - k));
}

// y[k] = value(k) for k in [0, V). With `stream`, whole cache lines are written around the caches.
// The stores of a line follow one another directly, so that the core writes the line at once.
template <class Isa, class T, class Value, class Part>
__attribute__((always_inline)) inline void WriteRow(T* y, int64_t V, bool stream,
                                                    const Value& value, const Part& part) {
  constexpr int64_t kLine = 64 / sizeof(T), kVectors = kLine / Isa::kFloats;
  int64_t k = 0;
  if (stream) {
    const int64_t to_line =
        -(reinterpret_cast<intptr_t>(y) / static_cast<int64_t>(sizeof(T))) & (kLine - 1);
    k = to_line < V ? to_line : V;
    // The next row begins in the last cache line of this one: stores to it would stall until the
    // line is loaded, and so would all later stores.
    if (reinterpret_cast<intptr_t>(y + V) % 64 != 0) __builtin_prefetch(y + V);
    WriteThroughCache<Isa>(y, 0, k, value, part);
    for (; k + kLine <= V; k += kLine) {
      typename Isa::F line[kVectors];
      for (int v = 0; v < kVectors; ++v) line[v] = value(k + v * Isa::kFloats);
      for (int v = 0; v < kVectors; ++v) Isa::Stream(y + k + v * Isa::kFloats, line[v]);
    }
  }
  WriteThroughCache<Isa>(y, k, V, value, part);
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_WRITE_ROW_H_
