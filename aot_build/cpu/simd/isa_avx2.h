// SPDX-License-Identifier: Apache-2.0
#ifndef MINDSPORE_RNNT_CPU_SIMD_ISA_AVX2_H_
#define MINDSPORE_RNNT_CPU_SIMD_ISA_AVX2_H_

#include <immintrin.h>

#include "isa_portable.h"

namespace rnnt {

struct Avx2 : GenericIsa<Avx2, 32> {
  static F Fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static D Fma(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
  static F Max(F a, F b) { return _mm256_max_ps(a, b); }
  static D Max(D a, D b) { return _mm256_max_pd(a, b); }
  static F Min(F a, F b) { return _mm256_min_ps(a, b); }
  static D Min(D a, D b) { return _mm256_min_pd(a, b); }

  using GenericIsa::Load;
  using GenericIsa::LoadPart;
  using GenericIsa::Store;
  using GenericIsa::StorePart;

  static F Load(const Half* x) { return _mm256_cvtph_ps(LoadAs<__m128i>(x)); }
  static void Store(Half* x, F v) { StoreAs(x, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)); }

  static F LoadPart(const float* x, int64_t n, float fill) {
    const I lanes = Iota() < Set(static_cast<int32_t>(n));
    return lanes ? (F)_mm256_maskload_ps(x, (__m256i)lanes) : Set(fill);
  }
  static void StorePart(float* x, int64_t n, F v) {
    const I lanes = Iota() < Set(static_cast<int32_t>(n));
    _mm256_maskstore_ps(x, (__m256i)lanes, v);
  }

  static void Stream(float* x, F v) { _mm256_stream_ps(x, v); }
  static void Stream(Half* x, F v) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(x), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  static void Stream(BFloat16* x, F v) {
    BFloat16 lanes[kFloats];
    Store(lanes, v);
    _mm_stream_si128(reinterpret_cast<__m128i*>(x), LoadAs<__m128i>(lanes));
  }
  static void StreamFence() { _mm_sfence(); }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ISA_AVX2_H_
