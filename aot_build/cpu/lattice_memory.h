// SPDX-License-Identifier: Apache-2.0
// The memory of the lattices of a batch, see SampleLattice.
#ifndef MINDSPORE_RNNT_CPU_LATTICE_MEMORY_H_
#define MINDSPORE_RNNT_CPU_LATTICE_MEMORY_H_

#include <memory>
#include <vector>

#include "batch.h"

namespace rnnt {

// The lattices of the valid samples, one after another. Guards and final cells are set.
class LatticeMemory {
 public:
  // more_arrays: beside blank, label, alpha and beta, for the caller's use.
  explicit LatticeMemory(const Batch& batch, int64_t more_arrays = 0);

  const SampleLattice& operator[](int64_t b) const { return lattices_[b]; }
  // The valid samples, largest first.
  const std::vector<int64_t>& order() const { return order_; }
  int64_t size() const { return static_cast<int64_t>(lattices_.size()); }
  int64_t cells() const { return cells_; }
  // The first of more_arrays of sample b, and the distance to the next.
  double* more(int64_t b) const { return lattices_[b].blank + 4 * array_size_; }
  int64_t array_size() const { return array_size_; }

 private:
  std::vector<SampleLattice> lattices_;
  std::vector<int64_t> order_;
  int64_t cells_ = 0, array_size_ = 0;
  std::vector<int64_t> starts_;
  std::unique_ptr<double[]> values_;  // arrays: blank, label, alpha, beta, more
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_LATTICE_MEMORY_H_
