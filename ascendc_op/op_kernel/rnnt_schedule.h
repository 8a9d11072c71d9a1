// SPDX-License-Identifier: Apache-2.0
// The arithmetic that host, kernel and unit tests share: phases, sizes of the workspace, number of
// cores.
//
// Plain C++11. The kernel defines RNNT_SHARED_FN as `__aicore__ inline` before it includes this
// file.
//
// A sample with T frames, U labels, U1 = U + 1 has D = T + U anti-diagonals d = t + u. The lanes
// along a diagonal are cut into strips of kRnntStripLanes.
#ifndef MINDSPORE_RNNT_RNNT_SCHEDULE_H_
#define MINDSPORE_RNNT_RNNT_SCHEDULE_H_

#include <cstdint>

#include "rnnt_tiling.h"

#ifndef RNNT_SHARED_FN
#define RNNT_SHARED_FN inline
#endif

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
// Lanes of a diagonal that the lattice holds in UB at once. Tests choose less, to have several
// strips in a small lattice.
#ifndef RNNT_STRIP_LANES
#define RNNT_STRIP_LANES 1024
#endif
constexpr int32_t kRnntStripLanes = RNNT_STRIP_LANES;
constexpr int32_t kRnntScaleGroup = 16;     // diagonals between two renormalisations
constexpr int32_t kRnntScaleFloats = 16;    // a group's scales: 8 equal lanes for alpha, 8 for beta
constexpr int32_t kRnntHeaderFloats = 128;  // per sample: what alpha's and beta's ends found
constexpr int32_t kRnntCellFloats =
    7;  // row_max, log_sum, lp_blank, lp_label, alpha, arc_blank, arc_label
constexpr int32_t kRnntCarryFloats =
    16;  // per diagonal, if several strips: 8 lanes for alpha, 8 for beta
constexpr int32_t kRnntAlignFloats = 128;  // regions start at 512 B, the line of the L2 cache

RNNT_SHARED_FN int64_t RnntAlignUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
RNNT_SHARED_FN int64_t RnntMin(int64_t a, int64_t b) { return a < b ? a : b; }
RNNT_SHARED_FN int64_t RnntMax(int64_t a, int64_t b) { return a > b ? a : b; }

// A sample's diagonals have U1 lanes, w = U - u; or T lanes, w = t, if that is less and fits one
// strip. Either way the next lane is the next frame, and D lanes are less than twice the cells
// unless T >= kRnntStripLanes.
RNNT_SHARED_FN bool RnntByFrame(int64_t frames, int64_t u1) {
  return frames < u1 && frames < kRnntStripLanes;
}
RNNT_SHARED_FN int64_t RnntLanes(int64_t frames, int64_t u1) {
  return RnntByFrame(frames, u1) ? frames : u1;
}

RNNT_SHARED_FN int64_t RnntStrips(int64_t lanes) {
  return (lanes + kRnntStripLanes - 1) / kRnntStripLanes;
}

