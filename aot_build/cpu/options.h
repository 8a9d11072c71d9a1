// SPDX-License-Identifier: Apache-2.0
// Options of a call, decoded from the `params` tensor (rnnt_params.h has its slots).
#ifndef MINDSPORE_RNNT_CPU_OPTIONS_H_
#define MINDSPORE_RNNT_CPU_OPTIONS_H_

#include <cstdint>

namespace rnnt {

struct Options {
  int32_t blank;  // in [0, V), or -1: no such class
  float clamp;    // bound of the unit-upstream gradient, or infinity
  bool fused_log_softmax;
  float label_weight;  // 1 + fastemit_lambda
  bool zero_infinity;
  bool may_throw;
  // Of row_stats and row_grad alone, for logits: see simd/row_stats.h.
  float temperature = 1.0f;  // NaN: not a positive number, so every row is NaN
  bool rest = false;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_OPTIONS_H_
