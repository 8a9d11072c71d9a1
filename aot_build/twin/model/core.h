// SPDX-License-Identifier: Apache-2.0
// A vector core and the machine of all cores: the state behind the AscendC calls.
#ifndef TWIN_MODEL_CORE_H_
#define TWIN_MODEL_CORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/clock.h"
#include "model/counters.h"
#include "model/events.h"
#include "model/fault.h"
#include "model/gm.h"
#include "model/schedule.h"
#include "model/shadow.h"

namespace twin {

constexpr uint32_t kUbBytes = 192 * 1024;  // all of UB; a kernel may plan less, see Options
constexpr uint32_t kUbLimit = 188160;      // 192 KiB - 256 B - 8 KiB that Select reserves
constexpr int kMaxBuffers = 64;
constexpr int kMaxBuffersPerPosition = 8;
constexpr uint32_t kCacheLineBytes = 64;

struct Options {
  int64_t cores = 1;
  int64_t seed = 0;
  int64_t deferred = 0;             // run the pipes late, in a random legal order
  int64_t auto_sync = 0;            // 1: as if compiled with --cce-auto-sync=on
  int64_t checks = 1;               // 0: fast, only the bounds that keep memory safe
  int64_t core_order = 0;           // 0 ascending, 1 descending, 2 random
  int64_t schedule_mode = 1;        // what tiling set with SetScheduleMode
  int64_t vector_cores = 48;        // AIVs of the chip
  int64_t framework_workspace = 1;  // 0: tiling asked for no workspace at all
  int64_t ub_limit = kUbLimit;
};

// One buffer of a TQue or TBuf.
struct Buffer {
  enum State : uint8_t { kFree, kOccupied, kQueued, kDequeued } state = kFree;
  uint32_t address = 0;
  uint32_t bytes = 0;
  int position = 0;
  int enque_id = -1;
  int free_id = -1;
  int free_kind = -1;
  bool queue = false;
};

struct CacheLine {
  uint64_t address;
  uint8_t bytes[kCacheLineBytes];
};

struct Core {
  int index = 0;
  int sync_alls = 0;
  bool finished = false;
  bool waiting = false;
  bool checks = true;
  bool unwinding = false;  // an Abort passes through the kernel's destructors
  void* pipe = nullptr;    // the kernel's TPipe
  Clocks clocks;
  Events events;
  Schedule schedule;
  Counters counters;
  std::vector<Buffer> buffers;
  std::vector<CacheLine> cache;
  int plan = 0;  // counts the plans of UB; a LocalTensor belongs to one
  uint32_t planned_bytes = 0;
  uint32_t peak_bytes = 0;
  Block shadow[kUbBytes / kBlockBytes];
  alignas(64) uint8_t ub[kUbBytes];

  // A fresh plan of UB: what the buffers held is gone, who touched it last is not.
  void ForgetContents(uint32_t begin, uint32_t end);
  std::string Describe(uint32_t address) const;
};

struct Machine {
  Options options;
  std::vector<std::unique_ptr<GmTensor>> tensors;
  std::vector<uint8_t> tiling;
  int kernel_type = -1;
  void* workspace_marker = nullptr;
  GmTensor* workspace = nullptr;
  std::vector<std::unique_ptr<Core>> cores;
  bool aborted = false;
};

extern Machine g_machine;
extern Core* g_core;  // the core whose kernel is running

// Gives the other cores their turn until all have come here.
void WaitForAllCores();

// The launch must allow SyncAll: kernel type, batch mode, no more blocks than cores.
void CheckSyncAll();

void SetFlagOf(int kind, int id);
void WaitFlagOf(int kind, int id);
void BarrierOf(Pipe pipe);
void BarrierAll();

}  // namespace twin

#endif  // TWIN_MODEL_CORE_H_
