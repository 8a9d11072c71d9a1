// SPDX-License-Identifier: Apache-2.0
// The rows of each sample of a batch in the logits tensor, packed or padded.
//
// Row of cell (t, u) of sample b: row_base(b) + t * row_stride(b) + u. Packed: row_stride is U + 1
// and samples follow one another. Padded: row_stride is max_u1 and samples are max_t * max_u1 rows
// apart.
#ifndef MINDSPORE_RNNT_CPU_BATCH_H_
#define MINDSPORE_RNNT_CPU_BATCH_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "level.h"

namespace rnnt {

struct Sample {
  int64_t T, U;
  int64_t row_base, row_end, row_stride;
  bool valid;            // its lengths and labels lie within the tensors
  bool blank_in_labels;  // true also before SetLabels

  int64_t cells() const { return valid ? T * (U + 1) : 0; }
};

// The sizes of a batch, from the shapes of the tensors.
struct BatchShape {
  int64_t B, rows, V;
  int64_t max_t, max_u1;  // 0, 0: packed
  int64_t max_u;          // columns of targets
};

class Batch {
 public:
  Batch(const BatchShape& shape, const int32_t* logit_lengths, const int32_t* target_lengths);
  // For the row phases. A sample with a label outside [0, V) becomes invalid.
  void SetLabels(const int32_t* targets, int32_t blank);
  // Makes all samples, or one of them, invalid.
  void Invalidate();
  void Invalidate(int64_t b) { samples_[b].valid = false; }

  int64_t size() const { return static_cast<int64_t>(samples_.size()); }
  int64_t rows() const { return shape_.rows; }
  int64_t V() const { return shape_.V; }
  const Sample& operator[](int64_t b) const { return samples_[b]; }

  // The labels of a frame's rows: the sample's, and -1 for the last row, which has no label arc.
  const int32_t* row_labels(int64_t b) const { return &row_labels_[b * (shape_.max_u + 1)]; }

  // Divides rows [begin, end) into runs: visit(b, u, row, count) gets `count` rows of one frame of
  // sample b from (t, u) on, or, with b = -1, rows outside all valid samples.
  template <class Visit>
  void ForEachRun(int64_t begin, int64_t end, const Visit& visit) const;

 private:
  int64_t SampleOf(int64_t row) const;

  BatchShape shape_;
  std::vector<Sample> samples_;
  std::vector<int32_t> row_labels_;
};

template <class Visit>
void Batch::ForEachRun(int64_t begin, int64_t end, const Visit& visit) const {
  for (int64_t row = begin, b = SampleOf(begin); row < end;) {
    while (b < size() && row >= samples_[b].row_end) ++b;
    if (b >= size()) return visit(int64_t{-1}, int64_t{0}, row, end - row);
    const Sample& s = samples_[b];
    const int64_t stop = std::min(end, s.row_end);
    if (!s.valid || row >= s.row_base + s.T * s.row_stride) {
      visit(int64_t{-1}, int64_t{0}, row, stop - row);
      row = stop;
      continue;
    }
    const int64_t u = (row - s.row_base) % s.row_stride;
    const int64_t frame = row - u;
    const bool used = u <= s.U;
    const int64_t count = std::min(stop, frame + (used ? s.U + 1 : s.row_stride)) - row;
    visit(used ? b : int64_t{-1}, u, row, count);
    row += count;
  }
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_BATCH_H_
