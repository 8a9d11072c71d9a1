// SPDX-License-Identifier: Apache-2.0
// The C ABI of the twin library (driver.py calls it), and what a launch brings to the kernel.
#include <cstring>
#include <string>

#include "ascendc/entry.h"
#include "model/core.h"
#include "model/rules.h"
#include "model/run.h"

namespace twin {
namespace {

constexpr int kMaxArguments = 16;

void* g_function = nullptr;
uint8_t* g_arguments[kMaxArguments];
int g_argument_count = 0;
std::string g_report;
uint8_t g_system_workspace[64];  // its address stands for the framework's part of the workspace

int64_t* FindOption(const std::string& name) {
  Options& o = g_machine.options;
  const struct {
    const char* name;
    int64_t* value;
  } table[] = {{"cores", &o.cores},
               {"seed", &o.seed},
               {"deferred", &o.deferred},
               {"auto_sync", &o.auto_sync},
               {"checks", &o.checks},
               {"core_order", &o.core_order},
               {"schedule_mode", &o.schedule_mode},
               {"vector_cores", &o.vector_cores},
               {"framework_workspace", &o.framework_workspace},
               {"ub_limit", &o.ub_limit},
               {"nan_max", &g_rules.nan_max},
               {"ln_zero", &g_rules.ln_zero},
               {"flush", &g_rules.flush},
               {"saturate", &g_rules.saturate},
               {"ulp_noise", &g_rules.ulp_noise},
               {"reduce_order", &g_rules.reduce_order}};
  for (const auto& entry : table) {
    if (name == entry.name) return entry.value;
  }
  return nullptr;
}

template <size_t... I>
void Call(std::index_sequence<I...>) {
  using Kernel = void (*)(decltype((void)I, static_cast<uint8_t*>(nullptr))...);
  reinterpret_cast<Kernel>(g_function)(g_arguments[I]...);
}

// Kernel entries differ in their number of arguments only.
template <size_t N>
void CallWith(size_t count) {
  if (count == N) return Call(std::make_index_sequence<N>());
  if constexpr (N > 0) CallWith<N - 1>(count);
}

void CallKernel() { CallWith<kMaxArguments>(static_cast<size_t>(g_argument_count)); }

void CheckOutputs() {
  for (const auto& tensor : g_machine.tensors) {
    if (tensor->kind != GmKind::kOutput || g_machine.options.checks == 0) continue;
    const uint64_t unwritten = tensor->CountUnfilled();
    if (unwritten == 0) continue;
    g_core = nullptr;
    Report(Fault::kOutputUnwritten, "end of launch", tensor->name.c_str(), "%llu of %llu bytes",
           static_cast<unsigned long long>(unwritten),
           static_cast<unsigned long long>(tensor->size));
  }
}

}  // namespace

void LoadTiling(void* data, size_t size, const uint8_t* tiling) {
  const std::vector<uint8_t>& bytes = g_machine.tiling;
  if (tiling != bytes.data() || size != bytes.size()) {
    ReportFatal(Fault::kTilingSize, "GET_TILING_DATA_WITH_STRUCT", "tiling");
  }
  std::memcpy(data, bytes.data(), size);
}

uint8_t* UserWorkspace(const uint8_t* workspace) {
  if (workspace != g_system_workspace || g_machine.workspace == nullptr) {
    ReportFatal(Fault::kGmUnknown, "GetUserWorkspace", "workspace");
  }
  return g_machine.workspace->base;
}

void CheckSyncAll() {
  const Options& options = g_machine.options;
  if (g_machine.kernel_type != KERNEL_TYPE_MIX_AIV_1_0) {
    Report(Fault::kKernelType, "SyncAll", "kernel type", "%d", g_machine.kernel_type);
  }
  if (options.schedule_mode != 1) {
    Report(Fault::kScheduleMode, "SyncAll", "schedule mode", "%lld",
           static_cast<long long>(options.schedule_mode));
  }
  if (options.cores > options.vector_cores) {
    Report(Fault::kTooManyBlocks, "SyncAll", "blocks", "%lld blocks on %lld vector cores",
           static_cast<long long>(options.cores), static_cast<long long>(options.vector_cores));
  }
}

}  // namespace twin

extern "C" {

// Forgets the last launch: tensors, options, faults.
void TwinReset() {
  twin::g_machine = twin::Machine();
  twin::g_rules = twin::Rules();
  twin::g_core = nullptr;
  twin::ClearFaults();
}

int TwinOption(const char* name, int64_t value) {
  int64_t* option = twin::FindOption(name);
  if (option == nullptr) return -1;
  *option = value;
  return 0;
}

// In the order of the kernel's arguments. kind: 0 input, 1 output, 2 workspace, 3 both.
void TwinTensor(const char* name, void* data, int64_t bytes, int kind) {
  auto tensor = std::make_unique<twin::GmTensor>();
  tensor->name = name;
  tensor->base = static_cast<uint8_t*>(data);
  tensor->size = static_cast<uint64_t>(bytes);
  tensor->kind = static_cast<twin::GmKind>(kind);
  if (kind == 1 || kind == 2) {
    std::memset(data, 0xFF, tensor->size);
    tensor->filled.assign((tensor->size + 63) / 64, 0);
  }
  if (kind == 2) twin::g_machine.workspace = tensor.get();
  twin::g_machine.tensors.push_back(std::move(tensor));
}

void TwinTiling(const void* data, int64_t bytes) {
  const auto* first = static_cast<const uint8_t*>(data);
  twin::g_machine.tiling.assign(first, first + bytes);
}

// Runs `entry` with the tensors, the workspace and the tiling; returns the number of faults.
int TwinRun(void* entry) {
  using namespace twin;
  g_function = entry;
  g_argument_count = 0;
  for (const auto& tensor : g_machine.tensors) {
    if (tensor->kind != GmKind::kWorkspace) g_arguments[g_argument_count++] = tensor->base;
  }
  g_arguments[g_argument_count++] = g_system_workspace;
  g_arguments[g_argument_count++] = g_machine.tiling.data();
  RunAllCores(CallKernel);
  if (!g_machine.aborted) CheckOutputs();
  if (g_machine.kernel_type == KERNEL_TYPE_MIX_AIV_1_0 &&
      g_machine.options.framework_workspace == 0) {
    Report(Fault::kKernelType, "launch", "kernel type", "a mixed kernel needs a workspace");
  }
  return FaultCount();
}

const char* TwinReport() {
  twin::g_report = twin::MakeReport();
  return twin::g_report.c_str();
}

}  // extern "C"
