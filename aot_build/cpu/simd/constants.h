// SPDX-License-Identifier: Apache-2.0
// Infinities, NaN and initial values of the kernels.
#ifndef MINDSPORE_RNNT_CPU_SIMD_CONSTANTS_H_
#define MINDSPORE_RNNT_CPU_SIMD_CONSTANTS_H_

#include <cfloat>
#include <cmath>

#include "../dtype.h"

namespace rnnt {

constexpr float kInfinity = INFINITY, kNaN = NAN, kLowest = -FLT_MAX;

template <class T>
inline constexpr T kMinusInfinity = {};
template <>
inline constexpr float kMinusInfinity<float> = -INFINITY;
template <>
inline constexpr Half kMinusInfinity<Half> = {0xFC00};
template <>
inline constexpr BFloat16 kMinusInfinity<BFloat16> = {0xFF80};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_CONSTANTS_H_
