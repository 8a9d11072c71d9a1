// SPDX-License-Identifier: Apache-2.0
// Vectors of kBytes bytes in the compiler's vector extension: + - * /, comparisons and ?: work on
// them for every instruction set. Where the compiler finds no good instructions, a class for one
// instruction set overrides a function (isa_avx2.h, ...).
//
// Every kernel is a template on one of these classes. Its name is then unique to the level, and the
// linker cannot merge code built for AVX-512 into the portable level. For the same reason kernels
// use no inline function of the standard library.
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

template <class T, int kBytes>
struct RawVector : VectorOf<uint16_t, kBytes / 2> {};
template <int kBytes>
struct RawVector<float, kBytes> : VectorOf<float, kBytes> {};

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

  static D IotaDouble() {
    D lanes;
    for (int i = 0; i < kDoubles; ++i) lanes[i] = i;
    return lanes;
  }

  static F Fma(F a, F b, F c) { return a * b + c; }
  static D Fma(D a, D b, D c) { return a * b + c; }

  // The second operand where the first is NaN.
  template <class T>
  static T Max(T a, T b) {
    return a > b ? a : b;
  }
  template <class T>
  static T Min(T a, T b) {
    return a < b ? a : b;
  }
  // NaN where x is NaN.
  template <class T>
  static T AtLeast(T bound, T x) {
    return Isa::Max(bound, x);
  }
  template <class T>
  static T AtMost(T bound, T x) {
    return Isa::Min(bound, x);
  }

  // Whether Fma writes its result over c, so that a constant c is copied first.
  static constexpr bool kFmaOverwritesAddend = false;

  // x in the lanes of the mask, 0 elsewhere.
  static F Where(I mask, F x) { return (F)((I)x & mask); }

  // 2^(n / kPowers - 127) for kPowers <= n < 255 kPowers, where more bits may stand above; 0 at
  // n = 0, and between them something below the smallest normal number.
  static constexpr int kPowers = 1;
  static F Power(U n) { return (F)(n << 23); }

  // Of all lanes: halves are combined until four lanes remain.
  static float MaxOf(F x) {
    const F4 m = Fold(x, [](auto a, auto b) { return a > b ? a : b; });
    const float m02 = m[0] > m[2] ? m[0] : m[2], m13 = m[1] > m[3] ? m[1] : m[3];
    return m02 > m13 ? m02 : m13;
  }
  static float SumOf(F x) {
    const F4 s = Fold(x, [](auto a, auto b) { return a + b; });
    return (s[0] + s[2]) + (s[1] + s[3]);
  }

  template <class V>
  static V LoadRaw(const void* x) {
    V v;
    memcpy(&v, x, sizeof(v));
    return v;
  }
  template <class V>
  static void StoreRaw(void* x, V v) {
    memcpy(x, &v, sizeof(v));
  }

  static D Load(const double* x) { return LoadRaw<D>(x); }
  static void Store(double* x, D v) { StoreRaw(x, v); }

  // Elements of rows: float, Half and BFloat16. Raw<T> is a vector of them as stored in memory.
  template <class T>
  using Raw = typename RawVector<T, kBytes>::type;

  template <class T>
  static F Load(const T* x) {
    return Isa::Widen(LoadRaw<Raw<T>>(x), T{});
  }
  template <class T>
  static void Store(T* x, F v) {
    StoreRaw(x, Isa::Narrow(v, T{}));
  }
  static float ToFloat(float x) { return x; }
  template <class T>
  static float ToFloat(T x) {
    return Isa::Widen(U16{x.bits}, T{})[0];
  }
  // The first n < kFloats lanes only; memory behind them is not touched.
  template <class T>
  static F LoadPart(const T* x, int64_t n, T fill) {
    return Isa::Widen(Isa::LoadRawPart(x, n, fill), T{});
  }
  template <class T>
  static void StorePart(T* x, int64_t n, F v) {
    Isa::StoreRawPart(x, n, Isa::Narrow(v, T{}));
  }
  // A write around the caches; x is aligned to kFloats elements.
  template <class T>
  static void Stream(T* x, F v) {
    Isa::StreamRaw(x, Isa::Narrow(v, T{}));
  }

  // From here on: functions that an instruction set may override.

  template <class T>
  static Raw<T> LoadRawPart(const T* x, int64_t n, T fill) {
    T lanes[kFloats];
    for (T& lane : lanes) lane = fill;
    CopyPart<kFloats / 2>(lanes, x, n);
    return LoadRaw<Raw<T>>(lanes);
  }
  template <class T>
  static void StoreRawPart(T* x, int64_t n, Raw<T> v) {
    T lanes[kFloats];
    StoreRaw(lanes, v);
    CopyPart<kFloats / 2>(x, lanes, n);
  }
  template <class V>
  static void StreamRaw(void* x, V v) {
    StoreRaw(x, v);
  }
  static void StreamFence() {}

  static U Widen(U16 v) { return __builtin_convertvector(v, U); }
  static U16 Narrow(U v) { return __builtin_convertvector(v, U16); }  // v < 2^16

  static F Widen(F v, float) { return v; }
  static F Narrow(F v, float) { return v; }

  static F Widen(U16 v, BFloat16) { return (F)(Isa::Widen(v) << 16); }
  static U16 Narrow(F v, BFloat16) {
    const U bits = (U)v;
    const U rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;  // to nearest, ties to even
    const U nan = (bits >> 16) | 0x40;
    return Isa::Narrow(v == v ? rounded : nan);
  }

  static F Widen(U16 v, Half) {
    const U bits = Isa::Widen(v);
    const U magnitude = bits & 0x7FFF;
    // The exponent moves into place and is re-biased by 112; that of infinities and NaN by as much
    // again. Denormals are small integers times 2^-24. No operand is a float32 denormal, which a
    // process may have told the processor to take for 0.
    const U rebias = magnitude >= 0x7C00 ? U{} + (224u << 23) : U{} + (112u << 23);
    const U normal = (magnitude << 13) + rebias;
    const U denormal = (U)(__builtin_convertvector((I)magnitude, F) * 0x1p-24f);
    return (F)((magnitude < 0x0400 ? denormal : normal) | ((bits & 0x8000) << 16));
  }
  static U16 Narrow(F v, Half) {
    const U sign = (U)v & 0x80000000u;
    const U bits = (U)v ^ sign;
    // Below 2^-14: adding 0.5 lets the float unit round to a multiple of 2^-24, the unit of float16
    // denormals.
    const U denormal = (U)((F)bits + 0.5f) - 0x3F000000u;
    // Elsewhere: re-bias the exponent by -112, round to nearest even.
    const U normal = (bits - (112u << 23) + 0xFFF + ((bits >> 13) & 1)) >> 13;
    const U infinite = bits > 0x7F800000u ? U{} + 0x7E00u : U{} + 0x7C00u;
    const U finite = bits < 0x38800000u ? denormal : normal;
    return Isa::Narrow((bits >= 0x47800000u ? infinite : finite) | (sign >> 16));
  }

 private:
  using F4 = typename VectorOf<float, 16>::type;

  template <class Combine>
  static F4 Fold(F4 x, Combine) {
    return x;
  }
  template <class V, class Combine>
  static F4 Fold(V x, Combine combine) {
    typename VectorOf<float, sizeof(V) / 2>::type halves[2];
    memcpy(halves, &x, sizeof(x));
    return Fold(combine(halves[0], halves[1]), combine);
  }

  // n < 2 * kSize elements in pieces of fixed size.
  template <int kSize, class T>
  static void CopyPart(T* to, const T* from, int64_t n) {
    if (n & kSize) {
      memcpy(to, from, kSize * sizeof(T));
      to += kSize;
      from += kSize;
    }
    if constexpr (kSize > 1) CopyPart<kSize / 2>(to, from, n);
  }
};

struct Portable : GenericIsa<Portable, 16> {};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ISA_PORTABLE_H_
