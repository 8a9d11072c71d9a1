// SPDX-License-Identifier: Apache-2.0
// The two matrix products of the simple joiner. A tile of sums stays in registers.
#ifndef MINDSPORE_RNNT_CPU_SIMD_PRODUCTS_H_
#define MINDSPORE_RNNT_CPU_SIMD_PRODUCTS_H_

#include "../level.h"

namespace rnnt {

// sums[i, j] += x[i] . y[j]. A tile is 4 rows of x and 2 of y; where fewer are left, it repeats the
// last one and drops the sum.
template <class Isa>
void AddDots(const FloatRows& x, const FloatRows& y, int64_t n, double* sums, int64_t stride) {
  using F = typename Isa::F;
  for (int64_t i = 0; i < x.count; i += 4) {
    const float* const a[4] = {x.Row(i), x.Row(i + 1), x.Row(i + 2), x.Row(i + 3)};
    for (int64_t j = 0; j < y.count; j += 2) {
      const float* const b[2] = {y.Row(j), y.Row(j + 1)};
      F s[4][2] = {};
      const auto add = [&](const auto& load) {
        const F b0 = load(b[0]), b1 = load(b[1]);
        for (int r = 0; r < 4; ++r) {
          const F ar = load(a[r]);
          s[r][0] = Isa::Fma(ar, b0, s[r][0]);
          s[r][1] = Isa::Fma(ar, b1, s[r][1]);
        }
      };
      int64_t k = 0;
      for (; k + Isa::kFloats <= n; k += Isa::kFloats) {
        add([=](const float* row) { return Isa::Load(row + k); });
      }
      if (k < n) add([=](const float* row) { return Isa::LoadPart(row + k, n - k, 0.0f); });
      for (int r = 0; r < 4 && i + r < x.count; ++r) {
        for (int c = 0; c < 2 && j + c < y.count; ++c) {
          sums[(i + r) * stride + j + c] += Isa::SumOf(s[r][c]);
        }
      }
    }
  }
}

// y[i] += sum_j w(i, j) x[j] for `count` rows of y. A tile is 8 rows, one vector wide.
template <class Isa>
void AddCombined(const Weights& w, const FloatRows& x, int64_t n, float* y, int64_t y_stride,
                 int64_t count) {
  using F = typename Isa::F;
  for (int64_t i = 0; i < count; i += 8) {
    const int rows = static_cast<int>(count - i < 8 ? count - i : 8);
    const float* weights[8];
    float* out[8];
    for (int r = 0; r < 8; ++r) {
      const int64_t row = i + (r < rows ? r : rows - 1);
      weights[r] = w.data + row * w.row_stride;
      out[r] = y + row * y_stride;
    }
    const auto sum = [&](const auto& load, const auto& store) {
      F s[8];
      for (int r = 0; r < 8; ++r) s[r] = load(out[r]);
      for (int64_t j = 0; j < x.count; ++j) {
        const F xj = load(x.Row(j));
        for (int r = 0; r < 8; ++r)
          s[r] = Isa::Fma(Isa::Set(weights[r][j * w.column_stride]), xj, s[r]);
      }
      for (int r = 0; r < rows; ++r) store(out[r], s[r]);
    };
    int64_t k = 0;
    for (; k + Isa::kFloats <= n; k += Isa::kFloats) {
      sum([=](const float* row) { return Isa::Load(row + k); },
          [=](float* row, F v) { Isa::Store(row + k, v); });
    }
    if (k < n) {
      sum([=](const float* row) { return Isa::LoadPart(row + k, n - k, 0.0f); },
          [=](float* row, F v) { Isa::StorePart(row + k, n - k, v); });
    }
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_PRODUCTS_H_
