// SPDX-License-Identifier: Apache-2.0
// The report of a launch as JSON.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "model/core.h"
#include "model/fault_list.h"
#include "model/run.h"

namespace twin {
namespace {

std::string Quote(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c < ' ' ? ' ' : c;
  }
  return quoted + "\"";
}

std::string Field(const char* name, uint64_t value) {
  return Quote(name) + ":" + std::to_string(value);
}

// Return addresses inside this library, relative to its start, for addr2line.
std::string Frames(const std::vector<void*>& frames) {
  Dl_info own;
  dladdr(reinterpret_cast<const void*>(&FaultName), &own);
  std::string json = "[";
  for (void* frame : frames) {
    Dl_info info;
    if (dladdr(frame, &info) == 0 || info.dli_fbase != own.dli_fbase) continue;
    const auto offset = static_cast<char*>(frame) - static_cast<char*>(own.dli_fbase) - 1;
    json += (json.size() > 1 ? "," : "") + std::to_string(offset);
  }
  return json + "]";
}

std::string Faults() {
  std::string json = "[";
  for (const FaultRecord& record : FaultRecords()) {
    if (json.size() > 1) json += ",";
    json += "{\"fault\":" + Quote(FaultName(record.fault)) + ",\"api\":" + Quote(record.api) +
            ",\"what\":" + Quote(record.what) + ",\"detail\":" + Quote(record.detail) +
            ",\"core\":" + std::to_string(record.core) + "," +
            Field("phase", static_cast<uint64_t>(record.phase)) + "," +
            Field("count", static_cast<uint64_t>(record.count)) +
            ",\"frames\":" + Frames(record.frames) + "}";
  }
  return json + "]";
}

std::string Traffic(const GmTraffic& traffic) {
  std::string json = "{" + Field("bytes", traffic.bytes) + "," +
                     Field("aligned_512", traffic.aligned_512) + ",\"bursts\":[";
  for (int i = 0; i < kBurstClasses; ++i) {
    json += (i > 0 ? "," : "") + std::to_string(traffic.bursts[i]);
  }
  return json + "]}";
}

std::string Tensors() {
  std::string json = "{";
  for (const auto& tensor : g_machine.tensors) {
    if (json.size() > 1) json += ",";
    json += Quote(tensor->name) + ":{" + Field("size", tensor->size) + "," +
            Field("unwritten", tensor->CountUnfilled()) + ",\"read\":" + Traffic(tensor->read) +
            ",\"written\":" + Traffic(tensor->written) + "}";
  }
  return json + "}";
}

double VectorCycles(const PhaseCounters& phase) {
  return static_cast<double>(phase.vector_fifths) / 5.0 +
         static_cast<double>(phase.dependent_issues) * kDependentIssueCycles;
}

double ScalarCycles(const PhaseCounters& phase) {
  return static_cast<double>(phase.scalar_ub) * kScalarUbCycles +
         static_cast<double>(phase.scalar_gm) * kScalarGmCycles;
}

// Sums over the cores, and the slowest core's time when vector work and copies overlap.
std::string Phase(int index) {
  PhaseCounters sum;
  double vector = 0, seconds = 0;
  const double cores = static_cast<double>(g_machine.cores.size());
  const double bandwidth = std::min(kBytesPerSecondOfOne, kBytesPerSecondOfAll / cores);
  for (const auto& core : g_machine.cores) {
    const PhaseCounters& phase = core->counters.phase[index];
    for (int op = 0; op < kOpCount; ++op) {
      sum.calls[op] += phase.calls[op];
      sum.repeats[op] += phase.repeats[op];
    }
    sum.scalar_ub += phase.scalar_ub;
    sum.scalar_gm += phase.scalar_gm;
    sum.bytes_in += phase.bytes_in;
    sum.bytes_out += phase.bytes_out;
    sum.copies += phase.copies;
    vector = std::max(vector, VectorCycles(phase));
    const double copy = static_cast<double>(phase.bytes_in + phase.bytes_out) / bandwidth;
    const double compute = (VectorCycles(phase) + ScalarCycles(phase)) / kClockHz;
    seconds = std::max(seconds, std::max(copy, compute));
  }
  char times[128];
  std::snprintf(times, sizeof(times), "\"vector_cycles\":%.0f,\"microseconds\":%.3f", vector,
                seconds * 1e6);
  std::string json = "{" + Field("scalar_ub", sum.scalar_ub) + "," +
                     Field("scalar_gm", sum.scalar_gm) + "," + Field("bytes_in", sum.bytes_in) +
                     "," + Field("bytes_out", sum.bytes_out) + "," + Field("copies", sum.copies) +
                     "," + times + ",\"instructions\":{";
  bool first = true;
  for (int op = 0; op < kOpCount; ++op) {
    if (sum.calls[op] == 0) continue;
    json += std::string(first ? "" : ",") + Quote(kOpNames[op]) + ":[" +
            std::to_string(sum.calls[op]) + "," + std::to_string(sum.repeats[op]) + "]";
    first = false;
  }
  return json + "}}";
}

}  // namespace

std::string MakeReport() {
  int phases = 0;
  uint64_t peak = 0;
  for (const auto& core : g_machine.cores) {
    phases = std::max(phases, core->counters.current + 1);
    peak = std::max<uint64_t>(peak, core->peak_bytes);
  }
  std::string json = "{\"faults\":" + Faults() + ",\"tensors\":" + Tensors() + "," +
                     Field("ub_peak", peak) + ",\"phases\":[";
  for (int i = 0; i < phases; ++i) json += (i > 0 ? "," : "") + Phase(i);
  return json + "]}";
}

}  // namespace twin
