// SPDX-License-Identifier: Apache-2.0
// Phases 1 and 3 of the duration head of a token-and-duration transducer.
#include "phases.h"
#include "threads.h"

namespace rnnt {
namespace {

// Calls kernel(part, begin) on parts of the rows, of which only what both phases read is moved.
template <class Kernel>
void EachPart(const DurationRows& rows, DType dtype, const Kernel& kernel) {
  if (rows.D == 0) return;
  ParallelRows(rows.count, 16 * rows.D, [&](int64_t begin, int64_t end) {
    DurationRows part = rows;
    part.count = end - begin;
    part.x = static_cast<const char*>(rows.x) + begin * rows.D * SizeOf(dtype);
    part.labels += begin;
    kernel(part, begin);
  });
}

}  // namespace

void DurationLogProbs(const DurationRows& rows, DType dtype) {
  const auto kernel = CurrentLevel().duration_log_probs[dtype];
  EachPart(rows, dtype, [&](DurationRows part, int64_t begin) {
    part.log_probs += begin * rows.D;
    kernel(part);
  });
}

void DurationGrad(const DurationRows& rows, DType dtype) {
  const auto kernel = CurrentLevel().duration_grad[dtype];
  EachPart(rows, dtype, [&](DurationRows part, int64_t begin) {
    part.coefficients = rows.coefficients.From(begin);
    part.posteriors += begin * rows.D;
    part.dloss += begin;
    part.grad = static_cast<char*>(rows.grad) + begin * rows.D * SizeOf(dtype);
    kernel(part);
  });
}

}  // namespace rnnt
