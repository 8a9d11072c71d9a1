// SPDX-License-Identifier: Apache-2.0
// The gap of a logit: (x - row_max) / temperature, at most 0.
#ifndef MINDSPORE_RNNT_CPU_SIMD_GAP_H_
#define MINDSPORE_RNNT_CPU_SIMD_GAP_H_

namespace rnnt {

// kScaled is false for the temperature 1, which then costs no division.
template <class Isa, bool kScaled>
struct Gap {
  using F = typename Isa::F;
  float row_max, temperature;

  F operator()(F x) const {
    const F gap = x - row_max;
    if constexpr (kScaled) return gap / temperature;
    return gap;
  }
  float operator()(float x) const { return (*this)(Isa::Set(x))[0]; }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_GAP_H_
