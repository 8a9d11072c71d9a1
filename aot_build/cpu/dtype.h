// SPDX-License-Identifier: Apache-2.0
// Element types of logits and gradients. Half and BFloat16 are storage only: arithmetic is float32.
#ifndef MINDSPORE_RNNT_CPU_DTYPE_H_
#define MINDSPORE_RNNT_CPU_DTYPE_H_

#include <cstdint>

namespace rnnt {

struct Half {
  uint16_t bits;
};

struct BFloat16 {
  uint16_t bits;
};

enum DType { kFloat32, kFloat16, kBFloat16 };
constexpr int kDTypes = 3;

constexpr int64_t SizeOf(DType dtype) { return dtype == kFloat32 ? 4 : 2; }

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_DTYPE_H_
