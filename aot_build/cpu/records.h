// SPDX-License-Identifier: Apache-2.0
// Stats and coefficients of a row, as strided float32 records. With them
//
//   log P(k | row)  = gap_k - log(row_sum)
//   d loss / d x_k  = exp(x_k - row_max) / row_sum * occupation
//                     - [k = blank] post_blank - [k = label] post_label
//
// row_sum is kept, not its logarithm: the lattice takes the logarithm in float64, the gradient
// divides.
#ifndef MINDSPORE_RNNT_CPU_RECORDS_H_
#define MINDSPORE_RNNT_CPU_RECORDS_H_

#include <cstdint>

namespace rnnt {

constexpr int64_t kStatsFloats = 4;
constexpr int64_t kCoefficientsFloats = 3;
// The state of RnntForward holds both in five floats: the coefficients overwrite the gaps.
constexpr int64_t kStateFloats = 5;
constexpr int64_t kStateCoefficients = 2;

// For input that holds log-probs, row_max is 0, row_sum is 1 and the gaps are the log-probs.
// A row_sum of 0 stands for a row without a cell (its four floats are 0): no arc leaves it.
struct Stats {
  float row_max;    // the largest logit
  float row_sum;    // sum of exp(x - row_max), at least 1
  float blank_gap;  // x[blank] - row_max
  float label_gap;  // x[label] - row_max; -inf for a row without a label arc
};

struct Coefficients {
  float occupation;  // post_blank + post_label
  float post_blank;  // posterior of the blank arc
  float post_label;  // posterior of the label arc, times 1 + fastemit_lambda
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
