// SPDX-License-Identifier: Apache-2.0
#include "model/fault.h"

#include <execinfo.h>

#include <cstdarg>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "model/core.h"
#include "model/fault_list.h"

namespace twin {
namespace {

constexpr int kMaxFrames = 24;
constexpr size_t kMaxRecords = 200;

std::vector<FaultRecord> g_records;
std::map<std::tuple<int, std::string, std::string>, size_t> g_index;
int g_total = 0;

}  // namespace

const char* FaultName(Fault fault) {
  static const char* const kNames[] = {
#define TWIN_NAME(id, name, meaning) name,
      TWIN_FAULTS(TWIN_NAME)
#undef TWIN_NAME
  };
  return kNames[static_cast<int>(fault)];
}

const std::vector<FaultRecord>& FaultRecords() { return g_records; }

void ClearFaults() {
  g_records.clear();
  g_index.clear();
  g_total = 0;
}

int FaultCount() { return g_total; }

void Report(Fault fault, const char* api, const char* what, const char* format, ...) {
  ++g_total;
  const auto key = std::make_tuple(static_cast<int>(fault), std::string(api), std::string(what));
  const auto found = g_index.find(key);
  if (found != g_index.end()) {
    ++g_records[found->second].count;
    return;
  }
  if (g_records.size() >= kMaxRecords) return;
  char text[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  FaultRecord record;
  record.fault = fault;
  record.api = api;
  record.what = what;
  record.detail = text;
  record.core = g_core == nullptr ? -1 : g_core->index;
  record.phase = g_core == nullptr ? 0 : g_core->counters.current;
  void* frames[kMaxFrames];
  const int depth = backtrace(frames, kMaxFrames);
  record.frames.assign(frames + 1, frames + depth);
  g_index[key] = g_records.size();
  g_records.push_back(record);
}

void ReportFatal(Fault fault, const char* api, const char* what) {
  Report(fault, api, what, "the kernel is stopped here");
  if (g_core != nullptr) g_core->unwinding = true;
  throw Abort();
}

}  // namespace twin
