// SPDX-License-Identifier: Apache-2.0
// Which core runs which task of the lattice; a task is alpha or beta of one sample. Plain C++11,
// shared by kernel and unit tests.
#ifndef MINDSPORE_RNNT_RNNT_PLACEMENT_H_
#define MINDSPORE_RNNT_RNNT_PLACEMENT_H_

#include "rnnt_geometry.h"

// Vector cycles of a task as far as they matter for balance: the fixed latency of a diagonal's
// dependent instructions, and what each lane adds.
RNNT_SHARED_FN int64_t RnntLatticeCost(int64_t T, int64_t U1) {
  constexpr int64_t kMaxCost = int64_t{1} << 40;
  return RnntMin(kMaxCost, (T + U1) * (200 + RnntLanes(T, U1) * 7 / 10));
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

#endif  // MINDSPORE_RNNT_RNNT_PLACEMENT_H_
