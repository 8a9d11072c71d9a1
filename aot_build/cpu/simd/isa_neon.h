// SPDX-License-Identifier: Apache-2.0
// Vectors of NEON of Armv8-A.
#ifndef MINDSPORE_RNNT_CPU_SIMD_ISA_NEON_H_
#define MINDSPORE_RNNT_CPU_SIMD_ISA_NEON_H_

#include <arm_neon.h>

#include "isa_portable.h"

namespace rnnt {

// Every Armv8-A processor has these instructions: no check at run time is needed.
struct Neon : GenericIsa<Neon, 16> {
  static F Fma(F a, F b, F c) {
    return (F)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
  }
  static D Fma(D a, D b, D c) {
    return (D)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
  }

  static F Max(F a, F b) { return (F)vmaxnmq_f32((float32x4_t)a, (float32x4_t)b); }
  static D Max(D a, D b) { return (D)vmaxnmq_f64((float64x2_t)a, (float64x2_t)b); }
  static F Min(F a, F b) { return (F)vminnmq_f32((float32x4_t)a, (float32x4_t)b); }
  static D Min(D a, D b) { return (D)vminnmq_f64((float64x2_t)a, (float64x2_t)b); }
  static F AtLeast(F bound, F x) { return (F)vmaxq_f32((float32x4_t)bound, (float32x4_t)x); }
  static F AtMost(F bound, F x) { return (F)vminq_f32((float32x4_t)bound, (float32x4_t)x); }

  static constexpr bool kFmaOverwritesAddend = true;

  using GenericIsa::Narrow;
  using GenericIsa::Widen;

  static U Widen(U16 v) { return (U)vmovl_u16((uint16x4_t)v); }
  static U16 Narrow(U v) { return (U16)vmovn_u32((uint32x4_t)v); }
  static F Widen(U16 v, BFloat16) { return (F)vshll_n_u16((uint16x4_t)v, 16); }
  static F Widen(U16 v, Half) { return (F)vcvt_f32_f16((float16x4_t)v); }
  static U16 Narrow(F v, Half) { return (U16)vcvt_f16_f32((float32x4_t)v); }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_ISA_NEON_H_
