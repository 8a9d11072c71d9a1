// SPDX-License-Identifier: Apache-2.0
// Phase 2 on one sample, in float64. blank(t, u) and label(t, u) are the log-probs of the arcs that
// leave cell (t, u).
//
//   alpha(t, u) = log(exp(alpha(t-1, u) + blank(t-1, u)) + exp(alpha(t, u-1) + label(t, u-1)))
//   beta(t, u)  = log(exp(blank(t, u) + beta(t+1, u)) + exp(label(t, u) + beta(t, u+1)))
//   log P = alpha(T-1, U) + blank(T-1, U) = beta(0, 0)
//
// All cells of a diagonal follow from the neighbouring diagonal. No lane is masked: the last vector
// of a diagonal may run beyond its end, into cells that the recursion writes later; then the guard
// cell in between is set again.
#ifndef MINDSPORE_RNNT_CPU_SIMD_LATTICE_H_
#define MINDSPORE_RNNT_CPU_SIMD_LATTICE_H_

#include "../level.h"
#include "constants.h"
#include "math.h"

namespace rnnt {

// The arcs of frames [begin, end): log P(k | row) = gap_k - log(row_sum). No arc leaves a cell that
// does not exist (row_sum = 0).
template <class Isa>
bool Arcs(const SampleLattice& lattice, Records<Stats> stats, int64_t begin, int64_t end) {
  constexpr int64_t kLanes = Isa::kDoubles;
  const int64_t U1 = lattice.U + 1;
  bool usable = true;
  for (int64_t t = begin; t < end; ++t) {
    for (int64_t u = 0; u < U1; u += kLanes) {
      const int64_t n = U1 - u < kLanes ? U1 - u : kLanes;
      const Records<Stats> cells = stats.From(lattice.row + t * lattice.row_stride + u);
      typename Isa::D row_sums = Isa::Set(1.0);
      for (int64_t i = 0; i < n; ++i) row_sums[i] = cells[i].row_sum;
      const typename Isa::D log_sums = Log<Isa>(row_sums);
      for (int64_t i = 0; i < n; ++i) {
        const Stats& s = cells[i];
        usable &= s.row_sum < kInfinity && s.blank_gap < kInfinity && s.label_gap < kInfinity;
        const int64_t cell = lattice.start[t + u + i] + u + i;
        const bool exists = s.row_sum != 0.0f;
        lattice.blank[cell] = exists ? s.blank_gap - log_sums[i] : -kInfinity;
        lattice.label[cell] = exists ? s.label_gap - log_sums[i] : -kInfinity;
      }
    }
  }
  return usable;
}

template <class Isa>
double Alpha(const SampleLattice& lattice) {
  double* alpha = lattice.alpha;
  alpha[lattice.start[0]] = 0.0;
  const int64_t last = lattice.diagonals() - 1;
  for (int64_t d = 1; d <= last; ++d) {
    const int64_t start = lattice.start[d], before = lattice.start[d - 1], high = lattice.high(d);
    for (int64_t u = lattice.low(d); u <= high; u += Isa::kDoubles) {
      const int64_t from = before + u;
      const typename Isa::D by_blank = Isa::Load(alpha + from) + Isa::Load(lattice.blank + from);
      const typename Isa::D by_label =
          Isa::Load(alpha + from - 1) + Isa::Load(lattice.label + from - 1);
      Isa::Store(alpha + start + u, LogAdd<Isa>(by_blank, by_label));
    }
    alpha[start + high + 1] = -kInfinity;
  }
  const int64_t final = lattice.start[last] + lattice.U;
  return alpha[final] + lattice.blank[final];
}

// Beta, where combine(by_blank, by_label) joins the paths through the two arcs of a cell.
template <class Isa, class Combine>
double BackwardPass(const SampleLattice& lattice, const Combine& combine) {
  double* beta = lattice.beta;
  for (int64_t d = lattice.diagonals() - 1; d >= 0; --d) {
    const int64_t start = lattice.start[d], after = lattice.start[d + 1], low = lattice.low(d);
    for (int64_t u = lattice.high(d) + 1; u > low;) {
      u -= Isa::kDoubles;
      const int64_t cell = start + u, to = after + u;
      const typename Isa::D by_blank = Isa::Load(lattice.blank + cell) + Isa::Load(beta + to);
      const typename Isa::D by_label = Isa::Load(lattice.label + cell) + Isa::Load(beta + to + 1);
      Isa::Store(beta + cell, combine(by_blank, by_label));
    }
    beta[start + low - 1] = -kInfinity;
  }
  return beta[lattice.start[0]];
}

template <class Isa>
double Beta(const SampleLattice& lattice) {
  using D = typename Isa::D;
  return BackwardPass<Isa>(lattice, [](D a, D b) { return LogAdd<Isa>(a, b); });
}

template <class Isa>
double Best(const SampleLattice& lattice) {
  using D = typename Isa::D;
  return BackwardPass<Isa>(lattice, [](D a, D b) { return Isa::Max(a, b); });
}

// post_blank(t, u) = exp(alpha(t, u) + blank(t, u) + beta(t+1, u) - log P)
// post_label(t, u) = exp(alpha(t, u) + label(t, u) + beta(t, u+1) - log P), and their sum is the
// cell's occupation.
template <class Isa>
void CoefficientsOf(const SampleLattice& lattice, double log_prob, float label_weight,
                    int64_t begin, int64_t end, Records<Coefficients> coefficients) {
  using D = typename Isa::D;
  constexpr int64_t kLanes = Isa::kDoubles;
  for (int64_t d = begin; d < end; ++d) {
    const int64_t start = lattice.start[d], after = lattice.start[d + 1], high = lattice.high(d);
    for (int64_t u = lattice.low(d); u <= high; u += kLanes) {
      const int64_t cell = start + u, to = after + u;
      const D here = Isa::Load(lattice.alpha + cell) - log_prob;
      const D by_blank = here + Isa::Load(lattice.blank + cell) + Isa::Load(lattice.beta + to);
      const D by_label = here + Isa::Load(lattice.label + cell) + Isa::Load(lattice.beta + to + 1);
      const D post_blank = ExpDouble<Isa>(Isa::Min(by_blank, D{}));
      const D post_label = ExpDouble<Isa>(Isa::Min(by_label, D{})) * label_weight;
      const D occupation = post_blank + post_label;
      for (int64_t i = 0; i < kLanes && u + i <= high; ++i) {
        const int64_t row = lattice.row + (d - u - i) * lattice.row_stride + u + i;
        coefficients[row] = {static_cast<float>(occupation[i]), static_cast<float>(post_blank[i]),
                             static_cast<float>(post_label[i])};
      }
    }
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_LATTICE_H_
