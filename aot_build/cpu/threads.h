// SPDX-License-Identifier: Apache-2.0
// A parallel loop that never waits for a thread which has not begun.
//
// An OpenMP region ends with a barrier for its whole team. Where cores are shared, with other
// processes or with MindSpore's own threads, the caller then spins until the scheduler lets every
// member run: measured, 8 ms a region on a busy 2-core host, 40 ms for a loss that takes 3 ms on
// one thread. Here the caller works until nothing is left and waits only for tasks that someone has
// in hand.
#ifndef MINDSPORE_RNNT_CPU_THREADS_H_
#define MINDSPORE_RNNT_CPU_THREADS_H_

#include <cstdint>

namespace rnnt {

// The most threads a call may use: one more than the cores the process may run on, unless
// SetThreads gave another number (0: back to that). 1 in a forked child, where no thread but the
// forking one lives on.
int MaxThreads();
void SetThreads(int threads);

// Calls task(context, i) for each i in [0, count), in any order, on up to `threads` threads.
void ParallelCalls(int64_t count, int threads, void (*task)(const void* context, int64_t i),
                   const void* context);

// Calls task(i) for each i in [0, count), in any order; results must not depend on who does what.
// `work` is about the nanoseconds that one thread would take: a small problem gets one thread.
template <class Task>
void ParallelFor(int64_t count, int64_t work, const Task& task) {
  constexpr int64_t kWorthAThread = 20000;  // waking one costs a few microseconds
  const int64_t worth = work / kWorthAThread, most = MaxThreads();
  const auto call = [](const void* context, int64_t i) { (*static_cast<const Task*>(context))(i); };
  ParallelCalls(count, static_cast<int>(worth < most ? worth : most), call, &task);
}

// Calls task(begin, end) for ranges that cover `rows` rows of V entries. Ranges are the same for
// any thread count.
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
