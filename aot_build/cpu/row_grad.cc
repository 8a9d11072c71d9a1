// SPDX-License-Identifier: Apache-2.0
// Phase 3 over a batch or over rows.
#include <cstring>

#include "phases.h"
#include "threads.h"

namespace rnnt {

void RowGrad(const Batch& batch, Logits logits, const Options& options, Records<Stats> stats,
             Records<Coefficients> coefficients, const float* dloss, void* grad) {
  const auto kernel = CurrentLevel().row_grad[logits.dtype];
  const int64_t row_bytes = batch.V() * SizeOf(logits.dtype);
  const float one = 1.0f;
  ParallelRows(batch.rows(), batch.V(), [&](int64_t begin, int64_t end) {
    batch.ForEachRun(begin, end, [&](int64_t b, int64_t u, int64_t row, int64_t count) {
      char* const out = static_cast<char*>(grad) + row * row_bytes;
      if (b < 0) {
        memset(out, 0, count * row_bytes);
        return;
      }
      Rows rows = {};
      rows.x = static_cast<const char*>(logits.data) + row * row_bytes;
      rows.grad = out;
      rows.count = count;
      rows.V = batch.V();
      rows.labels = batch.row_labels(b) + u;
      rows.stats = stats.From(row);
      rows.coefficients = coefficients.From(row);
      rows.dloss = dloss == nullptr ? &one : dloss + b;
      rows.stream = batch.rows() * row_bytes >= kStreamBytes;
      kernel(rows, options);
    });
  });
}

void RowGrad(Rows rows, DType dtype, const Options& options) {
  const auto kernel = CurrentLevel().row_grad[dtype];
  rows.stream = rows.count * rows.V * SizeOf(dtype) >= kStreamBytes;
  ParallelRows(rows.count, rows.V, [&](int64_t begin, int64_t end) {
    kernel(rows.Slice(begin, end - begin, dtype), options);
  });
}

}  // namespace rnnt
