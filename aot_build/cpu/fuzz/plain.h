// SPDX-License-Identifier: Apache-2.0
// The oracle: losses, posteriors and the best path of one sample in plain float64, cell by cell.
#ifndef MINDSPORE_RNNT_CPU_FUZZ_PLAIN_H_
#define MINDSPORE_RNNT_CPU_FUZZ_PLAIN_H_

#include <cstdint>
#include <vector>

namespace fuzz {

using Doubles = std::vector<double>;

// Arcs of cell (t, u) at t * (U + 1) + u. With durations, the log-prob of an arc is the sum of its
// own and of duration i, at cell * D + i. Plain RNN-T: no durations.
struct Lattice {
  int64_t T, U;
  Doubles blank, label;
  std::vector<int32_t> durations;
  Doubles duration_log_probs;
};

struct Posteriors {
  double loss;
  Doubles blank, label, durations;  // posteriors of arcs, and of the durations of both
};

Posteriors PlainPosteriors(const Lattice& lattice);

// The log-prob of the best path; -inf if there is none.
double PlainBest(const Lattice& lattice);

Doubles PlainLogSoftmax(const float* row, int64_t V, double temperature = 1.0);

}  // namespace fuzz

#endif  // MINDSPORE_RNNT_CPU_FUZZ_PLAIN_H_
