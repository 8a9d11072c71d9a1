// SPDX-License-Identifier: Apache-2.0
// The second half of phase lattice, on all cores: what each row's gradient needs beside the row.
//
//   post_blank = exp(alpha + arc_blank - log P)   post_label = exp(alpha + arc_label - log P) *
//   label_weight occupation = post_blank + post_label
//
// Not exp(alpha + beta - log P): a gradient's row then adds up to 0 however alpha and beta were
// rounded. Together with row_max and log_sum these are the `state` that RnntForward leaves for
// RnntBackward.
#ifndef MINDSPORE_RNNT_RNNT_COEFFICIENTS_H_
#define MINDSPORE_RNNT_RNNT_COEFFICIENTS_H_

#include "rnnt_judge.h"
#include "rnnt_records.h"

namespace rnnt {

// A row's five numbers, in the order of the state's columns.
enum Coefficient {
  kCoefRowMax,
  kCoefLogSum,
  kOccupation,
  kPostBlank,
  kPostLabel,
  kCoefficientCount
};

// kCoefficientCount vectors of kMaxRows lanes, all of them defined.
class CoefficientVectors {
 public:
  RNNT_FN void Init(TPipe* pipe) {
    pipe->InitBuffer(buffer_, kCoefficientCount * kMaxRows * sizeof(float));
    Duplicate(buffer_.Get<float>(), 0.0f, kCoefficientCount * kMaxRows);
    Fence();
  }
  RNNT_FN LocalTensor<float> Get(Coefficient c) { return buffer_.Get<float>()[c * kMaxRows]; }
  RNNT_FN LocalTensor<float> All() { return buffer_.Get<float>(); }

 private:
  TBuf<TPosition::VECCALC> buffer_;
};

// From what the lattice left in the workspace.
class LatticeCoefficients {
 public:
  RNNT_FN void Init(TPipe* pipe, const Options& options, GM_ADDR workspace) {
    label_weight_ = options.label_weight;
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    vectors_.Init(pipe);
    judge_.Init(pipe, options, workspace);
    pipe->InitBuffer(queue_, 2, (kSourceCount * kMaxRows + kRnntScaleFloats) * sizeof(float));
  }

  RNNT_FN Verdict Of(const Sample& sample) { return judge_.Of(sample); }
  RNNT_FN Judge& judge() { return judge_; }
  RNNT_FN CoefficientVectors& vectors() { return vectors_; }

  RNNT_FN void Weigh(const Piece&, const LocalTensor<float>&, int32_t) {}

  RNNT_FN void Load(const Tile& tile) {
    const LocalTensor<float> source = queue_.AllocTensor<float>();
    const Strip strip = SampleSpace(tile.sample).StripOf(tile.lane);
    const int64_t W = strip.lanes, d = tile.diagonal, w = tile.lane - strip.first;
    CopyIn(source, strip.stats + d * kStatCount * W + w, 2, W, tile.count);
    CopyIn(source[kAlpha * kMaxRows], strip.alpha + d * W + w, 1, W, tile.count);
    CopyIn(source[kArcBlank * kMaxRows], strip.arcs + d * 2 * W + w, 2, W, tile.count);
    const int64_t scales = strip.scales + d / kRnntScaleGroup * kRnntScaleFloats;
    DataCopy(source[kSourceCount * kMaxRows], workspace_[static_cast<uint64_t>(scales)],
             kRnntScaleFloats);
    queue_.EnQue(source);
  }

