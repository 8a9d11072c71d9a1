// SPDX-License-Identifier: Apache-2.0
#include "model/memory.h"

#include <algorithm>
#include <cstring>

namespace twin {
namespace {

const char* PipeName(Pipe pipe) {
  static const char* const kNames[] = {"S", "V", "MTE2", "MTE3"};
  return kNames[pipe];
}

constexpr size_t kCacheLines = 32 * 1024 / kCacheLineBytes;

// The line of the cache that holds `address`, fetched from GM when it is not there.
CacheLine* Fetch(const GmTensor& tensor, uint64_t line_offset, uint64_t address) {
  std::vector<CacheLine>& cache = g_core->cache;
  for (CacheLine& line : cache) {
    if (line.address == address) return &line;
  }
  if (cache.size() == kCacheLines) cache.erase(cache.begin());
  CacheLine line;
  line.address = address;
  std::memset(line.bytes, 0xFF, sizeof(line.bytes));
  const uint64_t count = std::min<uint64_t>(kCacheLineBytes, tensor.size - line_offset);
  std::memcpy(line.bytes, tensor.base + line_offset, count);
  cache.push_back(line);
  return &cache.back();
}

// Tensors start at multiples of 512 bytes on the device, so lines are counted from the base.
uint64_t LineAddress(const GmTensor& tensor, uint64_t offset) {
  return reinterpret_cast<uint64_t>(&tensor) * 0x10000u ^ (offset / kCacheLineBytes);
}

}  // namespace

void ReportHazard(const char* api, const char* operand, uint32_t address, const Hazard& hazard) {
  Report(hazard.fault, api, operand, "against pipe %s at %s", PipeName(hazard.other),
         g_core->Describe(address).c_str());
}

void ReportUninitialised(const char* api, const char* operand, uint32_t address) {
  Report(Fault::kUbUninitialised, api, operand, "at %s", g_core->Describe(address).c_str());
}

bool InTensor(const char* api, const char* operand, uint32_t address, uint64_t bytes,
              uint32_t left) {
  if (bytes <= left && address + bytes <= kUbBytes) return true;
  Report(Fault::kUbOutOfRange, api, operand, "%llu bytes, the tensor has %u left, at %s",
         static_cast<unsigned long long>(bytes), left, g_core->Describe(address).c_str());
  return false;
}

void ScalarUb(const char* api, uint32_t address, uint32_t bytes, uint32_t left, bool write,
              void* value) {
  ++g_core->counters.Now().scalar_ub;
  const Stamp stamp = g_core->clocks.Issue(kPipeS);
  if (!InTensor(api, "tensor", address, bytes, left)) {
    if (!write) std::memset(value, 0xFF, bytes);
    return;
  }
  if (g_core->clocks.auto_sync) g_core->schedule.DrainAll();
  if (g_core->checks) TouchRange(api, "tensor", address, bytes, write, stamp);
  if (write) {
    std::memcpy(g_core->ub + address, value, bytes);
  } else {
    std::memcpy(value, g_core->ub + address, bytes);
  }
}

void ScalarGmRead(const GmPlace& place, uint32_t bytes, uint64_t limit, void* value) {
  ++g_core->counters.Now().scalar_gm;
  const Stamp stamp = g_core->clocks.Issue(kPipeS);
  if (!TouchGm("GlobalTensor.GetValue", stamp, place, bytes, false, limit)) return;
  const GmTensor& tensor = *place.tensor;
  const uint64_t line_offset = place.offset / kCacheLineBytes * kCacheLineBytes;
  CacheLine* line = Fetch(tensor, line_offset, LineAddress(tensor, place.offset));
  std::memcpy(value, line->bytes + (place.offset - line_offset), bytes);
  if (std::memcmp(value, tensor.base + place.offset, bytes) != 0) {
    Report(Fault::kStaleScalar, "GlobalTensor.GetValue", tensor.name.c_str(), "byte %llu",
           static_cast<unsigned long long>(place.offset));
  }
}

}  // namespace twin
