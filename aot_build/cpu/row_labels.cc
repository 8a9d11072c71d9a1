// SPDX-License-Identifier: Apache-2.0
// The label and the sample of each row, from the sizes of the batch.
#include <algorithm>
#include <cmath>
#include <limits>

#include "driver.h"
#include "threads.h"

namespace rnnt {

void RowLabels(const Problem& p, const RowLabelsOut& out) {
  Batch batch(p.shape, p.logit_lengths, p.target_lengths);
  batch.SetLabels(p.targets, p.options.blank);
  const int32_t one_class = p.options.rest ? p.options.blank : kNoLabelArc;
  for (int64_t b = 0; b < batch.size(); ++b) {
    const bool at_most_one = p.options.fused_log_softmax && !batch[b].blank_in_labels;
    const float least = at_most_one ? 0.0f : std::numeric_limits<float>::lowest();
    out.least_loss[b] = batch[b].valid ? least : NAN;
  }
  ParallelRows(batch.rows(), 1, [&](int64_t begin, int64_t end) {
    batch.ForEachRun(begin, end, [&](int64_t b, int64_t u, int64_t row, int64_t count) {
      std::fill_n(out.row_samples + row, count, b < 0 ? 0 : static_cast<int32_t>(b));
      if (b < 0) {
        std::fill_n(out.row_labels + row, count, kNoCell);
      } else {
        const int32_t* labels = batch.row_labels(b) + u;
        std::replace_copy(labels, labels + count, out.row_labels + row, one_class, kNoLabelArc);
      }
    });
  });
}

}  // namespace rnnt
