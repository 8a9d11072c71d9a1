// SPDX-License-Identifier: Apache-2.0
// The lattices of a batch divided into tasks of similar size.
#ifndef MINDSPORE_RNNT_CPU_LATTICE_TASKS_H_
#define MINDSPORE_RNNT_CPU_LATTICE_TASKS_H_

#include <atomic>
#include <vector>

#include "lattice_memory.h"
#include "threads.h"

namespace rnnt {

// A task for one thread: frames or diagonals [begin, end) of sample b.
struct Part {
  int64_t b, begin, end;
};

std::vector<Part> DivideFrames(const LatticeMemory& lattices);
std::vector<Part> DivideDiagonals(const LatticeMemory& lattices);

// Fills the arcs of all lattices: fill(part) writes those of frames [begin, end) and returns whether
// they are log-probs or -inf. Returns that of whole samples; a sample with NaN or +inf has no loss.
template <class Fill>
std::vector<char> FillArcs(const LatticeMemory& lattices, int64_t work, const Fill& fill) {
  const std::vector<Part> parts = DivideFrames(lattices);
  std::vector<std::atomic<bool>> unusable(lattices.size());
  ParallelFor(parts.size(), work, [&](int64_t i) {
    if (!fill(parts[i])) unusable[parts[i].b] = true;
  });
  std::vector<char> usable(unusable.size());
  for (size_t b = 0; b < usable.size(); ++b) usable[b] = !unusable[b];
  return usable;
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_LATTICE_TASKS_H_
