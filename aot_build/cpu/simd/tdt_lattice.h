// SPDX-License-Identifier: Apache-2.0
// Phase 2 of a token-and-duration transducer on one sample, in float64. With the log-probs blank,
// label and dur_d (log P(d) - sigma) of a cell, for each duration d:
//
//   blank arc, d > 0:   (t, u) -> (t + d, u)       blank(t, u) + dur_d(t, u)
//   label arc, d >= 0:  (t, u) -> (t + d, u + 1)   label(t, u) + dur_d(t, u), t + d < T
//
//   alpha(0, 0) = 0, beta(T, U) = 0, log P = alpha(T, U) = beta(0, 0)
//
// An arc leads from diagonal t + u to t + u + d or t + u + d + 1, so all cells of a diagonal follow
// from other diagonals at once. Lanes without an arc (a frame before 0 or behind T) are masked: what
// they load is memory of the sample, but of another cell. Vectors may run beyond the end of a
// diagonal, as in simd/lattice.h.
#ifndef MINDSPORE_RNNT_CPU_SIMD_TDT_LATTICE_H_
#define MINDSPORE_RNNT_CPU_SIMD_TDT_LATTICE_H_

#include "../level.h"
#include "constants.h"
#include "math.h"

namespace rnnt {

// The durations of frames [begin, end). False if one is NaN or +inf.
template <class Isa>
bool TdtDurations(const TdtLattice& lattice, const float* log_probs, float sigma, int64_t begin,
                  int64_t end) {
  const SampleLattice& cells = lattice.cells;
  bool usable = true;
  for (int64_t t = begin; t < end; ++t) {
    const float* frame = log_probs + (cells.row + t * cells.row_stride) * lattice.D;
    for (int64_t i = 0; i < lattice.D; ++i) {
      double* duration = lattice.duration(i);
      for (int64_t u = 0; u <= cells.U; ++u) {
        const double value = static_cast<double>(frame[u * lattice.D + i]) - sigma;
        usable &= value < kInfinity;
        duration[cells.start[t + u] + u] = value;
      }
    }
  }
  return usable;
}

// log of the sum of exp over the terms that each_term(visit) passes to visit.
template <class Isa, class EachTerm>
typename Isa::D LogSum(const EachTerm& each_term) {
  using D = typename Isa::D;
  D largest = Isa::Set(static_cast<double>(-kInfinity)), sum = D{};
  each_term([&](D x) { largest = Isa::Max(x, largest); });
  each_term([&](D x) { sum += ExpDouble<Isa>(x - largest); });
  return largest + Log<Isa>(Isa::Max(sum, Isa::Set(1.0)));  // all -inf: the sum is 0
}

template <class Isa>
double TdtAlpha(const TdtLattice& lattice) {
  using D = typename Isa::D;
  const SampleLattice& cells = lattice.cells;
  double* alpha = cells.alpha;
  const D none = Isa::Set(static_cast<double>(-kInfinity));
  alpha[cells.start[0]] = 0.0;
  const int64_t last = cells.diagonals();  // the diagonal of (T, U), where no label arc ends
  for (int64_t d = 1; d <= last; ++d) {
    for (int64_t u = d < last ? cells.low(d) : cells.U; u <= cells.high(d); u += Isa::kDoubles) {
      const D lanes = Isa::IotaDouble() + static_cast<double>(u);
      const auto each_arc = [&](auto visit) {
        for (int64_t i = 0; i < lattice.D; ++i) {
          const int64_t n = lattice.durations[i];
          if (n > d) continue;
          const auto starts = lanes <= static_cast<double>(d - n);  // t - n >= 0
          if (n > 0) {
            const int64_t from = cells.start[d - n] + u;
            const D arc = Isa::Load(alpha + from) + Isa::Load(cells.blank + from) +
                          Isa::Load(lattice.duration(i) + from);
            visit(starts ? arc : none);
          }
          if (n < d && d < last) {
            const int64_t from = cells.start[d - n - 1] + u - 1;
            const D arc = Isa::Load(alpha + from) + Isa::Load(cells.label + from) +
                          Isa::Load(lattice.duration(i) + from);
            visit(starts & (lanes >= 1.0) ? arc : none);
          }
        }
      };
      Isa::Store(alpha + cells.start[d] + u, LogSum<Isa>(each_arc));
    }
  }
  return alpha[cells.start[last] + cells.U];
}

// The arcs that leave cells (d - u, u), (d - u - 1, u + 1), ...: blank(i, x) and label(i, x) get the
// index of the duration and the arc's log-prob plus beta where it ends.
template <class Isa, class Blank, class Label>
__attribute__((always_inline)) inline void ForEachTdtArc(const TdtLattice& lattice, int64_t d,
                                                         int64_t u, const Blank& blank,
                                                         const Label& label) {
  using D = typename Isa::D;
  const SampleLattice& cells = lattice.cells;
  const int64_t last = cells.diagonals();
  const D none = Isa::Set(static_cast<double>(-kInfinity));
  const D lanes = Isa::IotaDouble() + static_cast<double>(u);
  const D of_blank = Isa::Load(cells.blank + cells.start[d] + u);
  const D of_label = Isa::Load(cells.label + cells.start[d] + u);
  const auto has_label = lanes < static_cast<double>(cells.U);
  for (int64_t i = 0; i < lattice.D; ++i) {
    const int64_t n = lattice.durations[i];
    if (n > last - d) continue;
    const D duration = Isa::Load(lattice.duration(i) + cells.start[d] + u);
    const auto ends = lanes > static_cast<double>(d + n - cells.T);  // t + n < T
    if (n > 0) {
      // t + n = T only from u = U, to the cell (T, U), which has a diagonal of its own.
      const auto valid = d + n < last ? ends : lanes == static_cast<double>(cells.U);
      const D arc = of_blank + duration + Isa::Load(cells.beta + cells.start[d + n] + u);
      blank(i, valid ? arc : none);
    }
    if (d + n + 1 < last) {
      const D arc = of_label + duration + Isa::Load(cells.beta + cells.start[d + n + 1] + u + 1);
      label(i, ends & has_label ? arc : none);
    }
  }
}

template <class Isa>
double TdtBeta(const TdtLattice& lattice) {
  using D = typename Isa::D;
  const SampleLattice& cells = lattice.cells;
  for (int64_t d = cells.diagonals() - 1; d >= 0; --d) {
    for (int64_t u = cells.high(d) + 1; u > cells.low(d);) {
      u -= Isa::kDoubles;
      const auto each_arc = [&](auto visit) {
        const auto term = [&](int64_t, D x) { visit(x); };
        ForEachTdtArc<Isa>(lattice, d, u, term, term);
      };
      Isa::Store(cells.beta + cells.start[d] + u, LogSum<Isa>(each_arc));
    }
  }
  return cells.beta[cells.start[0]];
}

// Of each arc exp(alpha(from) + its log-prob + beta(to) - log P), summed over durations for the
// coefficients, and over both arcs for the duration posteriors.
template <class Isa>
void TdtPosteriorsOf(const TdtLattice& lattice, double log_prob, float label_weight, int64_t begin,
                     int64_t end, const TdtPosteriors& out) {
  using D = typename Isa::D;
  constexpr int64_t kLanes = Isa::kDoubles;
  const SampleLattice& cells = lattice.cells;
  for (int64_t d = begin; d < end; ++d) {
    const int64_t high = cells.high(d);
    for (int64_t u = cells.low(d); u <= high; u += kLanes) {
      const int64_t n = high - u + 1 < kLanes ? high - u + 1 : kLanes;
      const int64_t row = cells.row + (d - u) * cells.row_stride + u;  // of lane 0
      const int64_t step = 1 - cells.row_stride;                       // to the next lane
      const D here = Isa::Load(cells.alpha + cells.start[d] + u) - log_prob;
      for (int64_t lane = 0; lane < n; ++lane) {
        float* durations = out.durations + (row + lane * step) * lattice.D;
        for (int64_t i = 0; i < lattice.D; ++i) durations[i] = 0.0f;
      }
      D post_blank = D{}, post_label = D{};
      const auto add = [&](int64_t i, D posterior) {
        for (int64_t lane = 0; lane < n; ++lane) {
          out.durations[(row + lane * step) * lattice.D + i] += static_cast<float>(posterior[lane]);
        }
      };
      ForEachTdtArc<Isa>(
          lattice, d, u,
          [&](int64_t i, D x) {
            const D posterior = ExpDouble<Isa>(Isa::Min(here + x, D{}));
            post_blank += posterior;
            add(i, posterior);
          },
          [&](int64_t i, D x) {
            const D posterior = ExpDouble<Isa>(Isa::Min(here + x, D{})) * label_weight;
            post_label += posterior;
            add(i, posterior);
          });
      const D occupation = post_blank + post_label;
      for (int64_t lane = 0; lane < n; ++lane) {
        out.coefficients[row + lane * step] = {static_cast<float>(occupation[lane]),
                                               static_cast<float>(post_blank[lane]),
                                               static_cast<float>(post_label[lane])};
      }
    }
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_TDT_LATTICE_H_
