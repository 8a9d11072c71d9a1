// SPDX-License-Identifier: Apache-2.0
// Allocation and layout of the lattices of a batch.
#include "lattice_memory.h"

#include <algorithm>
#include <limits>

namespace rnnt {
namespace {

// Lanes of the widest vector of doubles: a vector may run beyond both ends of a sample's cells.
constexpr int64_t kSlack = 8;

// The cells, a guard before each diagonal and before the final cell, that cell and one guard.
int64_t SizeOf(const Sample& s) { return s.cells() + s.T + s.U + 3 + 2 * kSlack; }

// Sets the start of each diagonal, the guards and the final cell. The cells begin at kSlack.
void Place(const SampleLattice& lattice, int64_t* start) {
  const auto set_guard = [&](int64_t cell) {
    for (double* values : {lattice.blank, lattice.label, lattice.alpha, lattice.beta}) {
      values[cell] = -std::numeric_limits<double>::infinity();
    }
  };
  int64_t cell = kSlack;
  for (int64_t d = 0; d < lattice.diagonals(); ++d) {
    set_guard(cell++);
    start[d] = cell - lattice.low(d);
    cell += lattice.high(d) - lattice.low(d) + 1;
  }
  set_guard(cell++);
  start[lattice.diagonals()] = cell - lattice.U;
  lattice.beta[cell++] = 0.0;
  set_guard(cell);
}

}  // namespace

LatticeMemory::LatticeMemory(const Batch& batch, int64_t more_arrays) : lattices_(batch.size()) {
  int64_t starts = 0;
  for (int64_t b = 0; b < batch.size(); ++b) {
    if (!batch[b].valid) continue;
    order_.push_back(b);
    cells_ += batch[b].cells();
    array_size_ += SizeOf(batch[b]);
    starts += batch[b].T + batch[b].U + 1;
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int64_t a, int64_t b) { return batch[a].cells() > batch[b].cells(); });
  starts_.resize(starts);
  values_.reset(new double[(4 + more_arrays) * array_size_]);

  int64_t* start = starts_.data();
  double* values = values_.get();
  for (const int64_t b : order_) {
    const Sample& s = batch[b];
    double *label = values + array_size_, *alpha = label + array_size_;
    double* beta = alpha + array_size_;
    lattices_[b] = {s.T, s.U, start, values, label, alpha, beta, s.row_base, s.row_stride};
    Place(lattices_[b], start);
    start += s.T + s.U + 1;
    values += SizeOf(s);
  }
}

}  // namespace rnnt
