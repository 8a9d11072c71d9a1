// SPDX-License-Identifier: Apache-2.0
// Vectors of AVX-512 (F, BW, DQ, VL) with FMA and F16C.
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

  // Bits from 4 up make the exponent field; the four below, j = n mod 16, give way to the mantissa
  // of 2^(j / 16).
  static constexpr int kPowers = 16;
  static F Power(U n) {
    constexpr F kPower = {0x1.0p0f,      0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f,
                          0x1.306fep0f,  0x1.3dea64p0f, 0x1.4bfdaep0f, 0x1.5ab07ep0f,
                          0x1.6a09e6p0f, 0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f,
                          0x1.ae89fap0f, 0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f};
    const U mantissa = (U)kPower - (127u << 23) - ((U)Iota() << 19);
    return (F)((n << 19) + (U)_mm512_permutexvar_epi32((__m512i)n, (__m512i)mantissa));
  }

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
