// SPDX-License-Identifier: Apache-2.0
// Makes the table of kernels of one instruction set. Only level_*.cc include this.
#ifndef MINDSPORE_RNNT_CPU_SIMD_MAKE_LEVEL_H_
#define MINDSPORE_RNNT_CPU_SIMD_MAKE_LEVEL_H_

#include "divergence.h"
#include "duration_head.h"
#include "lattice.h"
#include "products.h"
#include "row_grad.h"
#include "row_stats.h"
#include "stream.h"
#include "tdt_lattice.h"

namespace rnnt {

template <class Isa>
constexpr Level MakeLevel(const char* name) {
  return {name,
          {RowStatsOf<Isa, float>, RowStatsOf<Isa, Half>, RowStatsOf<Isa, BFloat16>},
          {RowGradOf<Isa, float>, RowGradOf<Isa, Half>, RowGradOf<Isa, BFloat16>},
          {DurationLogProbsOf<Isa, float>, DurationLogProbsOf<Isa, Half>,
           DurationLogProbsOf<Isa, BFloat16>},
          {DurationGradOf<Isa, float>, DurationGradOf<Isa, Half>, DurationGradOf<Isa, BFloat16>},
          {ScaleOf<Isa, float>, ScaleOf<Isa, Half>, ScaleOf<Isa, BFloat16>},
          Arcs<Isa>,
          Alpha<Isa>,
          Beta<Isa>,
          Best<Isa>,
          CoefficientsOf<Isa>,
          TdtDurations<Isa>,
          TdtAlpha<Isa>,
          TdtBeta<Isa>,
          TdtPosteriorsOf<Isa>,
          AddDots<Isa>,
          AddCombined<Isa>,
          DivergenceOf<Isa>,
          Read<Isa>,
          Copy<Isa>};
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_MAKE_LEVEL_H_
