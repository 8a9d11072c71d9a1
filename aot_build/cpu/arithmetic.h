// SPDX-License-Identifier: Apache-2.0
// IEEE arithmetic in the scope of an object, whatever its thread is set to.
//
// Frameworks set the threads that call an operator to flush denormals to zero. (MindSpore does in
// graphs with dynamic shapes.) The threads of threads.cc are not set so: without this, the bits of a
// gradient would depend on the thread that computes its row.
#ifndef MINDSPORE_RNNT_CPU_ARITHMETIC_H_
#define MINDSPORE_RNNT_CPU_ARITHMETIC_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace rnnt {

#if defined(__x86_64__)
class IeeeArithmetic {
 public:
  IeeeArithmetic() { _mm_setcsr(0x1F80); }  // round to nearest, denormals stay, no traps
  ~IeeeArithmetic() { _mm_setcsr(saved_); }

 private:
  const unsigned saved_ = _mm_getcsr();
};
#else
class IeeeArithmetic {
 public:
  IeeeArithmetic() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~IeeeArithmetic() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
};
#endif

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_ARITHMETIC_H_
