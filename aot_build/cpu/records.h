// SPDX-License-Identifier: Apache-2.0
// What the phases hand on for each row, as strided float32 records.
//
//   Stats:         row_max       the largest logit
//                  row_sum       sum of exp(x - row_max), >= 1; its logarithm is taken in float64
//                  by the lattice blank_gap     x[blank] - row_max label_gap     x[label] -
//                  row_max; -inf for a row without a label arc
//   Coefficients:  occupation    post_blank + post_label
//                  post_blank    posterior of the blank arc
//                  post_label    posterior of the label arc, times 1 + fastemit_lambda
//
// log P(k | row) = gap_k - log(row_sum) and d loss / d x_k = exp(x_k - row_max) / row_sum *
// occupation - [k = blank] post_blank - [k = label] post_label. Input that holds log-probs already
// has row_max 0 and row_sum 1.
#ifndef MINDSPORE_RNNT_CPU_RECORDS_H_
#define MINDSPORE_RNNT_CPU_RECORDS_H_

#include <cstdint>

namespace rnnt {

constexpr int64_t kStatsFloats = 4;
constexpr int64_t kCoefficientsFloats = 3;
// The state keeps both in five floats: the gaps are needed no more once there are coefficients.
constexpr int64_t kStateFloats = 5;
constexpr int64_t kStateCoefficients = 2;

struct Stats {
  float row_max, row_sum, blank_gap, label_gap;
};

struct Coefficients {
  float occupation, post_blank, post_label;
};

template <class Record>
struct Records {
  float* data;
  int64_t stride;  // in floats

  Record& operator[](int64_t row) const { return *reinterpret_cast<Record*>(data + row * stride); }
  Records From(int64_t row) const { return {data + row * stride, stride}; }
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_RECORDS_H_
