// SPDX-License-Identifier: Apache-2.0
// Global memory: named tensors with exact sizes, which bytes hold data, and who touched what
// between two SyncAlls.
#ifndef TWIN_MODEL_GM_H_
#define TWIN_MODEL_GM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/clock.h"

namespace twin {

enum class GmKind : int { kInput = 0, kOutput = 1, kWorkspace = 2, kInOut = 3 };

constexpr int kBurstClasses = 4;  // < 64 bytes, < 512 bytes, < 16 KiB, the rest
inline int BurstClass(uint64_t bytes) {
  return bytes < 64 ? 0 : bytes < 512 ? 1 : bytes < 16384 ? 2 : 3;
}

struct GmTraffic {
  uint64_t bytes = 0;
  uint64_t bursts[kBurstClasses] = {};
  uint64_t aligned_512 = 0;
};

// One core's access to [begin, end) of a tensor.
struct GmAccess {
  uint64_t begin, end;
  int core;
  bool write;
  Stamp stamp;
  const char* api;
};

struct GmTensor {
  std::string name;
  uint8_t* base = nullptr;
  uint64_t size = 0;
  GmKind kind = GmKind::kInput;
  std::vector<uint64_t> filled;    // bit per byte; empty: all bytes hold data
  std::vector<GmAccess> accesses;  // since the last SyncAll; inputs keep none
  GmTraffic read, written;

  void Fill(uint64_t begin, uint64_t end);
  bool Filled(uint64_t begin, uint64_t end) const;
  uint64_t CountUnfilled() const;
};

// A pointer of the kernel with what is left of its tensor.
struct GmPlace {
  GmTensor* tensor = nullptr;
  uint64_t offset = 0;
};

GmPlace FindGm(const void* address);

// Checks and counts one contiguous access of the running core. False: it must not be executed.
// `limit` is the end of the GlobalTensor in bytes of the tensor.
bool TouchGm(const char* api, const Stamp& stamp, const GmPlace& place, uint64_t bytes, bool write,
             uint64_t limit);

// Looks for cross-core races and unordered accesses of one core; called at SyncAll and at the end.
void SweepGm();

}  // namespace twin

#endif  // TWIN_MODEL_GM_H_
