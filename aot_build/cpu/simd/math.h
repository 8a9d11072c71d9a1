// SPDX-License-Identifier: Apache-2.0
// exp in float32 for rows, exp and log in float64 for the lattice. Vector versions of the C library
// do not exist on all systems and differ between them, and its scalar double versions would bind
// the library to a recent glibc.
#ifndef MINDSPORE_RNNT_CPU_SIMD_MATH_H_
#define MINDSPORE_RNNT_CPU_SIMD_MATH_H_

#include <cstdint>

namespace rnnt {

// c[0] r^(N-1) + ... + c[N-1]
template <class Isa, class V, class Scalar, int N>
V Polynomial(const Scalar (&c)[N], V r) {
  V p = Isa::Set(c[0]);
  for (int i = 1; i < N; ++i) p = Isa::Fma(p, r, Isa::Set(c[i]));
  return p;
}

// Polynomial of degree 6 with c[5] = c[6] = 1, in an order with two constants to copy instead of six:
//   (1 + r) + r^2 ((c4 + c3 r) + r^2 ((c2 + c1 r) + c0 r^2))
template <class Isa>
typename Isa::F ExpPolynomial(const float (&c)[7], typename Isa::F r) {
  using F = typename Isa::F;
  const F r2 = r * r;
  const F low = Isa::Fma(r, Isa::Set(c[3]), Isa::Set(c[4]));
  const F high = Isa::Fma(r, Isa::Set(c[1]), Isa::Set(c[2]));
  return Isa::Fma(Isa::Fma(Isa::Fma(r2, Isa::Set(c[0]), high), r2, low), r2, r + 1.0f);
}

// exp(x) for x <= 0 (and up to 88): within 2 ulp; exactly 1 at 0 and 0 below -88.03; what lies
// below the smallest normal number is some number below it; NaN gives NaN.
//   x = n / K ln2 + r with |r| <= ln2 / 2K, exp(x) = 2^(n / K) p(r), p the minimax polynomial with
//   p(0) = 1. Where K = 16 powers of two fit a register (Isa::kPowers), degree 3 does, else 6.
template <class Isa>
typename Isa::F Exp(typename Isa::F x) {
  using F = typename Isa::F;
  using U = typename Isa::U;
  constexpr int K = Isa::kPowers;
  // Adding kRound rounds to an integer and leaves n + 127 K in the lowest bits. The floor of x
  // makes that 0, and thereby the power; it also keeps -inf from becoming NaN.
  constexpr float kRound = 0x1.8p23f + 127.0f * K, kFloor = -88.03f;
  constexpr float kLog2E = 0x1.715476p+0f * K, kLn2High = 0x1.62e4p-1f / K,
                  kLn2Low = 0x1.7f7d1cp-20f / K;
  constexpr float kDegree6[] = {0.0013788715f, 0.00836868491f, 0.0416688994f, 0.166665211f,
                                0.499999911f,  1.0f,           1.0f};
  constexpr float kDegree3[] = {0.166666667f, 0.500016212f, 1.0f, 1.0f};
  x = Isa::AtLeast(Isa::Set(kFloor), x);
  const F shifted = Isa::Fma(x, Isa::Set(kLog2E), Isa::Set(kRound));
  const F n = shifted - kRound;
  const F r = Isa::Fma(n, Isa::Set(-kLn2Low), Isa::Fma(n, Isa::Set(-kLn2High), x));
  F p;
  if constexpr (K == 16) {
    p = Polynomial<Isa>(kDegree3, r);
  } else if constexpr (Isa::kFmaOverwritesAddend) {
    p = ExpPolynomial<Isa>(kDegree6, r);
  } else {
    p = Polynomial<Isa>(kDegree6, r);
  }
  return p * Isa::Power((U)shifted);
}

// exp(x) for x <= 0 to 1e-14 relative; 0 from -709 down, and for NaN, which is what -inf - -inf is
// in LogAdd.
template <class Isa>
typename Isa::D ExpDouble(typename Isa::D x) {
  using D = typename Isa::D;
  using U64 = typename Isa::U64;
  constexpr double kRound = 0x1.8p52 + 1023.0, kFloor = -709.0;
  constexpr double kLog2E = 0x1.71547652b82fep+0, kLn2High = 0x1.62e42fefap-1,
                   kLn2Low = 0x1.cf79abc9e3b4p-40;
  x = Isa::Max(x, Isa::Set(kFloor));
  const D shifted = Isa::Fma(x, Isa::Set(kLog2E), Isa::Set(kRound));
  const D n = shifted - kRound;
  const D r = Isa::Fma(n, Isa::Set(-kLn2Low), Isa::Fma(n, Isa::Set(-kLn2High), x));
  constexpr double kTaylor[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                1.0 / 5040,     1.0 / 720,     1.0 / 120,    1.0 / 24,
                                1.0 / 6,        0.5,           1.0,          1.0};
  return Polynomial<Isa>(kTaylor, r) * (D)((U64)shifted << 52);
}

// log(1 + y) for 0 <= y <= 1 to 1e-15.
//   With 1 + y = 2^e z and z in [0.7, 1.42]: log z = 2 atanh(s), s = (z - 1) / (z + 1), |s| < 0.18.
template <class Isa>
typename Isa::D Log1p(typename Isa::D y) {
  using D = typename Isa::D;
  constexpr double kLn2 = 0x1.62e42fefa39efp-1, kSplit = 0.4142;
  const D zero = D{};
  const D w = y > kSplit ? (y - 1.0) * 0.5 : y;  // z - 1
  const D s = w / (w + 2.0);
  const D t = s * s;
  D p = Isa::Set(1.0 / 17);
  for (int k = 15; k >= 3; k -= 2) p = Isa::Fma(p, t, Isa::Set(1.0 / k));
  const D log_z = Isa::Fma(p * t, s + s, s + s);
  return log_z + (y > kSplit ? zero + kLn2 : zero);
}

// log(x) for finite x >= 1: exponent * ln2 + Log1p of the mantissa.
template <class Isa>
typename Isa::D Log(typename Isa::D x) {
  using D = typename Isa::D;
  using U64 = typename Isa::U64;
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr uint64_t kOne = 0x3FF0000000000000, kTwoTo52 = 0x4330000000000000;
  const U64 bits = (U64)x;
  const D exponent = (D)((bits >> 52) | kTwoTo52) - (0x1p52 + 1023.0);
  const D mantissa = (D)((bits & 0x000FFFFFFFFFFFFF) | kOne);
  return Isa::Fma(exponent, Isa::Set(kLn2), Log1p<Isa>(mantissa - 1.0));
}

// log(exp(a) + exp(b)); -inf if both are.
template <class Isa>
typename Isa::D LogAdd(typename Isa::D a, typename Isa::D b) {
  const typename Isa::D larger = Isa::Max(a, b);
  return larger + Log1p<Isa>(ExpDouble<Isa>(Isa::Min(a, b) - larger));
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_MATH_H_
