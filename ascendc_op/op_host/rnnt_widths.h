// SPDX-License-Identifier: Apache-2.0
// How many floats a row of logits has in the tensors that operators hand to each other.
#ifndef MINDSPORE_RNNT_RNNT_WIDTHS_H_
#define MINDSPORE_RNNT_RNNT_WIDTHS_H_

#include <cstdint>

namespace rnnt {

constexpr int64_t kStateWidth = 5;         // row_max, log_sum, occupation, post_blank, post_label
constexpr int64_t kStatsWidth = 4;         // row_max, row_sum, blank_gap, label_gap
constexpr int64_t kCoefficientsWidth = 3;  // occupation, post_blank, post_label

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_WIDTHS_H_
