// SPDX-License-Identifier: Apache-2.0
// Division of lattices into tasks.
#include "lattice_tasks.h"

#include <algorithm>

namespace rnnt {
namespace {

// Divides [0, count(lattice)) of each sample, largest sample first.
template <class Count>
std::vector<Part> Divide(const LatticeMemory& lattices, const Count& count_of) {
  constexpr int64_t kCells = 4096;
  std::vector<Part> parts;
  for (const int64_t b : lattices.order()) {
    const SampleLattice& lattice = lattices[b];
    const int64_t count = count_of(lattice);
    const int64_t step = std::max<int64_t>(1, kCells * count / (lattice.T * (lattice.U + 1)));
    for (int64_t begin = 0; begin < count; begin += step) {
      parts.push_back({b, begin, std::min(begin + step, count)});
    }
  }
  return parts;
}

}  // namespace

std::vector<Part> DivideFrames(const LatticeMemory& lattices) {
  return Divide(lattices, [](const SampleLattice& lattice) { return lattice.T; });
}

std::vector<Part> DivideDiagonals(const LatticeMemory& lattices) {
  return Divide(lattices, [](const SampleLattice& lattice) { return lattice.diagonals(); });
}

}  // namespace rnnt
