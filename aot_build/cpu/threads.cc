// SPDX-License-Identifier: Apache-2.0
// The thread pool behind ParallelFor.
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>

#include "arithmetic.h"

namespace rnnt {
namespace {

std::atomic<int> g_threads{0};
std::atomic<bool> g_forked{false};

[[maybe_unused]] const int g_at_fork = pthread_atfork(nullptr, nullptr, [] { g_forked = true; });

// The CPUs that this process may run on. The kernel refuses a set with fewer bits than it has CPUs
// in its own, and a cpu_set_t has 1024.
int UsableCpus() {
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    cpu_set_t* cpus = CPU_ALLOC(bits);
    if (cpus == nullptr) break;
    const size_t size = CPU_ALLOC_SIZE(bits);
    const int count = sched_getaffinity(0, size, cpus) == 0 ? CPU_COUNT_S(size, cpus) : 0;
    CPU_FREE(cpus);
    if (count > 0) return count;
  }
  return 1;
}

// One thread more than CPUs: MindSpore's calling thread spins while it waits for the kernel, on a
// core that the scheduler then shares out. Medians on 2 cores, (4, 250, 60, 1000) in jit: 38.7 ms
// with 2 threads, 34.2 ms with 3.
int DefaultThreads() { return UsableCpus() + 1; }

// A condition variable of POSIX. std::condition_variable::wait has a symbol version of GCC 12,
// which would keep the library from systems with an older libstdc++.
class Condition {
 public:
  void NotifyOne() { pthread_cond_signal(&condition_); }
  void NotifyAll() { pthread_cond_broadcast(&condition_); }

  template <class Predicate>
  void Wait(std::unique_lock<std::mutex>& lock, const Predicate& predicate) {
    while (!predicate()) pthread_cond_wait(&condition_, lock.mutex()->native_handle());
  }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

struct Job {
  int64_t count;
  void (*task)(const void* context, int64_t i);
  const void* context;
  int helpers;      // threads that may still join the caller
  int running = 0;  // threads that have joined and not finished
  std::atomic<int64_t> next{0};

  void Work() {
    const IeeeArithmetic ieee;
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(context, i);
  }
};

// Threads that take tasks of the current job.
class Pool {
 public:
  // Runs the job on the caller and on helpers. Does nothing if the pool is busy, be it with the job
  // of another caller or with the job that the caller is a task of.
  void Help(Job& job) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (job_ != nullptr) return;
    const int helpers = job.helpers;
    Grow(helpers);
    job_ = &job;
    lock.unlock();
    for (int i = 0; i < helpers; ++i) wake_.NotifyOne();
    job.Work();
    lock.lock();
    job_ = nullptr;  // no further thread joins
    done_.Wait(lock, [&] { return job.running == 0; });
  }

 private:
  void Grow(int threads) {
    try {
      for (; threads_ < threads; ++threads_) std::thread([this] { Serve(); }).detach();
    } catch (const std::exception&) {
      // No further thread or no memory for it. The job runs on those that exist.
    }
  }

  void Serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.Wait(lock, [&] { return job_ != nullptr && job_->helpers > 0; });
      Job& job = *job_;
      --job.helpers;
      ++job.running;
      lock.unlock();
      job.Work();
      lock.lock();
      if (--job.running == 0) done_.NotifyAll();
    }
  }

  std::mutex mutex_;
  Condition wake_, done_;
  Job* job_ = nullptr;
  int threads_ = 0;
};

// No static within a function: a child that was forked during its initialisation would wait for it.
// Nothing here is destroyed: the threads outlive static destructors.
Pool g_pool;
const int g_default_threads = DefaultThreads();
const int g_most_threads = std::max<int>(64, 2 * static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
static_assert(std::is_trivially_destructible_v<Pool>);

}  // namespace

int MaxThreads() {
  if (g_forked) return 1;
  const int threads = g_threads;
  return threads > 0 ? threads : g_default_threads;
}

void SetThreads(int threads) { g_threads = std::min(std::max(threads, 0), MostThreads()); }

int MostThreads() { return g_most_threads; }

void ParallelCalls(int64_t count, int threads, void (*task)(const void* context, int64_t i),
                   const void* context) {
  Job job{count, task, context, static_cast<int>(std::min<int64_t>(threads, count)) - 1};
  if (job.helpers > 0) g_pool.Help(job);
  job.Work();  // all of it, if the pool was busy
}

}  // namespace rnnt
