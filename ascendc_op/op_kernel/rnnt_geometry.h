// SPDX-License-Identifier: Apache-2.0
// The diagonals of a sample: their lanes, their strips, and the rank of a cell.
//
// A sample with T frames, U labels and U1 = U + 1 has D = T + U diagonals d = t + u. The lanes of a
// diagonal are its cells, one float of a vector each; a strip is kRnntStripLanes of them.
//
// Plain C++11, shared by host, kernel and unit tests. The kernel defines RNNT_SHARED_FN as
// `__aicore__ inline` before it includes this file.
#ifndef MINDSPORE_RNNT_RNNT_GEOMETRY_H_
#define MINDSPORE_RNNT_RNNT_GEOMETRY_H_

#include <cstdint>

#ifndef RNNT_SHARED_FN
#define RNNT_SHARED_FN inline
#endif

// Lanes of a diagonal that the lattice holds in UB at once. Tests choose less, to have several
// strips in a small lattice.
#ifndef RNNT_STRIP_LANES
#define RNNT_STRIP_LANES 1024
#endif
constexpr int32_t kRnntStripLanes = RNNT_STRIP_LANES;

RNNT_SHARED_FN int64_t RnntAlignUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
RNNT_SHARED_FN int64_t RnntMin(int64_t a, int64_t b) { return a < b ? a : b; }
RNNT_SHARED_FN int64_t RnntMax(int64_t a, int64_t b) { return a > b ? a : b; }

// A sample's diagonals have U1 lanes, w = U - u; or, if T is less, T + 1 lanes, w = t, of which the
// last one is that of (T, U), where the last blank leads. Either way the next lane is the next
// frame, and D diagonals have at most twice as many lanes as there are cells.
RNNT_SHARED_FN bool RnntByFrame(int64_t T, int64_t U1) { return T < U1; }
RNNT_SHARED_FN int64_t RnntLanes(int64_t T, int64_t U1) { return RnntByFrame(T, U1) ? T + 1 : U1; }

RNNT_SHARED_FN int64_t RnntStrips(int64_t lanes) {
  return (lanes + kRnntStripLanes - 1) / kRnntStripLanes;
}

// The cells of a diagonal are the lanes from the first to the last one.
RNNT_SHARED_FN int64_t RnntFirstLane(int64_t T, int64_t U1, int64_t d) {
  return RnntByFrame(T, U1) ? RnntMax(0, d - U1 + 1) : U1 - 1 - RnntMin(U1 - 1, d);
}
RNNT_SHARED_FN int64_t RnntLastLane(int64_t T, int64_t U1, int64_t d) {
  return RnntByFrame(T, U1) ? RnntMin(T - 1, d) : U1 - 1 - RnntMax(0, d - T + 1);
}

// Cells on the diagonals before d: they grow by 1 up to the shorter side m, stay at m, and shrink.
RNNT_SHARED_FN int64_t RnntCellsBefore(int64_t T, int64_t U1, int64_t d) {
  const int64_t m = RnntMin(T, U1), longer = RnntMax(T, U1);
  if (d <= m) return d * (d + 1) / 2;
  if (d <= longer) return m * (m + 1) / 2 + (d - m) * m;
  const int64_t left = T + U1 - 1 - d;
  return T * U1 - left * (left + 1) / 2;
}

// The diagonal of the cell with this rank in diagonal order.
RNNT_SHARED_FN int64_t RnntDiagonalOfRank(int64_t T, int64_t U1, int64_t rank) {
  int64_t low = 0, high = T + U1 - 2;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (RnntCellsBefore(T, U1, middle) <= rank) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

#endif  // MINDSPORE_RNNT_RNNT_GEOMETRY_H_