// Workspace of a sample in floats (rnnt_workspace.h says what is where).
RNNT_SHARED_FN int64_t RnntSampleFloats(int64_t frames, int64_t u1) {
  const int64_t lanes = RnntLanes(frames, u1), diagonals = frames + u1 - 1;
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
  const int64_t samples = RnntMin(tiling.batch, rows);
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
RNNT_SHARED_FN int32_t RnntBlockCount(const RnntTiling& tiling, int32_t phases,
                                      int32_t element_bytes, int32_t cores) {
  constexpr int64_t kBytesPerCore = 64 * 1024;
  const int64_t row_bytes =
      tiling.vocab > 0 ? static_cast<int64_t>(tiling.vocab) * element_bytes : 4 * sizeof(float);
  // Row by row, so that a product of large sizes cannot overflow.
  const int64_t rows_per_core = RnntMax(1, kBytesPerCore / row_bytes);
  int64_t wanted = (tiling.rows + rows_per_core - 1) / rows_per_core;
  if ((phases & kRnntLattice) != 0) {
    wanted = RnntMax(wanted, 2 * static_cast<int64_t>(tiling.batch));
  }
  return static_cast<int32_t>(RnntMax(1, RnntMin(wanted, cores)));
}

// The cells of a diagonal are the lanes from the first to the last one.
RNNT_SHARED_FN int64_t RnntFirstLane(int64_t frames, int64_t u1, int64_t d) {
  return RnntByFrame(frames, u1) ? RnntMax(0, d - u1 + 1) : u1 - 1 - RnntMin(u1 - 1, d);
}
RNNT_SHARED_FN int64_t RnntLastLane(int64_t frames, int64_t u1, int64_t d) {
  return RnntByFrame(frames, u1) ? RnntMin(frames - 1, d) : u1 - 1 - RnntMax(0, d - frames + 1);
}

// Cells on the diagonals before d: they grow by 1 up to the shorter side m, stay at m, and shrink.
RNNT_SHARED_FN int64_t RnntCellsBefore(int64_t frames, int64_t u1, int64_t d) {
  const int64_t m = RnntMin(frames, u1), longer = RnntMax(frames, u1);
  if (d <= m) return d * (d + 1) / 2;
  if (d <= longer) return m * (m + 1) / 2 + (d - m) * m;
  const int64_t left = frames + u1 - 1 - d;
  return frames * u1 - left * (left + 1) / 2;
}

// The diagonal of the cell with this rank in diagonal order.
RNNT_SHARED_FN int64_t RnntDiagonalOfRank(int64_t frames, int64_t u1, int64_t rank) {
  int64_t low = 0, high = frames + u1 - 2;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (RnntCellsBefore(frames, u1, middle) <= rank) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Vector cycles of one direction of a sample's lattice, as far as it matters for balance: the fixed
// latency of a diagonal's dependent instructions, and what each lane adds.
RNNT_SHARED_FN int64_t RnntLatticeCost(int64_t frames, int64_t u1) {
  constexpr int64_t kMaxCost = int64_t{1} << 40;
  return RnntMin(kMaxCost, (frames + u1) * (240 + RnntLanes(frames, u1) * 2 / 5));
}

// Moves heap[at] down to its place in a heap with the least key on top.
RNNT_SHARED_FN void RnntSiftDown(uint64_t* heap, int32_t size, int32_t at) {
  const uint64_t key = heap[at];
  for (int32_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
    if (child + 1 < size && heap[child + 1] < heap[child]) ++child;
    if (key <= heap[child]) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = key;
}

constexpr int32_t kRnntPlaceSamples = 256;  // samples placed together
constexpr int32_t kRnntMaxCores = 256;

// Alpha and beta of each sample, largest first, go to the core with the least work so far. Keys
// hold an index in their low bits: ties have one outcome, and every core computes the same. `cores`
// is a heap of (load << 8 | core) that lives on from one group of samples to the next.
RNNT_SHARED_FN void RnntPlaceTasks(const int64_t* costs, int32_t samples, uint64_t* cores,
                                   int32_t core_count, uint8_t* core_of_task) {
  uint64_t heap[kRnntPlaceSamples];
  for (int32_t i = 0; i < samples; ++i) {
    heap[i] = static_cast<uint64_t>((int64_t{1} << 41) - costs[i]) << 16 | static_cast<uint64_t>(i);
  }
  for (int32_t i = samples / 2; i-- > 0;) RnntSiftDown(heap, samples, i);
  for (int32_t left = samples; left > 0; --left) {
    const int32_t sample = static_cast<int32_t>(heap[0] & 0xFFFF);
    for (int32_t end = 0; end < 2; ++end) {
      core_of_task[2 * sample + end] = static_cast<uint8_t>(cores[0] & 0xFF);
      cores[0] += static_cast<uint64_t>(costs[sample]) << 8;
      RnntSiftDown(cores, core_count, 0);
    }
    heap[0] = heap[left - 1];
    RnntSiftDown(heap, left - 1, 0);
  }
}

#endif  // MINDSPORE_RNNT_RNNT_SCHEDULE_H_
