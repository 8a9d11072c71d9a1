// SPDX-License-Identifier: Apache-2.0
#ifndef MINDSPORE_RNNT_CPU_SIMD_ISA_AVX512_H_
#define MINDSPORE_RNNT_CPU_SIMD_ISA_AVX512_H_

#include <immintrin.h>

#include "isa_portable.h"

namespace rnnt {

struct Avx512 : GenericIsa<Avx512, 64> {
  static F Fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static D Fma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
  static F Max(F a, F b) { return _mm512_max_ps(a, b); }
  static D Max(D a, D b) { return _mm512_max_pd(a, b); }
  static F Min(F a, F b) { return _mm512_min_ps(a, b); }
  static D Min(D a, D b) { return _mm512_min_pd(a, b); }

  using GenericIsa::Narrow;
  using GenericIsa::Widen;

  static F LoadRawPart(const float* x, int64_t n, float fill) {
    return _mm512_mask_loadu_ps(Set(fill), First(n), x);
  }
  template <class T>  // 16 bits
  static U16 LoadRawPart(const T* x, int64_t n, T fill) {
    const __m256i rest = _mm256_set1_epi16(static_cast<int16_t>(fill.bits));
    return (U16)_mm256_mask_loadu_epi16(rest, First(n), x);
  }
  static void StoreRawPart(float* x, int64_t n, F v) { _mm512_mask_storeu_ps(x, First(n), v); }
  static void StoreRawPart(void* x, int64_t n, U16 v) {
    _mm256_mask_storeu_epi16(x, First(n), (__m256i)v);
  }

  static void StreamRaw(float* x, F v) { _mm512_stream_ps(x, v); }
  static void StreamRaw(void* x, U16 v) {
    _mm256_stream_si256(static_cast<__m256i*>(x), (__m256i)v);
  }

  static F Widen(U16 v, Half) { return _mm512_cvtph_ps((__m256i)v); }
  static U16 Narrow(F v, Half) { return (U16)_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }

  static void StreamFence() { _mm_sfence(); }

 private:
  static __mmask16 First(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ISA_AVX512_H_
