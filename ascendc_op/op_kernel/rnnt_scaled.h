// SPDX-License-Identifier: Apache-2.0
// Probabilities as mantissa * e^exponent, a vector of float32 for each of the two.
//
// An exponent is a multiple of 4, so that sums and differences of exponents are exact up to
// kExactExponent. Mantissas are multiplied and added: no logarithm is taken, and nothing cancels.
// In one float32, log P = -1e5 would leave two digits to the posteriors.
#ifndef MINDSPORE_RNNT_RNNT_SCALED_H_
#define MINDSPORE_RNNT_RNNT_SCALED_H_

#include "rnnt_vector.h"

namespace rnnt {

constexpr float kExactExponent = 67108864.0f;  // 2^24 * 4
// x + kToExponent - kToExponent is x as a multiple of 4, the ulp of floats from 2^25 to 2^26.
constexpr float kToExponent = 50331648.0f;

struct Scaled {
  LocalTensor<float> exponent, mantissa;

  RNNT_FN Scaled From(int32_t lane) const { return {exponent[lane], mantissa[lane]}; }
};

// out = e^log_p / row_sum, from log_p = x - row_max and log_sum = log row_sum. A log_p of -inf has
// the exponent kLogZero. A NaN in log_sum makes the mantissa NaN; so does a log_p of NaN or +inf if
// `check` is true. Multiplications and additions hand a mantissa's NaN on: no Max or Min has to.
RNNT_FN void ToScaled(const Scaled& out, const LocalTensor<float>& log_p,
                      const LocalTensor<float>& log_sum, const LocalTensor<float>& work, int32_t n,
                      bool check) {
  Maxs(work, log_p, kLogZero, n);
  Fence();
  if (check) {
    Sub(log_p, log_p, work, n);  // 0, -inf, or NaN
    Fence();
    Exp(log_p, log_p, n);  // 1, 0, or NaN
    Fence();
    Muls(log_p, log_p, 0.0f, n);
  }
  Sub(work, work, log_sum, n);
  Fence();
  Adds(out.exponent, work, kToExponent, n);
  Fence();
  Adds(out.exponent, out.exponent, -kToExponent, n);
  Fence();
  Sub(work, work, out.exponent, n);
  Fence();
  Exp(out.mantissa, work, n);
  Fence();
  if (!check) return;
  Add(out.mantissa, out.mantissa, log_p, n);
  Fence();
}

// Takes the mantissas back to e^-2 .. e^2.
RNNT_FN void Normalise(const Scaled& x, const LocalTensor<float>& work, int32_t n) {
  Ln(work, x.mantissa, n);
  Fence();
  Adds(work, work, kToExponent, n);
  Fence();
  Adds(work, work, -kToExponent, n);
  Fence();
  Add(x.exponent, x.exponent, work, n);
  Fence();
  Muls(work, work, -1.0f, n);
  Fence();
  Exp(work, work, n);
  Fence();
  Mul(x.mantissa, x.mantissa, work, n);
  Fence();
}

RNNT_FN void Multiply(const Scaled& out, const Scaled& a, const Scaled& b, int32_t n) {
  Add(out.exponent, a.exponent, b.exponent, n);
  Mul(out.mantissa, a.mantissa, b.mantissa, n);
}

// out = a + b, relative to the larger exponent. b's mantissas lie n lanes behind those of a, so that
// one instruction works on both; `work` has 2 n lanes. out may not be a or b.
RNNT_FN void AddScaled(const Scaled& out, const Scaled& a, const LocalTensor<float>& b_exponent,
                       const LocalTensor<float>& work, int32_t n) {
  Max(out.exponent, a.exponent, b_exponent, n);
  Fence();
  Sub(work, a.exponent, out.exponent, n);
  Sub(work[n], b_exponent, out.exponent, n);
  Fence();
  Exp(work, work, 2 * n);
  Fence();
  Mul(work, work, a.mantissa, 2 * n);
  Fence();
  Add(out.mantissa, work, work[n], n);
  Fence();
}

RNNT_FN void CopyScaled(const Scaled& out, const Scaled& x, int32_t n) {
  Adds(out.exponent, x.exponent, 0.0f, n);
  Adds(out.mantissa, x.mantissa, 0.0f, n);
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_SCALED_H_
