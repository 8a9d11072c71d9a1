// SPDX-License-Identifier: Apache-2.0
#ifndef MINDSPORE_RNNT_CPU_THREADS_H_
#define MINDSPORE_RNNT_CPU_THREADS_H_

#include <cstdint>

namespace rnnt {

// The most threads a call may use: OpenMP's setting unless SetThreads gave another (0: OpenMP's
// again). 1 in a process forked off one that used threads, whose copy of the thread pool has no
// threads behind it.
int MaxThreads();
void SetThreads(int threads);

// As many threads as `work` is worth; its unit is about a nanosecond of one thread.
int ThreadsFor(int64_t work);

// Calls task(i) for each i in [0, count), in any order. Results must not depend on who does what.
template <class Task>
void ParallelFor(int64_t count, int64_t work, const Task& task) {
  const int threads = ThreadsFor(work);
  if (threads == 1 || count <= 1) {
    for (int64_t i = 0; i < count; ++i) task(i);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t i = 0; i < count; ++i) task(i);
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
