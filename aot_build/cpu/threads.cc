// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>

namespace rnnt {
namespace {

std::atomic<int> g_threads{0};
std::atomic<bool> g_forked{false};

[[maybe_unused]] const int g_at_fork = pthread_atfork(nullptr, nullptr, [] { g_forked = true; });

// One thread more than cores: MindSpore's calling thread spins while it waits for the kernel, on a
// core that the scheduler then shares out. Medians on 2 cores, (4, 250, 60, 1000) in jit: 38.7 ms
// with 2 threads, 34.2 ms with 3.
int DefaultThreads() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) + 1 : 1;
}

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
  int seats;  // for how many threads beside the caller
  int seated = 0;
  std::atomic<int64_t> next{0};

  void Work() {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(context, i);
  }
};

// Threads that wait for a job and leave it when it has no task left.
class Pool {
 public:
  // Does nothing if the pool is busy: with another caller's job, or with the one that this is a
  // task of.
  void Help(Job& job) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (job_ != nullptr) return;
    const int helpers = job.seats;
    Grow(helpers);
    job_ = &job;
    lock.unlock();
    for (int i = 0; i < helpers; ++i) wake_.NotifyOne();
    job.Work();
    lock.lock();
    job_ = nullptr;  // nobody sits down any more
    done_.Wait(lock, [&] { return job.seated == 0; });
  }

 private:
  void Grow(int threads) {
    try {
      for (; threads_ < threads; ++threads_) std::thread([this] { Serve(); }).detach();
    } catch (const std::system_error&) {
      // The system has no more threads to give; those there are will do.
    }
  }

  void Serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.Wait(lock, [&] { return job_ != nullptr && job_->seats > 0; });
      Job& job = *job_;
      --job.seats;
      ++job.seated;
      lock.unlock();
      job.Work();
      lock.lock();
      if (--job.seated == 0) done_.NotifyAll();
    }
  }

  std::mutex mutex_;
  Condition wake_, done_;
  Job* job_ = nullptr;
  int threads_ = 0;
};

}  // namespace

int MaxThreads() {
  static const int default_threads = DefaultThreads();
  if (g_forked) return 1;
  const int threads = g_threads;
  return threads > 0 ? threads : default_threads;
}

void SetThreads(int threads) { g_threads = std::max(threads, 0); }

void ParallelCalls(int64_t count, int threads, void (*task)(const void* context, int64_t i),
                   const void* context) {
  static Pool& pool = *new Pool;  // never destroyed: its threads outlive static destructors
  Job job{count, task, context, static_cast<int>(std::min<int64_t>(threads, count)) - 1};
  if (job.seats > 0) pool.Help(job);
  job.Work();  // all of it, if the pool did not help
}

}  // namespace rnnt
