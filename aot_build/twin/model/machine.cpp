// SPDX-License-Identifier: Apache-2.0
// Runs the kernel once per core, each core as a coroutine that gives way in SyncAll.
#include <ucontext.h>

#include <algorithm>
#include <cstring>

#include "model/core.h"
#include "model/rules.h"
#include "model/run.h"

namespace twin {

Machine g_machine;
Rules g_rules;
Core* g_core = nullptr;

namespace {

constexpr size_t kStackBytes = 1 << 20;
constexpr uint8_t kPoison = 0xFF;  // NaN in every float type, -1 in the integer types

struct Coroutine {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
};

ucontext_t g_scheduler;
std::vector<Coroutine> g_coroutines;
void (*g_entry)() = nullptr;

void EndOfKernel() {
  BarrierAll();
  g_core->events.ReportLeftovers();
  for (const Buffer& buffer : g_core->buffers) {
    if (buffer.queue && buffer.state != Buffer::kFree) {
      Report(Fault::kQueueLeak, "end of kernel", "TQue", "%s",
             g_core->Describe(buffer.address).c_str());
    }
  }
}

void CoreMain() {
  try {
    g_entry();
    EndOfKernel();
  } catch (const Abort&) {
    g_machine.aborted = true;
  }
  g_core->finished = true;
  swapcontext(&g_coroutines[g_core->index].context, &g_scheduler);
}

void MakeCores() {
  const Options& options = g_machine.options;
  g_machine.cores.clear();
  g_coroutines.clear();
  g_coroutines.resize(options.cores);
  for (int i = 0; i < options.cores; ++i) {
    auto core = std::make_unique<Core>();
    core->index = i;
    core->checks = options.checks != 0;
    core->clocks.auto_sync = options.auto_sync != 0;
    core->schedule.deferred = options.deferred != 0;
    core->schedule.in_order_v = options.auto_sync != 0;
    core->schedule.random = Random(options.seed * 1000 + i + 1);
    std::memset(core->ub, kPoison, sizeof(core->ub));
    Coroutine& coroutine = g_coroutines[i];
    coroutine.stack.reset(new char[kStackBytes]);
    getcontext(&coroutine.context);
    coroutine.context.uc_stack.ss_sp = coroutine.stack.get();
    coroutine.context.uc_stack.ss_size = kStackBytes;
    coroutine.context.uc_link = nullptr;
    makecontext(&coroutine.context, CoreMain, 0);
    g_machine.cores.push_back(std::move(core));
  }
}

std::vector<int> CoreOrder(Random* random) {
  const int count = static_cast<int>(g_machine.cores.size());
  std::vector<int> order(count);
  for (int i = 0; i < count; ++i) order[i] = i;
  if (g_machine.options.core_order == 1) std::reverse(order.begin(), order.end());
  if (g_machine.options.core_order == 2) {
    for (int i = count - 1; i > 0; --i) std::swap(order[i], order[random->Below(i + 1)]);
  }
  return order;
}

void Resume(Core* core) {
  g_core = core;
  swapcontext(&g_scheduler, &g_coroutines[core->index].context);
}

// All cores that are left wait in SyncAll: true when no core ended before it.
bool CloseSyncAll() {
  int waiting = 0, finished = 0;
  for (const auto& core : g_machine.cores) (core->finished ? finished : waiting) += 1;
  if (waiting == 0) return false;
  if (finished > 0) {
    for (const auto& core : g_machine.cores) {
      if (core->finished) g_core = core.get();
    }
    Report(Fault::kSyncAllMissed, "SyncAll", "core", "%d cores ended, %d wait", finished, waiting);
    return false;
  }
  SweepGm();
  for (const auto& core : g_machine.cores) {
    core->waiting = false;
    core->counters.NextPhase();
  }
  return true;
}

}  // namespace

void RunAllCores(void (*entry)()) {
  g_entry = entry;
  const ArithmeticMode mode;
  MakeCores();
  Random random(g_machine.options.seed + 77);
  bool more = true;
  while (more && !g_machine.aborted) {
    for (int index : CoreOrder(&random)) {
      Core* core = g_machine.cores[index].get();
      if (!core->finished && !g_machine.aborted) Resume(core);
    }
    more = !g_machine.aborted && CloseSyncAll();
  }
  if (!g_machine.aborted) SweepGm();
}

void WaitForAllCores() {
  Core* self = g_core;
  ++self->sync_alls;
  self->waiting = true;
  swapcontext(&g_coroutines[self->index].context, &g_scheduler);
}

void SetFlagOf(int kind, int id) {
  if (g_core->events.Set(kind, id, g_core->clocks)) g_core->schedule.Set(kind, id);
  g_core->counters.dependent = true;
}

void WaitFlagOf(int kind, int id) {
  if (g_core->events.Wait(kind, id, &g_core->clocks)) g_core->schedule.Wait(kind, id);
  g_core->counters.dependent = true;
}

void BarrierOf(Pipe pipe) {
  g_core->clocks.Barrier(pipe);
  g_core->schedule.Barrier(pipe);
  g_core->counters.dependent = true;
}

void BarrierAll() {
  g_core->schedule.DrainAll();
  g_core->clocks.BarrierAll();
  g_core->counters.dependent = true;
}

void Core::ForgetContents(uint32_t begin, uint32_t end) {
  for (uint32_t b = begin / kBlockBytes; b < end / kBlockBytes && b < kUbBytes / kBlockBytes; ++b) {
    shadow[b].filled = 0;
  }
}

std::string Core::Describe(uint32_t address) const {
  static const char* const kPositions[] = {"GM", "A1",  "A2",  "B1",    "B2",     "C1",
                                           "C2", "CO1", "CO2", "VECIN", "VECOUT", "VECCALC"};
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (address < buffer.address || address >= buffer.address + buffer.bytes) continue;
    return std::string(buffer.queue ? "queue" : "TBuf") + " buffer " + std::to_string(i) + " (" +
           kPositions[buffer.position] + ", " + std::to_string(buffer.bytes) + " B) + " +
           std::to_string(address - buffer.address) + " B";
  }
  return "UB address " + std::to_string(address) + " outside every buffer";
}

}  // namespace twin