  // posterior = exp((alpha + arc) + (scale_alpha + scale_beta - end_scale) - end); the scales are
  // exact integers.
  RNNT_FN void Compute(const Tile& tile, const Verdict& verdict) {
    const int32_t n = tile.count;
    LocalTensor<float> source = queue_.DeQue<float>();
    const LocalTensor<float> alpha = source[kAlpha * kMaxRows];
    const LocalTensor<float> scale = source[kSourceCount * kMaxRows];
    const LocalTensor<float> blank = vectors_.Get(kPostBlank), label = vectors_.Get(kPostLabel);
    const LocalTensor<float> occupation = vectors_.Get(kOccupation);
    Adds(vectors_.Get(kCoefRowMax), source, 0.0f, n);
    Adds(vectors_.Get(kCoefLogSum), source[kMaxRows], 0.0f, n);
    Add(blank, alpha, source[kArcBlank * kMaxRows], n);
    Add(label, alpha, source[kArcLabel * kMaxRows], n);
    Add(scale, scale, scale[kBlockLanes], kBlockLanes);
    Fence();
    Adds(scale, scale, -verdict.end_scale, kBlockLanes);
    Fence();
    WithRowValue<Plus>(blank, blank, scale, 1, kMaxRows);
    WithRowValue<Plus>(label, label, scale, 1, kMaxRows);
    Fence();
    Adds(blank, blank, -verdict.end, n);
    Adds(label, label, -verdict.end, n);
    Fence();
    Exp(blank, blank, n);
    Exp(label, label, n);
    Fence();
    Muls(label, label, label_weight_, n);
    Fence();
    Add(occupation, blank, label, n);
    Fence();
    queue_.FreeTensor(source);
  }

 private:
  enum Source { kSourceRowMax, kSourceLogSum, kAlpha, kArcBlank, kArcLabel, kSourceCount };

  // `count` arrays that are `lanes` long, from lane `at` of the first on; n lanes of each.
  RNNT_FN void CopyIn(const LocalTensor<float>& dst, int64_t at, int64_t count, int64_t lanes,
                      int64_t n) {
    const int64_t filled = RnntAlignUp(n, kBlockLanes);
    DataCopyPad(
        dst, workspace_[static_cast<uint64_t>(at)],
        DataCopyExtParams(static_cast<uint16_t>(count), static_cast<uint32_t>(n * sizeof(float)),
                          static_cast<uint32_t>((lanes - n) * sizeof(float)),
                          static_cast<uint32_t>((kMaxRows - filled) / kBlockLanes), 0),
        DataCopyPadExtParams<float>(true, 0, static_cast<uint8_t>(filled - n), 0.0f));
  }

  float label_weight_;
  GlobalTensor<float> workspace_;
  TQue<TPosition::VECIN, 1> queue_;
  CoefficientVectors vectors_;
  Judge judge_;
};

// From the state of RnntForward.
class StateCoefficients {
 public:
  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, GM_ADDR state) {
    vectors_.Init(pipe);
    reader_.Init(pipe, tiling.rows, kCoefficientCount, state);
    scalars_.Init(pipe, tiling.rows, kCoefficientCount, state);
  }

  // The state of a sample without a gradient says so in every row: log_sum is +inf (zero) or NaN.
  RNNT_FN Verdict Of(const Sample& sample) {
    Verdict verdict = {kZeroGradient, 0.0f, 0.0f, 0.0f};
    if (!sample.valid) return verdict;
    const float log_sum = scalars_.At(sample.row_base, kCoefLogSum);
    verdict.outcome = log_sum == kInfinity ? kZeroGradient
                      : log_sum == log_sum ? kHasGradient
                                           : kNanGradient;
    return verdict;
  }

  RNNT_FN CoefficientVectors& vectors() { return vectors_; }
  RNNT_FN void Weigh(const Piece&, const LocalTensor<float>&, int32_t) {}
  RNNT_FN void Load(const Tile& tile) { reader_.Load(tile); }
  RNNT_FN void Compute(const Tile& tile, const Verdict&) {
    reader_.Receive();
    for (int32_t c = 0; c < kCoefficientCount; ++c) {
      reader_.Column(vectors_.Get(static_cast<Coefficient>(c)), c, tile.count);
    }
    Fence();
    reader_.Release();
  }

