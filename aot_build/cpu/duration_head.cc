// SPDX-License-Identifier: Apache-2.0
// Phases 1 and 3 of the duration head of a token-and-duration transducer.
#include "phases.h"
#include "threads.h"

namespace rnnt {
namespace {

template <class Kernel>
void EachPart(const DurationRows& rows, DType dtype, const Kernel& kernel) {
  if (rows.D == 0) return;
  ParallelRows(rows.count, 16 * rows.D, [&](int64_t begin, int64_t end) {
    DurationRows part = rows;
    const int64_t entries = begin * rows.D, bytes = entries * SizeOf(dtype);
    part.count = end - begin;
    part.x = static_cast<const char*>(rows.x) + bytes;
    part.labels += begin;
    part.log_probs += entries;
    part.coefficients = rows.coefficients.From(begin);
    part.posteriors += entries;
    part.dloss += begin;
    part.grad = static_cast<char*>(rows.grad) + bytes;
    kernel(part);
  });
}

}  // namespace

void DurationLogProbs(const DurationRows& rows, DType dtype) {
  EachPart(rows, dtype, CurrentLevel().duration_log_probs[dtype]);
}

void DurationGrad(const DurationRows& rows, DType dtype) {
  EachPart(rows, dtype, CurrentLevel().duration_grad[dtype]);
}

}  // namespace rnnt
