// SPDX-License-Identifier: Apache-2.0
// A parallel loop that never waits for a thread which has not started.
//
// An OpenMP region ends with a barrier for its whole team. Where cores are shared, with other
// processes or with MindSpore's own threads, the caller then waits until the scheduler has run
// every member: measured, 8 ms a region on a busy 2-core host, 40 ms for a loss that takes 3 ms on
// one thread. Here the caller takes tasks until none is left, and waits only for tasks that another
// thread has started.
#ifndef MINDSPORE_RNNT_CPU_THREADS_H_
#define MINDSPORE_RNNT_CPU_THREADS_H_

#include <cstdint>

namespace rnnt {

// The most threads of a call: one more than the CPUs that the process may run on, unless SetThreads
// set another number (0 restores the default). 1 in a forked child, which has no thread but the one
// that forked.
int MaxThreads();
void SetThreads(int threads);

// The ceiling of SetThreads, because threads that have started stay: twice the CPUs of the machine,
// at least 64.
int MostThreads();

// Calls task(context, i) for each i in [0, count), in any order, on up to `threads` threads.
void ParallelCalls(int64_t count, int threads, void (*task)(const void* context, int64_t i),
                   const void* context);

// Calls task(i) for each i in [0, count), in any order; results must not depend on the thread that
// runs a task. `work` is roughly the time of one thread in ns: a small problem gets one thread.
template <class Task>
void ParallelFor(int64_t count, int64_t work, const Task& task) {
  constexpr int64_t kWorkOfThread = 20000;  // to wake a thread costs a few microseconds
  const int64_t useful = work / kWorkOfThread, most = MaxThreads();
  const auto call = [](const void* context, int64_t i) { (*static_cast<const Task*>(context))(i); };
  ParallelCalls(count, static_cast<int>(useful < most ? useful : most), call, &task);
}

// Calls task(begin, end) for ranges that cover `rows` rows of V entries. The ranges do not depend
// on the number of threads.
template <class Task>
void ParallelRows(int64_t rows, int64_t V, const Task& task) {
  constexpr int64_t kEntries = 32768;
  const int64_t size = V < kEntries ? kEntries / (V > 0 ? V : 1) : 1;
  const int64_t work = rows * (V + 50) / 4;
  ParallelFor((rows + size - 1) / size, work, [&](int64_t i) {
    const int64_t begin = i * size;
    task(begin, begin + size < rows ? begin + size : rows);
  });
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_THREADS_H_
