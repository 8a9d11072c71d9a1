// SPDX-License-Identifier: Apache-2.0
// Selection of the SIMD level: the best of this machine, or the one that MINDSPORE_RNNT_CPU names.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "level.h"

namespace rnnt {

extern const Level kPortableLevel;
#if defined(__x86_64__)
extern const Level kAvx2Level, kAvx512Level;
#elif defined(__aarch64__)
extern const Level kNeonLevel;
#endif

namespace {

struct Candidate {
  const Level* level;
  bool supported;
};

#if defined(__x86_64__)
// __builtin_cpu_supports of compilers before g++ 11 has no name for F16C.
bool HasF16c() {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

// visit(level) for the levels of this machine, best first, until it returns true.
template <class Visit>
void ForEachLevel(const Visit& visit) {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this may run before other constructors
#endif
  const Candidate candidates[] = {
#if defined(__x86_64__)
      {&kAvx512Level, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") &&
                          HasF16c()},
      {&kAvx2Level, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c()},
#elif defined(__aarch64__)
      {&kNeonLevel, true},  // part of Armv8-A
#endif
      {&kPortableLevel, true},
  };
  for (const Candidate& c : candidates) {
    if (c.supported && visit(*c.level)) return;
  }
}

// Null if this machine has no level of that name; without a name, the best.
const Level* Find(const char* name) {
  const Level* found = nullptr;
  ForEachLevel([&](const Level& level) {
    if (name == nullptr || strcmp(level.name, name) == 0) found = &level;
    return found != nullptr;
  });
  return found;
}

std::string JoinedNames() {
  std::string names;
  ForEachLevel([&](const Level& level) {
    names += (names.empty() ? "" : ",") + std::string(level.name);
    return false;
  });
  return names;
}

std::atomic<const Level*> g_level{nullptr};
// Found when the library is loaded: a static within a function would make a child wait that was
// forked during its initialisation.
const std::string g_supported_levels = JoinedNames();

}  // namespace

const Level& CurrentLevel() {
  const Level* level = g_level.load(std::memory_order_acquire);
  if (level == nullptr) {
    const char* name = getenv("MINDSPORE_RNNT_CPU");
    level = Find(name == nullptr || *name == '\0' ? nullptr : name);
    if (level == nullptr) {
      throw std::runtime_error(std::string("MINDSPORE_RNNT_CPU must be one of ") +
                               SupportedLevels() + " on this machine, but is '" + name + "'");
    }
    g_level.store(level, std::memory_order_release);
  }
  return *level;
}

bool SelectLevel(const char* name) {
  const Level* level = Find(name);
  if (level != nullptr) g_level.store(level, std::memory_order_release);
  return level != nullptr;
}

const char* SupportedLevels() { return g_supported_levels.c_str(); }

}  // namespace rnnt
