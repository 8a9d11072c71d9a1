// SPDX-License-Identifier: Apache-2.0
// RnntTdtLattice, a lattice whose arcs have durations: its limits, the strips of a sample, and the
// workspace. Plain C++11, shared by host, kernel and unit tests.
//
// Lanes are w = U - u for every sample. An arc of duration d leads d or d + 1 diagonals on, so a
// strip has as many diagonals in UB as its longest arc reaches; the more, the narrower it is. A
// strip of W lanes keeps only its own T + W - 1 diagonals, and W is at most T: no sample takes more
// than twice its cells.
#ifndef MINDSPORE_RNNT_RNNT_TDT_SIZES_H_
#define MINDSPORE_RNNT_RNNT_TDT_SIZES_H_

#include "rnnt_sizes.h"

constexpr int32_t kRnntTdtMaxDurations = 32;  // D
// Frames of the longest arc. Arcs longer than the sample do not exist and do not count.
constexpr int32_t kRnntTdtMaxDuration = 256;

// What a core holds in UB, in floats: the arcs of some diagonals, twice; what it found of them,
// twice; and the vectors of a step.
constexpr int32_t kRnntTdtArcFloats = 9728;
constexpr int32_t kRnntTdtOutFloats = 3072;
constexpr int32_t kRnntTdtWorkFloats = 18496;
constexpr int32_t kRnntTdtFixedFloats = 128;  // of the vectors of a step, for any number of lanes
constexpr int32_t kRnntTdtGuardLanes = 8;

struct RnntDurations {
  int32_t count;
  int32_t frames[kRnntTdtMaxDurations];  // in any order
};

// Arrays of the arcs of a cell: blank, label, and each duration.
RNNT_SHARED_FN int32_t RnntTdtArrays(int32_t durations) { return 2 + durations; }

// The longest duration that leads no further than the end of T frames.
RNNT_SHARED_FN int32_t RnntTdtReach(const RnntDurations& durations, int64_t T) {
  int32_t reach = 0;
  for (int32_t i = 0; i < durations.count; ++i) {
    const int32_t frames = durations.frames[i];
    if (frames <= T && frames > reach) reach = frames;
  }
  return reach;
}

// Floats of a step's vectors: for each lane, and for each of the guards beside the diagonals.
RNNT_SHARED_FN int32_t RnntTdtLaneFloats(int32_t durations, int32_t reach) {
  return 6 * durations + RnntTdtArrays(durations) + 8 + 4 * (reach + 1);
}
RNNT_SHARED_FN int32_t RnntTdtGuardFloats(int32_t reach) {
  return 4 * (reach + 1) * kRnntTdtGuardLanes;
}

// Lanes of a strip; the last strip may have less.
RNNT_SHARED_FN int64_t RnntTdtStripLanes(int64_t T, int64_t U1, int32_t durations, int32_t reach) {
  const int64_t step = (kRnntTdtWorkFloats - kRnntTdtFixedFloats - RnntTdtGuardFloats(reach)) /
                       RnntTdtLaneFloats(durations, reach);
  const int64_t slab =
      RnntMin(kRnntTdtArcFloats / (2 * RnntTdtArrays(durations)), kRnntTdtOutFloats / 4);
  const int64_t most = RnntMin(RnntMin(step, slab) / 8 * 8, kRnntStripLanes);
  return RnntMin(RnntMin(U1, T), most);
}

// Of a strip, whose diagonals have 2 floats for each arc, 2 for alpha and 4 for beta; beta has a
// diagonal more.
RNNT_SHARED_FN int64_t RnntTdtStripFloats(int64_t T, int64_t lanes, int32_t durations) {
  return (2 * RnntTdtArrays(durations) + 6) * (T + lanes - 1) * lanes + 4 * lanes;
}

// Workspace of a sample in floats (tdt_space.h says what is where).
RNNT_SHARED_FN int64_t RnntTdtSampleFloats(int64_t T, int64_t U1, int32_t durations,
                                           int32_t reach) {
  const int64_t lanes = RnntTdtStripLanes(T, U1, durations, reach), whole = U1 / lanes;
  const int64_t carry = U1 > lanes ? 8 * T : 0;
  int64_t floats = kRnntHeaderFloats + carry + whole * RnntTdtStripFloats(T, lanes, durations);
  if (U1 % lanes > 0) floats += RnntTdtStripFloats(T, U1 % lanes, durations);
  return RnntAlignUp(floats, kRnntAlignFloats);
}

// An upper bound, from shapes alone, of the sum of RnntTdtSampleFloats over any legal lengths;
// tiling.V is the number of durations. It is linear in the rows.
//   D lanes - T U1 of all strips is at most U1 (W - 1), and W is at most T and U1.
//   Several strips: U1 is at least 2, so T is at most half of the rows.
RNNT_SHARED_FN int64_t RnntTdtWorkspaceFloats(const RnntTiling& tiling) {
  constexpr int64_t kNarrow = 1024;  // the product below stays far from overflow
  const int64_t rows = tiling.rows;
  const int64_t samples = RnntMin(tiling.B, rows);
  const int64_t max_u =
      RnntMax(0, RnntMin(tiling.max_u, (tiling.padded != 0 ? tiling.max_u1 : rows) - 1));
  const int64_t skew = max_u < kNarrow ? RnntMin(rows, samples * max_u * (max_u + 1)) : rows;
  const int64_t carry = max_u > 0 ? 4 * rows : 0;
  return samples * (kRnntHeaderFloats + kRnntAlignFloats) + carry + 4 * rows +
         (2 * RnntTdtArrays(tiling.V) + 6) * (rows + skew);
}

RNNT_SHARED_FN uint64_t RnntTdtWorkspaceBytes(const RnntTiling& tiling) {
  return static_cast<uint64_t>(RnntTdtWorkspaceFloats(tiling)) * sizeof(float);
}

// As RnntLatticeCost: the strips, with the fixed latency of a diagonal and what each lane adds.
RNNT_SHARED_FN int64_t RnntTdtCost(int64_t T, int64_t U1, int32_t durations, int64_t strip_lanes) {
  constexpr int64_t kMaxCost = int64_t{1} << 40;
  const int64_t strips = (U1 + strip_lanes - 1) / strip_lanes;
  return RnntMin(kMaxCost, strips * (T + strip_lanes) * (600 + strip_lanes * durations));
}

#endif  // MINDSPORE_RNNT_RNNT_TDT_SIZES_H_
