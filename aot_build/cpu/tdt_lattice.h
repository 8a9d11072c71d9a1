// SPDX-License-Identifier: Apache-2.0
// The lattice of one sample of a token-and-duration transducer: SampleLattice, where an arc also
// carries a duration and advances by as many frames. See simd/tdt_lattice.h for the recursions.
#ifndef MINDSPORE_RNNT_CPU_TDT_LATTICE_H_
#define MINDSPORE_RNNT_CPU_TDT_LATTICE_H_

#include "records.h"
#include "sample_lattice.h"

namespace rnnt {

struct TdtLattice {
  SampleLattice cells;
  int64_t D;                 // number of durations
  const int32_t* durations;  // [D], each at least 0
  // log P(duration i) - sigma of each cell: duration(i) is stored as the arrays of `cells` are.
  double* first_duration;
  int64_t duration_stride;

  double* duration(int64_t i) const { return first_duration + i * duration_stride; }
};

// The outputs of a lattice for each row.
struct TdtPosteriors {
  Records<Coefficients> coefficients;
  float* durations;  // (rows, D): posterior of each duration, label arcs times label_weight
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_TDT_LATTICE_H_