 private:
  CoefficientVectors vectors_;
  RecordReader reader_;
  ScalarReader scalars_;
};

// From the tensors that RnntRowStats and RnntLattice left, for a chunk of rows; each row has its
// own dloss.
class ChunkCoefficients {
 public:
  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, GM_ADDR stats, GM_ADDR coefficients,
                    GM_ADDR row_dloss) {
    vectors_.Init(pipe);
    stats_.Bind(tiling.rows, kStatCount, stats);
    coefficients_.Bind(tiling.rows, kCoefficientCount - kOccupation, coefficients);
    dloss_.Bind(tiling.rows, 1, row_dloss);
    columns_.Init(pipe);
    pipe->InitBuffer(queue_, 1, 3 * kTensorLanes * sizeof(float));  // free before the next load
    pipe->InitBuffer(dloss_buffer_, kMaxRows * sizeof(float));
    pipe->InitBuffer(block_buffer_, kMaxRows * kBlockBytes);
    Duplicate(dloss_buffer_.Get<float>(), 0.0f, kMaxRows);
    Fence();
  }

  RNNT_FN Verdict Of(const Sample&) { return {kHasGradient, 0.0f, 0.0f, 0.0f}; }
  RNNT_FN CoefficientVectors& vectors() { return vectors_; }

  RNNT_FN void Load(const Tile& tile) {
    const LocalTensor<float> source = queue_.AllocTensor<float>();
    stats_.Load(source, tile);
    coefficients_.Load(source[kTensorLanes], tile);
    dloss_.Load(source[2 * kTensorLanes], tile);
    queue_.EnQue(source);
  }

  RNNT_FN void Compute(const Tile& tile, const Verdict&) {
    const int32_t n = tile.count;
    LocalTensor<float> source = queue_.DeQue<float>();
    columns_.Get(vectors_.Get(kCoefRowMax), source, kRowMax, n);
    columns_.Get(vectors_.Get(kCoefLogSum), source, kLogSum, n);
    for (int32_t c = kOccupation; c < kCoefficientCount; ++c) {
      columns_.Get(vectors_.Get(static_cast<Coefficient>(c)), source[kTensorLanes], c - kOccupation,
                   n);
    }
    columns_.Get(dloss_buffer_.Get<float>(), source[2 * kTensorLanes], 0, n);
    Fence();
    ToBlocks(block_buffer_.Get<float>(), dloss_buffer_.Get<float>(), n);
    Order<HardEvent::V_S>();
    queue_.FreeTensor(source);
  }

  // A row with dloss = 0 or that belongs to no path is 0, even if its logits are NaN; one of a NaN
  // sample is NaN.
  RNNT_FN void Weigh(const Piece& piece, const LocalTensor<float>& y, int32_t pitch) {
    WithRowValue<Times>(y, y, block_buffer_.Get<float>()[piece.row * kBlockLanes], piece.rows,
                        pitch);
    Fence();
    const LocalTensor<float> dloss = dloss_buffer_.Get<float>();
    const LocalTensor<float> occupation = vectors_.Get(kOccupation);
    for (int32_t i = 0; i < piece.rows; ++i) {
      const uint32_t row = static_cast<uint32_t>(piece.row + i);
      const float paths = occupation.GetValue(row);
      if (dloss.GetValue(row) == 0.0f || paths == 0.0f) {
        Duplicate(y[i * pitch], 0.0f, pitch);
      } else if (!(paths == paths)) {
        Duplicate(y[i * pitch], paths, pitch);
      }
    }
    Fence();
  }

 private:
  static constexpr int32_t kTensorLanes = kMaxRows * kBlockLanes;

  CoefficientVectors vectors_;
  Records stats_, coefficients_, dloss_;
  RecordColumns columns_;
  TQue<TPosition::VECIN, 1> queue_;
  TBuf<TPosition::VECCALC> dloss_buffer_, block_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_COEFFICIENTS_H_
