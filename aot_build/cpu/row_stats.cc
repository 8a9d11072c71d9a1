// SPDX-License-Identifier: Apache-2.0
// Phase 1 over a batch or over rows.
#include "phases.h"
#include "threads.h"

namespace rnnt {

void RowStats(const Batch& batch, Logits logits, const Options& options, Records<Stats> stats) {
  const auto kernel = CurrentLevel().row_stats[logits.dtype];
  const int64_t row_bytes = batch.V() * SizeOf(logits.dtype);
  ParallelRows(batch.rows(), batch.V(), [&](int64_t begin, int64_t end) {
    batch.ForEachRun(begin, end, [&](int64_t b, int64_t u, int64_t row, int64_t count) {
      if (b < 0) return;
      Rows rows = {};
      rows.x = static_cast<const char*>(logits.data) + row * row_bytes;
      rows.count = count;
      rows.V = batch.V();
      rows.labels = batch.row_labels(b) + u;
      rows.stats = stats.From(row);
      kernel(rows, options);
    });
  });
}

void RowStats(const Rows& rows, DType dtype, const Options& options) {
  const auto kernel = CurrentLevel().row_stats[dtype];
  ParallelRows(rows.count, rows.V, [&](int64_t begin, int64_t end) {
    kernel(rows.Slice(begin, end - begin, dtype), options);
  });
}

}  // namespace rnnt
