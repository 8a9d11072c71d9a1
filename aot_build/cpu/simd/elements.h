// SPDX-License-Identifier: Apache-2.0
// Single elements, in the arithmetic of a level.
#ifndef MINDSPORE_RNNT_CPU_SIMD_ELEMENTS_H_
#define MINDSPORE_RNNT_CPU_SIMD_ELEMENTS_H_

#include <cfloat>
#include <cmath>

#include "../dtype.h"

namespace rnnt {

constexpr float kInfinity = INFINITY, kNaN = NAN, kLowest = -FLT_MAX;

template <class T>
constexpr T MinusInfinity();
template <>
constexpr float MinusInfinity<float>() {
  return -INFINITY;
}
template <>
constexpr Half MinusInfinity<Half>() {
  return {0xFC00};
}
template <>
constexpr BFloat16 MinusInfinity<BFloat16>() {
  return {0xFF80};
}

template <class Isa, class T>
float ToFloat(T x) {
  return Isa::LoadPart(&x, 1, x)[0];
}
template <class Isa>
float ToFloat(float x) {
  return x;
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ELEMENTS_H_
