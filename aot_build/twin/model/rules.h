// SPDX-License-Identifier: Apache-2.0
// What instructions compute where the public documentation leaves it open, or says it on one page
// only. Each rule is an option of the twin; ascendc_op/README.md has the table. 0 is the documented or
// IEEE 754 answer.
#ifndef TWIN_MODEL_RULES_H_
#define TWIN_MODEL_RULES_H_

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace twin {

struct Rules {
  int64_t nan_max = 0;    // Max, Min and their relatives: 0 NaN, 1 the number, 2 the second operand
  int64_t ln_zero = 0;    // Ln(0): 0 -inf, 1 NaN
  int64_t flush = 0;      // 1: subnormal operands and results are 0
  int64_t saturate = 0;   // Cast to half and bfloat16: 1 makes NaN 0 and inf the largest number
  int64_t ulp_noise = 0;  // Exp and Ln are off by up to this many ulp
  int64_t reduce_order = 0;  // sums of a repeat or block: 0 tree, 1 one by one
};

extern Rules g_rules;

template <typename T>
T MaxOf(T a, T b) {
  const bool greater = a > b;
  if (g_rules.nan_max == 0) return a != a ? a : b != b ? b : greater ? a : b;
  if (g_rules.nan_max == 1) return b != b || greater ? a : b;
  return greater ? a : b;
}
template <typename T>
T MinOf(T a, T b) {
  const bool less = a < b;
  if (g_rules.nan_max == 0) return a != a ? a : b != b ? b : less ? a : b;
  if (g_rules.nan_max == 1) return b != b || less ? a : b;
  return less ? a : b;
}

inline float Flush(float x) {
  return g_rules.flush != 0 && std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x;
}
inline float ExpOf(float x) { return Flush(std::exp(Flush(x))); }
inline float LnOf(float x) {
  const float value = Flush(x);
  if (value == 0.0f && g_rules.ln_zero == 1) return std::numeric_limits<float>::quiet_NaN();
  return Flush(std::log(value));
}

// A float on its way to a type whose largest number is `largest`.
inline float Saturate(float x, float largest) {
  if (g_rules.saturate == 0 || std::fabs(x) <= largest) return x;
  return x != x ? 0.0f : std::copysign(largest, x);
}

// Additions and multiplications follow `flush` by the host's own mode, as long as this lives.
class ArithmeticMode {
 public:
  ArithmeticMode() : saved_(Get()) {
    if (g_rules.flush != 0) Set(saved_ | kFlush);
  }
  ~ArithmeticMode() { Set(saved_); }
  ArithmeticMode(const ArithmeticMode&) = delete;
  ArithmeticMode& operator=(const ArithmeticMode&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kFlush = 0x8040;  // FTZ, DAZ
  static uint64_t Get() { return _mm_getcsr(); }
  static void Set(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#else
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FZ
  static uint64_t Get() {
    uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void Set(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#endif

  uint64_t saved_;
};

}  // namespace twin

#endif  // TWIN_MODEL_RULES_H_
