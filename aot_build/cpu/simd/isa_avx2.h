// SPDX-License-Identifier: Apache-2.0
// Vectors of AVX2 with FMA and F16C.
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

  using GenericIsa::Narrow;
  using GenericIsa::StoreRawPart;
  using GenericIsa::Widen;

  static F LoadRawPart(const float* x, int64_t n, float fill) {
    const I lanes = Iota() < Set(static_cast<int32_t>(n));
    return lanes ? (F)_mm256_maskload_ps(x, (__m256i)lanes) : Set(fill);
  }
  // 16 bits: a masked load of pairs, and the last element of an odd number. (Storing lanes one by
  // one and loading them as a vector would defeat store forwarding.)
  template <class T>
  static U16 LoadRawPart(const T* x, int64_t n, T fill) {
    const U16 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    const __m128i in_pairs =
        _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(n / 2)), _mm_setr_epi32(0, 1, 2, 3));
    const U16 pairs = (U16)_mm_maskload_epi32(reinterpret_cast<const int*>(x), in_pairs);
    const U16 last = x[n - 1].bits - U16{}, rest = fill.bits - U16{};
    const uint16_t count = static_cast<uint16_t>(n);
    return lanes + 1 == count ? last : (lanes < count ? pairs : rest);
  }
  static void StoreRawPart(float* x, int64_t n, F v) {
    const I lanes = Iota() < Set(static_cast<int32_t>(n));
    _mm256_maskstore_ps(x, (__m256i)lanes, v);
  }
  static void StreamRaw(float* x, F v) { _mm256_stream_ps(x, v); }
  static void StreamRaw(void* x, U16 v) { _mm_stream_si128(static_cast<__m128i*>(x), (__m128i)v); }

  static U Widen(U16 v) { return (U)_mm256_cvtepu16_epi32((__m128i)v); }
  static U16 Narrow(U v) {
    const __m256i bits = (__m256i)v;
    return (U16)_mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
  }
  static F Widen(U16 v, Half) { return _mm256_cvtph_ps((__m128i)v); }
  static U16 Narrow(F v, Half) { return (U16)_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }

  static void StreamFence() { _mm_sfence(); }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ISA_AVX2_H_
