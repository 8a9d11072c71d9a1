// SPDX-License-Identifier: Apache-2.0
// What the host decides from shapes alone: bytes of workspace and number of cores, for the phases
// that an operator runs. Plain C++11, shared by host, kernel and unit tests.
#ifndef MINDSPORE_RNNT_RNNT_SIZES_H_
#define MINDSPORE_RNNT_RNNT_SIZES_H_

#include "rnnt_geometry.h"
#include "rnnt_tiling.h"

enum RnntPhase {
  kRnntRowStats = 1,
  kRnntLattice = 2,
  kRnntRowGrad = 4,
  // The compositions, by operator.
  kRnntFusedPhases = kRnntRowStats | kRnntLattice | kRnntRowGrad,
  kRnntForwardPhases = kRnntRowStats | kRnntLattice,
  kRnntBackwardPhases = kRnntRowGrad
};

constexpr int32_t kRnntNoTargets = 0x7ffffffe;  // max_u of an operator without targets: any U fits
constexpr int32_t kRnntScaleGroup = 16;         // diagonals between two renormalisations
constexpr int32_t kRnntScaleFloats = 16;    // a group's scales: 8 equal lanes for alpha, 8 for beta
constexpr int32_t kRnntHeaderFloats = 128;  // per sample: what alpha's and beta's ends found
constexpr int32_t kRnntCellFloats =
    7;  // row_max, log_sum, lp_blank, lp_label, alpha, arc_blank, arc_label
constexpr int32_t kRnntCarryFloats =
    16;  // per diagonal, if several strips: 8 lanes for alpha, 8 for beta
constexpr int32_t kRnntAlignFloats = 128;  // regions start at 512 B, the line of the L2 cache

// Workspace of a sample in floats (rnnt_workspace.h says what is where).
RNNT_SHARED_FN int64_t RnntSampleFloats(int64_t T, int64_t U1) {
  const int64_t lanes = RnntLanes(T, U1), diagonals = T + U1 - 1;
  const int64_t strips = RnntStrips(lanes);
  const int64_t groups = diagonals / kRnntScaleGroup + 1;
  const int64_t carry = strips > 1 ? (diagonals + 1) * kRnntCarryFloats : 0;
  return RnntAlignUp(kRnntHeaderFloats + strips * groups * kRnntScaleFloats + carry +
                         kRnntCellFloats * diagonals * lanes,
                     kRnntAlignFloats);
}

// An upper bound, from shapes alone, of the sum of RnntSampleFloats over any legal lengths.
//   D <= T U1, so the diagonals of all samples are at most as many as their rows.
//   D lanes - T U1 = U U1 or T (T - 1), at most U U1; and at most T U1, or, where U1 > T >= 1024, T
//   U1 (U1 / T) with U1 / T <= rows / 1024^2.
RNNT_SHARED_FN int64_t RnntWorkspaceFloats(const RnntTiling& tiling) {
  const int64_t rows = tiling.rows;
  const int64_t samples = RnntMin(tiling.B, rows);
  const int64_t max_u =
      RnntMax(0, RnntMin(tiling.max_u, (tiling.padded != 0 ? tiling.max_u1 : rows) - 1));
  const int64_t tall = rows / (int64_t{kRnntStripLanes} * kRnntStripLanes);
  int64_t skew = rows * (1 + tall);
  if (max_u <= kRnntStripLanes) skew = RnntMin(skew, samples * max_u * (max_u + 1));
  const int64_t most_strips = RnntMin(RnntStrips(max_u + 1), 1 + tall);
  const int64_t scales = most_strips * (rows + samples * kRnntScaleGroup);
  const int64_t carry = most_strips > 1 ? (rows + samples) * kRnntCarryFloats : 0;
  return samples * (kRnntHeaderFloats + kRnntAlignFloats) + scales + carry +
         kRnntCellFloats * (rows + skew);
}

// Bytes of user workspace; operators without a lattice need none.
RNNT_SHARED_FN int64_t RnntWorkspaceBytes(const RnntTiling& tiling, int32_t phases) {
  return (phases & kRnntLattice) != 0
             ? RnntWorkspaceFloats(tiling) * static_cast<int64_t>(sizeof(float))
             : 0;
}

// Cores to start: enough for the lattice's 2 B tasks and for 64 KB of rows each, since every core
// costs launch time.
RNNT_SHARED_FN int32_t RnntCoreCount(const RnntTiling& tiling, int32_t phases,
                                     int32_t element_bytes, int32_t cores) {
  constexpr int64_t kBytesPerCore = 64 * 1024;
  const int64_t row_bytes =
      tiling.V > 0 ? static_cast<int64_t>(tiling.V) * element_bytes : 4 * sizeof(float);
  // Row by row, so that a product of large sizes cannot overflow.
  const int64_t rows_per_core = RnntMax(1, kBytesPerCore / row_bytes);
  int64_t wanted = (tiling.rows + rows_per_core - 1) / rows_per_core;
  if ((phases & kRnntLattice) != 0) {
    wanted = RnntMax(wanted, 2 * static_cast<int64_t>(tiling.B));
  }
  return static_cast<int32_t>(RnntMax(1, RnntMin(wanted, cores)));
}

#endif  // MINDSPORE_RNNT_RNNT_SIZES_H_
