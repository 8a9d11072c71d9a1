// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

namespace rnnt {
namespace {

std::atomic<int> g_threads{0};
std::atomic<bool> g_forked{false};

[[maybe_unused]] const int g_at_fork = pthread_atfork(nullptr, nullptr, [] { g_forked = true; });

}  // namespace

int MaxThreads() {
  if (g_forked) return 1;
  const int threads = g_threads;
  return threads > 0 ? threads : omp_get_max_threads();
}

void SetThreads(int threads) { g_threads = std::max(threads, 0); }

int ThreadsFor(int64_t work) {
  constexpr int64_t kWorthAThread = 20000;  // waking one costs a few microseconds
  if (work < 2 * kWorthAThread || omp_in_parallel()) return 1;
  return static_cast<int>(std::min<int64_t>(MaxThreads(), work / kWorthAThread));
}

}  // namespace rnnt
