// SPDX-License-Identifier: Apache-2.0
// Which tasks a core runs. Every core places all of them alike (rnnt_placement.h).
#ifndef MINDSPORE_RNNT_RNNT_TASKS_H_
#define MINDSPORE_RNNT_RNNT_TASKS_H_

#include "rnnt_batch.h"

namespace rnnt {

// Walks the samples twice: for the sizes, then for this core's share. A Lattice has Cost(sample) and
// RunTask<alpha or beta>(sample).
template <class Lattice>
RNNT_FN void RunTasks(Batch* batch, Lattice* lattice) {
  const int32_t cores = static_cast<int32_t>(GetBlockNum());
  uint64_t loads[kRnntMaxCores];
  for (int32_t core = 0; core < cores; ++core) loads[core] = static_cast<uint64_t>(core);
  Sample sample = batch->Begin();
  for (int32_t count = kRnntPlaceSamples; count == kRnntPlaceSamples;) {
    int64_t costs[kRnntPlaceSamples];
    uint8_t core_of_task[2 * kRnntPlaceSamples];
    Sample ahead = sample;
    for (count = 0; count < kRnntPlaceSamples && batch->Next(&ahead); ++count) {
      costs[count] = ahead.valid ? lattice->Cost(ahead) : 0;
    }
    RnntPlaceTasks(costs, count, loads, cores, core_of_task);
    for (int32_t i = 0; i < count; ++i) {
      batch->Next(&sample);
      if (!sample.valid) continue;
      if (core_of_task[2 * i] == GetBlockIdx()) lattice->template RunTask<true>(sample);
      if (core_of_task[2 * i + 1] == GetBlockIdx()) lattice->template RunTask<false>(sample);
    }
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_TASKS_H_
