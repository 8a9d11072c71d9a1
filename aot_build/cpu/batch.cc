// SPDX-License-Identifier: Apache-2.0
// The rows of each sample, from the lengths; checks of lengths and labels.
#include "batch.h"

namespace rnnt {

Batch::Batch(const BatchShape& shape, const int32_t* logit_lengths, const int32_t* target_lengths)
    : shape_(shape), samples_(shape.B) {
  const bool padded = shape_.max_u1 > 0;
  int64_t next_row = 0;
  bool adds_up = true;
  for (int64_t b = 0; b < size(); ++b) {
    const int64_t T = logit_lengths[b], U = target_lengths[b];
    Sample& s = samples_[b];
    s.T = T;
    s.U = U;
    s.valid = T >= 1 && U >= 0 && U <= shape_.max_u;
    s.blank_in_labels = true;
    s.row_base = next_row;
    if (padded) {
      s.valid = s.valid && T <= shape_.max_t && U < shape_.max_u1;
      s.row_stride = shape_.max_u1;
      next_row += shape_.max_t * shape_.max_u1;
    } else {
      s.row_stride = U + 1;
      const int64_t rows = T > 0 && U >= 0 ? T * (U + 1) : 0;
      adds_up = adds_up && rows <= shape_.rows - next_row;
      if (adds_up) next_row += rows;
    }
    s.row_end = next_row;
  }
  if (!adds_up || next_row != shape_.rows) {
    Invalidate();  // the lengths do not match the rows: no row can be assigned to a sample
  }
}

void Batch::Invalidate() {
  for (Sample& s : samples_) s = Sample{0, 0, 0, 0, 1, false, true};
}

void Batch::SetLabels(const int32_t* targets, int32_t blank) {
  row_labels_.assign(size() * (shape_.max_u + 1), -1);
  for (int64_t b = 0; b < size(); ++b) {
    Sample& s = samples_[b];
    s.valid = s.valid && blank >= 0 && blank < shape_.V;
    if (!s.valid) continue;
    const int32_t* labels = targets + b * shape_.max_u;
    s.blank_in_labels = false;
    for (int64_t u = 0; u < s.U; ++u) {
      s.valid = s.valid && labels[u] >= 0 && labels[u] < shape_.V;
      s.blank_in_labels = s.blank_in_labels || labels[u] == blank;
    }
    std::copy(labels, labels + s.U, &row_labels_[b * (shape_.max_u + 1)]);
  }
}

int64_t Batch::SampleOf(int64_t row) const {
  const auto after = std::upper_bound(samples_.begin(), samples_.end(), row,
                                      [](int64_t r, const Sample& s) { return r < s.row_end; });
  return after - samples_.begin();
}

}  // namespace rnnt
