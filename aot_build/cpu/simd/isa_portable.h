// SPDX-License-Identifier: Apache-2.0
// Vectors of kBytes bytes in the compiler's own vector extension: + - * /, comparisons and ?: work
// on them, whatever the instruction set. What the compiler cannot see by itself, an instruction set
// overrides (isa_avx2.h, ...).
//
// Every kernel is a template on one of these classes. As that makes its name unique to the level,
// the linker can never merge code built for AVX-512 into the portable level; kernels use no inline
// function of the standard library.
#ifndef MINDSPORE_RNNT_CPU_SIMD_ISA_PORTABLE_H_
#define MINDSPORE_RNNT_CPU_SIMD_ISA_PORTABLE_H_

#include <cstdint>
#include <cstring>

#include "../dtype.h"

namespace rnnt {

template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};

template <class Isa, int kBytes>
struct GenericIsa {
  static constexpr int kFloats = kBytes / 4;
  static constexpr int kDoubles = kBytes / 8;

  using F = typename VectorOf<float, kBytes>::type;
  using D = typename VectorOf<double, kBytes>::type;
  using I = typename VectorOf<int32_t, kBytes>::type;  // also the mask of a comparison of F
  using U = typename VectorOf<uint32_t, kBytes>::type;
  using U64 = typename VectorOf<uint64_t, kBytes>::type;
  using U16 = typename VectorOf<uint16_t, kBytes / 2>::type;

  static F Set(float x) { return x - F{}; }
  static D Set(double x) { return x - D{}; }
  static I Set(int32_t x) { return x - I{}; }

  static I Iota() {
    I lanes;
    for (int i = 0; i < kFloats; ++i) lanes[i] = i;
    return lanes;
  }

  static F Fma(F a, F b, F c) { return a * b + c; }
  static D Fma(D a, D b, D c) { return a * b + c; }

  // The second operand where either is NaN.
  template <class T>
  static T Max(T a, T b) {
    return a > b ? a : b;
  }
  template <class T>
  static T Min(T a, T b) {
    return a < b ? a : b;
  }

  // x in the lanes of the mask, 0 elsewhere.
  static F Where(I mask, F x) { return (F)((I)x & mask); }

  static float MaxOf(F x) {
    float best = x[0];
    for (int i = 1; i < kFloats; ++i) best = x[i] > best ? x[i] : best;
    return best;
  }
  static float SumOf(F x) {
    float lanes[kFloats];
    memcpy(lanes, &x, sizeof(x));
    for (int half = kFloats / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
  }

  template <class V, class T>
  static V LoadAs(const T* x) {
    V v;
    memcpy(&v, x, sizeof(v));
    return v;
  }
  template <class V, class T>
  static void StoreAs(T* x, V v) {
    memcpy(x, &v, sizeof(v));
  }

  static D Load(const double* x) { return LoadAs<D>(x); }
  static void Store(double* x, D v) { StoreAs(x, v); }

  static F Load(const float* x) { return LoadAs<F>(x); }
  static void Store(float* x, F v) { StoreAs(x, v); }

  static F Load(const BFloat16* x) { return (F)(__builtin_convertvector(LoadAs<U16>(x), U) << 16); }
  static void Store(BFloat16* x, F v) {
    const U bits = (U)v;
    const U rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;  // to nearest, ties to even
    const U nan = (bits >> 16) | 0x40;
    StoreAs(x, __builtin_convertvector(v == v ? rounded : nan, U16));
  }

  static F Load(const Half* x) {
    const U bits = __builtin_convertvector(LoadAs<U16>(x), U);
    // The exponent moves into place and is re-biased by a multiplication, which makes denormals
    // right, too.
    const F value = (F)((bits & 0x7FFF) << 13) * 0x1p112f;
    const U special = (bits & 0x7C00) == 0x7C00 ? U{} + 0x7F800000u : U{};
    return (F)((U)value | special | ((bits & 0x8000) << 16));
  }
  static void Store(Half* x, F v) {
    const U sign = (U)v & 0x80000000u;
    const U bits = (U)v ^ sign;
    // Below 2^-14: adding 0.5 lets the float unit round to a multiple of 2^-24, the unit of float16
    // denormals.
    const U denormal = (U)((F)bits + 0.5f) - 0x3F000000u;
    // Elsewhere: re-bias the exponent by -112, round to nearest even.
    const U normal = (bits - (112u << 23) + 0xFFF + ((bits >> 13) & 1)) >> 13;
    const U infinite = bits > 0x7F800000u ? U{} + 0x7E00u : U{} + 0x7C00u;
    const U finite = bits < 0x38800000u ? denormal : normal;
    StoreAs(x,
            __builtin_convertvector((bits >= 0x47800000u ? infinite : finite) | (sign >> 16), U16));
  }

  // The first n < kFloats lanes only; memory behind them is not touched.
  template <class T>
  static F LoadPart(const T* x, int64_t n, T fill) {
    T lanes[kFloats];
    for (int i = 0; i < kFloats; ++i) lanes[i] = i < n ? x[i] : fill;
    return Isa::Load(lanes);
  }
  template <class T>
  static void StorePart(T* x, int64_t n, F v) {
    T lanes[kFloats];
    Isa::Store(lanes, v);
    for (int i = 0; i < n; ++i) x[i] = lanes[i];
  }

  // A write around the caches; x is aligned to kFloats elements.
  template <class T>
  static void Stream(T* x, F v) {
    Isa::Store(x, v);
  }
  static void StreamFence() {}
};

struct Portable : GenericIsa<Portable, 16> {};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ISA_PORTABLE_H_
