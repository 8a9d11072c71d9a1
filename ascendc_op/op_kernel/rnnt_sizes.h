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
  kRnntDurations = 8,  // the lattice has them
  // The compositions, by operator.
  kRnntFusedPhases = kRnntRowStats | kRnntLattice | kRnntRowGrad,
  kRnntForwardPhases = kRnntRowStats | kRnntLattice,
  kRnntBackwardPhases = kRnntRowGrad,
  kRnntTdtPhases = kRnntLattice | kRnntDurations
};

constexpr int32_t kRnntNoTargets = 0x7ffffffe;  // max_u of an operator without targets: any U fits
constexpr int32_t kRnntHeaderFloats = 64;       // per sample: P from alpha and beta, labels
constexpr int32_t kRnntCellFloats = 12;         // stats 6, alpha 2, arcs 4
constexpr int32_t kRnntCarryFloats = 32;  // per diagonal, if several strips: 16 for alpha, for beta
constexpr int32_t kRnntAlignFloats = 128;  // regions start at 512 B, the line of the L2 cache

// Workspace of a sample in floats (rnnt_workspace.h says what is where).
RNNT_SHARED_FN int64_t RnntSampleFloats(int64_t T, int64_t U1) {
  const int64_t lanes = RnntLanes(T, U1), diagonals = T + U1 - 1;
  const int64_t carry = RnntStrips(lanes) > 1 ? diagonals * kRnntCarryFloats : 0;
  return RnntAlignUp(kRnntHeaderFloats + carry + kRnntCellFloats * diagonals * lanes,
                     kRnntAlignFloats);
}

// An upper bound, from shapes alone, of the sum of RnntSampleFloats over any legal lengths. It is
// linear in the rows.
//   D lanes - T U1 is U U1, or T^2 + U if T < U1: at most T U1, and at most U U1.
//   Several strips: the shorter side has at least kRnntStripLanes lanes, so D <= 2 T U1 / lanes.
RNNT_SHARED_FN int64_t RnntWorkspaceFloats(const RnntTiling& tiling) {
  const int64_t rows = tiling.rows;
  const int64_t samples = RnntMin(tiling.B, rows);
  const int64_t max_u =
      RnntMax(0, RnntMin(tiling.max_u, (tiling.padded != 0 ? tiling.max_u1 : rows) - 1));
  const bool narrow = max_u < kRnntStripLanes;
  const int64_t skew = narrow ? RnntMin(rows, samples * max_u * (max_u + 1)) : rows;
  const int64_t carry = narrow ? 0 : 2 * rows / kRnntStripLanes * kRnntCarryFloats;
  return samples * (kRnntHeaderFloats + kRnntAlignFloats) + carry + kRnntCellFloats * (rows + skew);
}

// For operators with a lattice; the others have no workspace.
RNNT_SHARED_FN uint64_t RnntWorkspaceBytes(const RnntTiling& tiling) {
  return static_cast<uint64_t>(RnntWorkspaceFloats(tiling)) * sizeof(float);
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
