// SPDX-License-Identifier: Apache-2.0
#include "model/gm.h"

#include <algorithm>

#include "model/core.h"
#include "model/fault.h"

namespace twin {

void GmTensor::Fill(uint64_t begin, uint64_t end) {
  if (filled.empty()) return;
  while (begin < end) {
    const uint64_t bit = begin % 64;
    const uint64_t count = std::min<uint64_t>(64 - bit, end - begin);
    const uint64_t ones = count == 64 ? ~0ull : ((1ull << count) - 1) << bit;
    filled[begin / 64] |= ones;
    begin += count;
  }
}

bool GmTensor::Filled(uint64_t begin, uint64_t end) const {
  if (filled.empty()) return true;
  while (begin < end) {
    const uint64_t bit = begin % 64;
    const uint64_t count = std::min<uint64_t>(64 - bit, end - begin);
    const uint64_t ones = count == 64 ? ~0ull : ((1ull << count) - 1) << bit;
    if ((filled[begin / 64] & ones) != ones) return false;
    begin += count;
  }
  return true;
}

uint64_t GmTensor::CountUnfilled() const {
  if (filled.empty()) return 0;
  uint64_t count = 0;
  for (uint64_t word : filled) count += static_cast<uint64_t>(__builtin_popcountll(word));
  return size - count;
}

GmPlace FindGm(const void* address) {
  const auto* wanted = static_cast<const uint8_t*>(address);
  GmPlace at_end;
  for (const auto& tensor : g_machine.tensors) {
    if (wanted < tensor->base || wanted > tensor->base + tensor->size) continue;
    const GmPlace place{tensor.get(), static_cast<uint64_t>(wanted - tensor->base)};
    if (place.offset < tensor->size) return place;
    at_end = place;
  }
  return at_end;
}

bool TouchGm(const char* api, const Stamp& stamp, const GmPlace& place, uint64_t bytes, bool write,
             uint64_t limit) {
  if (place.tensor == nullptr) {
    Report(Fault::kGmUnknown, api, write ? "destination" : "source", " ");
    return false;
  }
  GmTensor& tensor = *place.tensor;
  const uint64_t end = place.offset + bytes;
  if (end > tensor.size || end < place.offset || end > limit) {
    Report(Fault::kGmOutOfRange, api, tensor.name.c_str(),
           "%s [%llu, %llu) of %llu bytes (GlobalTensor ends at %llu)", write ? "write" : "read",
           static_cast<unsigned long long>(place.offset), static_cast<unsigned long long>(end),
           static_cast<unsigned long long>(tensor.size), static_cast<unsigned long long>(limit));
    return false;
  }
  if (write && tensor.kind == GmKind::kInput) {
    Report(Fault::kGmReadOnly, api, tensor.name.c_str(), "written at byte %llu",
           static_cast<unsigned long long>(place.offset));
    return false;
  }
  GmTraffic& traffic = write ? tensor.written : tensor.read;
  traffic.bytes += bytes;
  ++traffic.bursts[BurstClass(bytes)];
  traffic.aligned_512 += place.offset % 512 == 0;
  if (!g_core->checks || tensor.kind == GmKind::kInput) return true;

  if (!write && !tensor.Filled(place.offset, end)) {
    Report(Fault::kGmUninitialised, api, tensor.name.c_str(), "bytes [%llu, %llu)",
           static_cast<unsigned long long>(place.offset), static_cast<unsigned long long>(end));
  }
  if (write) tensor.Fill(place.offset, end);
  if (!tensor.accesses.empty()) {
    GmAccess& last = tensor.accesses.back();
    const bool same_instruction = last.core == g_core->index && last.write == write &&
                                  last.stamp.pipe == stamp.pipe && last.stamp.now == stamp.now;
    if (same_instruction && last.end == place.offset) {
      last.end = end;
      return true;
    }
  }
  tensor.accesses.push_back({place.offset, end, g_core->index, write, stamp, api});
  return true;
}

namespace {

bool Ordered(const GmAccess& earlier, const GmAccess& later) {
  return earlier.stamp.now <= later.stamp.known.at[earlier.stamp.pipe];
}

// The two accesses overlap and one of them writes.
void CheckPair(const GmTensor& tensor, const GmAccess& a, const GmAccess& b) {
  const auto at = static_cast<unsigned long long>(std::max(a.begin, b.begin));
  if (a.core != b.core) {
    g_core = g_machine.cores[a.write ? a.core : b.core].get();
    Report(Fault::kCrossCoreRace, a.api, tensor.name.c_str(),
           "%s core %d and %s core %d at byte %llu", a.write ? "write of" : "read of", a.core,
           b.write ? "write of" : "read of", b.core, at);
    return;
  }
  const bool same = a.stamp.pipe == b.stamp.pipe && a.stamp.now == b.stamp.now;
  if (same || Ordered(a, b) || Ordered(b, a)) return;
  g_core = g_machine.cores[a.core].get();
  Report(Fault::kGmHazard, a.api, tensor.name.c_str(), "%s (pipe %d) and %s (pipe %d) at byte %llu",
         a.write ? "write" : "read", a.stamp.pipe, b.write ? "write" : "read", b.stamp.pipe, at);
}

void Expire(std::vector<const GmAccess*>* active, uint64_t begin) {
  active->erase(std::remove_if(active->begin(), active->end(),
                               [begin](const GmAccess* access) { return access->end <= begin; }),
                active->end());
}

void SweepTensor(GmTensor* tensor) {
  std::vector<GmAccess>& accesses = tensor->accesses;
  std::sort(accesses.begin(), accesses.end(),
            [](const GmAccess& a, const GmAccess& b) { return a.begin < b.begin; });
  std::vector<const GmAccess*> reads, writes;
  for (const GmAccess& access : accesses) {
    Expire(&writes, access.begin);
    for (const GmAccess* other : writes) CheckPair(*tensor, *other, access);
    if (access.write) {
      Expire(&reads, access.begin);
      for (const GmAccess* other : reads) CheckPair(*tensor, *other, access);
    }
    (access.write ? writes : reads).push_back(&access);
    if (reads.size() > 1024) Expire(&reads, access.begin);
  }
  accesses.clear();
}

}  // namespace

void SweepGm() {
  Core* const running = g_core;
  for (const auto& tensor : g_machine.tensors) SweepTensor(tensor.get());
  g_core = running;
}

}  // namespace twin
