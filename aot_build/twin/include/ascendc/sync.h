// SPDX-License-Identifier: Apache-2.0
// Flags, barriers, SyncAll, core numbers, the vector mask register and the data cache.
#ifndef TWIN_ASCENDC_SYNC_H_
#define TWIN_ASCENDC_SYNC_H_

#include <cstdint>
#include <type_traits>

#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "model/core.h"
#include "model/memory.h"

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

inline void SetMaskCount() { twin::g_core->mask.counter = true; }
inline void SetMaskNorm() { twin::g_core->mask.counter = false; }
inline void ResetMask() { twin::g_core->mask.low = twin::g_core->mask.high = ~0ull; }

template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow) {
  if ((mode == MaskMode::COUNTER) != twin::g_core->mask.counter) {
    twin::Report(twin::Fault::kMaskLimit, "SetVectorMask", "mode", "not the mode that is set");
  }
  twin::g_core->mask.high = maskHigh;
  twin::g_core->mask.low = maskLow;
}

template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t len) {
  constexpr int32_t kLanes = 256 / sizeof(T);
  if (mode == MaskMode::COUNTER) {
    SetVectorMask<T, mode>(0, static_cast<uint64_t>(len));
    return;
  }
  if (len < 1 || len > kLanes) {
    twin::Report(twin::Fault::kMaskLimit, "SetVectorMask", "len", "%d, 1 to %d", len, kLanes);
    return;
  }
  const auto bits = [](int32_t n) { return n >= 64 ? ~0ull : (1ull << n) - 1; };
  SetVectorMask<T, mode>(len > 64 ? bits(len - 64) : 0, bits(len));
}

template <typename T, CacheLine entireType, DcciDst dcciDst>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst) {
  const bool all = entireType == CacheLine::ENTIRE_DATA_CACHE;
  twin::ForgetCacheLine(all ? twin::GmPlace() : dst.TwinPlace());
}

}  // namespace AscendC

#endif  // TWIN_ASCENDC_SYNC_H_
