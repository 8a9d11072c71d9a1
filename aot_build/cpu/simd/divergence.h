// SPDX-License-Identifier: Apache-2.0
// How far the student's distribution over blank, label and rest is from the teacher's, row by row in
// float64. With p of the teacher and q of the student, from stats whose row_sum is that of the rest:
//
//   sum = row_sum + exp(blank_gap) + exp(label_gap)    log p = log of the class - log sum
//   divergence = sum of p log(p / q), 0 for p = 0
//
//   occupation = q_rest - p_rest, post_blank = p_blank - q_blank, post_label = p_label - q_label
//
// over the temperature: row_grad makes softmax_k (1 - p / q) of the rest, q - p of the others.
#ifndef MINDSPORE_RNNT_CPU_SIMD_DIVERGENCE_H_
#define MINDSPORE_RNNT_CPU_SIMD_DIVERGENCE_H_

#include "../level.h"
#include "constants.h"
#include "math.h"

namespace rnnt {

// Of kDoubles rows: blank, label, rest.
template <class Isa>
struct Classes {
  typename Isa::D log_p[3], p[3];
};

// log(x) for x >= 0: -inf of 0, NaN of NaN.
template <class Isa>
typename Isa::D LogOf(typename Isa::D x) {
  return x == 0.0 ? Isa::Set(static_cast<double>(-kInfinity)) : Log<Isa>(x) + (x - x);
}

template <class Isa>
Classes<Isa> ClassesOf(Records<Stats> stats, int64_t begin, int64_t count) {
  using D = typename Isa::D;
  D blank = D{}, label = D{}, rest = D{};
  for (int i = 0; i < Isa::kDoubles; ++i) {
    const int64_t r = begin + i < count ? begin + i : count - 1;
    const Stats& s = stats[r];
    blank[i] = s.blank_gap;
    label[i] = s.label_gap;
    rest[i] = s.row_sum;
  }
  const auto exp = [](D gap) { return ExpDouble<Isa>(gap) + (gap == gap ? D{} : gap); };
  const D of_blank = exp(blank), of_label = exp(label), sum = rest + of_blank + of_label;
  const D log_sum = LogOf<Isa>(sum);
  return {{blank - log_sum, label - log_sum, LogOf<Isa>(rest) - log_sum},
          {of_blank / sum, of_label / sum, rest / sum}};
}

template <class Isa>
void DivergenceOf(const DivergenceRows& rows) {
  using D = typename Isa::D;
  for (int64_t begin = 0; begin < rows.count; begin += Isa::kDoubles) {
    const Classes<Isa> teacher = ClassesOf<Isa>(rows.teacher, begin, rows.count);
    const Classes<Isa> student = ClassesOf<Isa>(rows.student, begin, rows.count);
    D divergence = D{}, difference[3];
    for (int c = 0; c < 3; ++c) {
      const D p = teacher.p[c];
      divergence += p == 0.0 ? D{} : p * (teacher.log_p[c] - student.log_p[c]);
      difference[c] = (p - student.p[c]) / rows.temperature;
    }
    for (int i = 0; i < Isa::kDoubles && begin + i < rows.count; ++i) {
      const int64_t r = begin + i;
      const bool is_cell = rows.labels[r] != kNoCell;
      rows.divergence[r] = is_cell ? divergence[i] : 0.0;
      rows.coefficients[r] = {};
      if (is_cell) {
        rows.coefficients[r] = {static_cast<float>(-difference[2][i]),
                                static_cast<float>(difference[0][i]),
                                static_cast<float>(difference[1][i])};
      }
    }
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_DIVERGENCE_H_
