// SPDX-License-Identifier: Apache-2.0
// The plain stream of the benchmark: the same memory traffic with almost no arithmetic.
#ifndef MINDSPORE_RNNT_CPU_SIMD_STREAM_H_
#define MINDSPORE_RNNT_CPU_SIMD_STREAM_H_

#include "row_grad.h"
#include "row_stats.h"

namespace rnnt {

template <class Isa>
float Read(const void* x, int64_t bytes) {
  return RowMax<Isa>(static_cast<const float*>(x), bytes / 4, kLowest);
}

template <class Isa>
void Copy(const void* x, void* y, int64_t bytes) {
  ScaleOf<Isa, float>(x, 1.0f, y, bytes / 4, true);
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_SIMD_STREAM_H_
