// SPDX-License-Identifier: Apache-2.0
// The plain C functions of the library, which Python calls through ctypes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include "level.h"
#include "threads.h"

#define RNNT_EXPORT extern "C" __attribute__((visibility("default")))

RNNT_EXPORT const char* MindsporeRnntVersion() { return MINDSPORE_RNNT_VERSION; }

// Empty if MINDSPORE_RNNT_CPU names no level of this machine; operators then throw.
RNNT_EXPORT const char* MindsporeRnntCpuLevel() {
  try {
    return rnnt::CurrentLevel().name;
  } catch (const std::exception&) {
    return "";
  }
}

RNNT_EXPORT const char* MindsporeRnntCpuLevels() { return rnnt::SupportedLevels(); }

RNNT_EXPORT int MindsporeRnntSelectCpuLevel(const char* name) {
  return rnnt::SelectLevel(name) ? 0 : -1;
}

RNNT_EXPORT int MindsporeRnntThreads() { return rnnt::MaxThreads(); }

RNNT_EXPORT int MindsporeRnntMostThreads() { return rnnt::MostThreads(); }

RNNT_EXPORT void MindsporeRnntSetThreads(int threads) { rnnt::SetThreads(threads); }

using Entry = int(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                  void* stream, void* extra);

// An operator for callers that cannot catch C++ exceptions: what it would throw is written to
// `message`, and the result is -1.
RNNT_EXPORT int MindsporeRnntRun(Entry* entry, int nparam, void** params, int* ndims,
                                 int64_t** shapes, const char** dtypes, char* message,
                                 int64_t message_size) {
  try {
    return entry(nparam, params, ndims, shapes, dtypes, nullptr, nullptr);
  } catch (const std::exception& e) {
    snprintf(message, message_size, "%s", e.what());
    return -1;
  }
}

// Seconds of all threads to read src, then to read src and write dst: the lower bound of the time
// of any exact loss and gradient of logits of that size.
RNNT_EXPORT double MindsporeRnntStream(const void* src, void* dst, int64_t bytes) {
  constexpr int64_t kBlock = 1 << 17;
  const rnnt::Level& level = rnnt::CurrentLevel();
  const char* from = static_cast<const char*>(src);
  char* to = static_cast<char*>(dst);
  const auto each_block = [&](auto visit) {
    rnnt::ParallelFor((bytes + kBlock - 1) / kBlock, bytes / 16,
                      [&](int64_t i) { visit(i * kBlock, std::min(kBlock, bytes - i * kBlock)); });
  };
  const auto begin = std::chrono::steady_clock::now();
  each_block([&](int64_t at, int64_t size) {
    volatile float sink = level.read(from + at, size);
    (void)sink;
  });
  each_block([&](int64_t at, int64_t size) { level.copy(from + at, to + at, size); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
