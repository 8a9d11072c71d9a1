// SPDX-License-Identifier: Apache-2.0
// The lattice of one sample, stored by anti-diagonals.
//
// Diagonal d holds the cells with t + u = d, so that the recursions run along contiguous memory.
// Cell (d - u, u) is at start[d] + u. A guard cell of log-prob -inf lies between two diagonals.
// Behind the last diagonal, d = T + U holds one cell: (T, U), the target of the final blank arc.
#ifndef MINDSPORE_RNNT_CPU_SAMPLE_LATTICE_H_
#define MINDSPORE_RNNT_CPU_SAMPLE_LATTICE_H_

#include <cstdint>

namespace rnnt {

struct SampleLattice {
  int64_t T, U;
  const int64_t *start;     // [T + U + 1]
  double *blank, *label;    // log-probs of the two arcs that leave a cell
  double *alpha, *beta;     // log alpha, log beta
  int64_t row, row_stride;  // the row of cell (t, u) is row + t * row_stride + u

  int64_t diagonals() const { return T + U; }
  // The cells of diagonal d have low(d) <= u <= high(d).
  int64_t low(int64_t d) const { return d < T ? 0 : d - T + 1; }
  int64_t high(int64_t d) const { return d < U ? d : U; }

  // visit(row) for each cell of diagonals [begin, end).
  template <class Visit>
  void ForEachRow(int64_t begin, int64_t end, const Visit &visit) const {
    for (int64_t d = begin; d < end; ++d) {
      for (int64_t u = low(d); u <= high(d); ++u) visit(row + (d - u) * row_stride + u);
    }
  }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SAMPLE_LATTICE_H_
