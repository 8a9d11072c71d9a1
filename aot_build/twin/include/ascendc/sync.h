// SPDX-License-Identifier: Apache-2.0
// Flags, barriers, SyncAll and core numbers.
#ifndef TWIN_ASCENDC_SYNC_H_
#define TWIN_ASCENDC_SYNC_H_

#include <cstdint>

#include "ascendc/types.h"
#include "model/core.h"

namespace AscendC {

template <HardEvent event>
void SetFlag(int32_t eventID) {
  twin::SetFlagOf(static_cast<int>(event), eventID);
}

template <HardEvent event>
void WaitFlag(int32_t eventID) {
  twin::WaitFlagOf(static_cast<int>(event), eventID);
}

template <pipe_t pipe>
void PipeBarrier() {
  static_assert(pipe == PIPE_V || pipe == PIPE_MTE2 || pipe == PIPE_MTE3 || pipe == PIPE_ALL,
                "a barrier inside V, MTE2 or MTE3, or of all pipes");
  if (pipe == PIPE_ALL) {
    twin::BarrierAll();
  } else {
    twin::BarrierOf(pipe == PIPE_V      ? twin::kPipeV
                    : pipe == PIPE_MTE2 ? twin::kPipeMte2
                                        : twin::kPipeMte3);
  }
}

// Hardware barrier of all vector cores, behind a barrier of all pipes.
template <bool isAIVOnly = true>
void SyncAll() {
  static_assert(isAIVOnly, "the launch has vector cores only");
  twin::CheckSyncAll();
  twin::BarrierAll();
  twin::WaitForAllCores();
}

inline int64_t GetBlockIdx() { return twin::g_core->index; }
inline int64_t GetBlockNum() { return twin::g_machine.options.cores; }

}  // namespace AscendC

#endif  // TWIN_ASCENDC_SYNC_H_
