// SPDX-License-Identifier: Apache-2.0
// The lattices of a batch in tasks of similar size, and the first of these tasks: the arcs.
#ifndef MINDSPORE_RNNT_CPU_LATTICE_TASKS_H_
#define MINDSPORE_RNNT_CPU_LATTICE_TASKS_H_

#include <vector>

#include "lattice_memory.h"
#include "records.h"

namespace rnnt {

// A task for one thread: frames or diagonals [begin, end) of sample b.
struct Part {
  int64_t b, begin, end;
};

std::vector<Part> DivideFrames(const LatticeMemory& lattices);
std::vector<Part> DivideDiagonals(const LatticeMemory& lattices);

// Fills the arcs of all lattices. Returns for each sample whether all its arcs are log-probs or
// -inf; a sample with NaN or +inf has no loss.
std::vector<char> FillArcs(const LatticeMemory& lattices, Records<Stats> stats);

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_LATTICE_TASKS_H_
