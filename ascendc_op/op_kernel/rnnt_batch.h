// SPDX-License-Identifier: Apache-2.0
// Where the samples of a batch lie: in the rows of the logits, and in the workspace. Walked by
// every core, from the lengths, in scalar code: B steps a walk.
#ifndef MINDSPORE_RNNT_RNNT_BATCH_H_
#define MINDSPORE_RNNT_RNNT_BATCH_H_

#include "rnnt_tdt_sizes.h"
#include "rnnt_vector.h"

namespace rnnt {

// Row of cell (t, u): row_base + t * row_stride + u. Packed rows have row_stride U1, padded ones
// max_U1.
struct Sample {
  int64_t index;
  int64_t T, U1;
  int64_t row_base, row_stride;
  int64_t row_count;  // rows that are the sample's, padding included
  int64_t workspace;  // offset in floats
  bool valid;         // its lengths fit the tensors
  int64_t strip_lanes;
  int32_t reach;  // frames of the longest arc of a lattice with durations; -1: there are none

  RNNT_FN int64_t Diagonals() const { return T + U1 - 1; }
  RNNT_FN int64_t Lanes() const { return RnntLanes(T, U1); }
  RNNT_FN bool ByFrame() const { return reach < 0 && RnntByFrame(T, U1); }
  // The cells of a diagonal.
  RNNT_FN int64_t FirstLane(int64_t d) const {
    return reach < 0 ? RnntFirstLane(T, U1, d) : U1 - 1 - RnntMin(U1 - 1, d);
  }
  RNNT_FN int64_t LastLane(int64_t d) const {
    return reach < 0 ? RnntLastLane(T, U1, d) : U1 - 1 - RnntMax(0, d - T + 1);
  }
  // The lanes of cell (0, 0), and of (T, U), where the last blank leads.
  RNNT_FN int64_t FirstCellLane() const { return ByFrame() ? 0 : U1 - 1; }
  RNNT_FN int64_t EndLane() const { return ByFrame() ? T : 0; }
  RNNT_FN int64_t Cells() const { return valid ? T * U1 : 0; }
  // Of the cell on a lane of a diagonal.
  RNNT_FN int64_t LabelAt(int64_t d, int64_t lane) const {
    return ByFrame() ? d - lane : U1 - 1 - lane;
  }
  RNNT_FN int64_t RowAt(int64_t d, int64_t u) const { return row_base + (d - u) * row_stride + u; }
};

// Lengths come to UB kLengthsAtOnce at a time; nothing reads GM by scalar.
class Batch {
 public:
  RNNT_FN void Init(const RnntTiling& tiling, GM_ADDR logit_lengths, GM_ADDR target_lengths,
                    bool usable) {
    tiling_ = tiling;
    usable_ = usable;
    logit_lengths_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(logit_lengths), tiling.B);
    target_lengths_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(target_lengths), tiling.B);
  }

  // The lattice has durations, and samples take its workspace.
  RNNT_FN void UseDurations(const RnntDurations* durations) { durations_ = durations; }

  // A new plan of UB begins: what was loaded is lost.
  RNNT_FN void Plan(TPipe* pipe) {
    pipe->InitBuffer(buffer_, 2 * kLengthsAtOnce * sizeof(int32_t));
    loaded_ = -1;
  }

  // Counts the cells of all samples, and whether packed lengths add up to the rows there are; if
  // not, no row can be placed and no sample is valid.
  RNNT_FN void Measure() {
    total_cells_ = 0;
    adds_up_ = true;
    int64_t rows = 0;
    Sample sample = Begin();
    while (Next(&sample)) {
      total_cells_ += sample.Cells();
      rows += sample.row_count;
      if (rows > tiling_.rows) break;
    }
    adds_up_ = rows == tiling_.rows;
    if (!adds_up_) total_cells_ = 0;
  }

  RNNT_FN Sample Begin() const {
    Sample sample = {};
    sample.index = -1;
    return sample;
  }

  // Steps to the next sample, whatever it is worth; false behind the last.
  RNNT_FN bool Next(Sample* sample) {
    const int64_t b = sample->index + 1;
    if (b >= tiling_.B) return false;
    const int64_t row_base = sample->row_base + sample->row_count;
    const int64_t workspace = sample->workspace + Floats(*sample);
    Load(b / kLengthsAtOnce);
    const LocalTensor<int32_t> lengths = buffer_.Get<int32_t>();
    const int64_t T = lengths.GetValue(static_cast<uint32_t>(b % kLengthsAtOnce));
    const int64_t U1 =
        int64_t{lengths.GetValue(static_cast<uint32_t>(kLengthsAtOnce + b % kLengthsAtOnce))} + 1;
    sample->index = b;
    sample->T = T;
    sample->U1 = U1;
    sample->row_base = row_base;
    sample->workspace = workspace;
    sample->valid = usable_ && adds_up_ && T >= 1 && U1 >= 1 && U1 - 1 <= tiling_.max_u;
    if (tiling_.padded != 0) {
      sample->valid = sample->valid && T <= tiling_.max_t && U1 <= tiling_.max_u1;
      sample->row_stride = tiling_.max_u1;
      sample->row_count = int64_t{tiling_.max_t} * tiling_.max_u1;
    } else {
      sample->row_stride = U1;
      sample->row_count = adds_up_ && T >= 1 && U1 >= 1 ? T * U1 : 0;
    }
    sample->reach = -1;
    sample->strip_lanes = kRnntStripLanes;
    if (durations_ != nullptr && sample->valid) TakeDurations(sample);
    return true;
  }

  RNNT_FN int64_t total_cells() const { return total_cells_; }
  RNNT_FN bool adds_up() const { return adds_up_; }
  RNNT_FN const RnntTiling& tiling() const { return tiling_; }
  RNNT_FN const RnntDurations& durations() const { return *durations_; }

 private:
  static constexpr int32_t kLengthsAtOnce = 512;

  RNNT_FN void TakeDurations(Sample* sample) {
    sample->reach = RnntTdtReach(*durations_, sample->T);
    sample->valid = sample->reach <= kRnntTdtMaxDuration;
    if (!sample->valid) return;
    sample->strip_lanes =
        RnntTdtStripLanes(sample->T, sample->U1, durations_->count, sample->reach);
  }

  RNNT_FN int64_t Floats(const Sample& sample) const {
    if (!sample.valid) return 0;
    if (durations_ == nullptr) return RnntSampleFloats(sample.T, sample.U1);
    return RnntTdtSampleFloats(sample.T, sample.U1, durations_->count, sample.reach);
  }

  RNNT_FN void Load(int64_t part) {
    if (part == loaded_) return;
    loaded_ = part;
    const int64_t first = part * kLengthsAtOnce;
    const int64_t count = RnntMin(kLengthsAtOnce, tiling_.B - first);
    const DataCopyExtParams copy(1, static_cast<uint32_t>(count * sizeof(int32_t)), 0, 0, 0);
    const DataCopyPadExtParams<int32_t> no_padding(false, 0, 0, 0);
    const LocalTensor<int32_t> lengths = buffer_.Get<int32_t>();
    Order<HardEvent::S_MTE2>();
    DataCopyPad(lengths, logit_lengths_[first], copy, no_padding);
    DataCopyPad(lengths[kLengthsAtOnce], target_lengths_[first], copy, no_padding);
    Order<HardEvent::MTE2_S>();
  }

  RnntTiling tiling_;
  const RnntDurations* durations_ = nullptr;
  GlobalTensor<int32_t> logit_lengths_, target_lengths_;
  TBuf<TPosition::VECIN> buffer_;
  int64_t loaded_ = -1;  // which part of the lengths is in UB
  int64_t total_cells_ = 0;
  bool usable_ = true;
  bool adds_up_ = true;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_BATCH_H_
