// SPDX-License-Identifier: Apache-2.0
// What comes before the lattice with durations, on all cores: from the rows of both heads to the
// arcs' probabilities, diagonal by diagonal.
#ifndef MINDSPORE_RNNT_TDT_ARCS_H_
#define MINDSPORE_RNNT_TDT_ARCS_H_

#include "rnnt_records.h"
#include "rnnt_row_sets.h"
#include "tdt_space.h"

namespace rnnt {

// Arrays of the lanes of a tile, from UB to their places in the workspace.
class TdtArcWriter {
 public:
  RNNT_FN void Init(GM_ADDR workspace, int32_t durations) {
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    durations_ = durations;
  }

  RNNT_FN TdtStrip StripOf(const Tile& tile) const {
    return TdtSpace(tile.sample, durations_).StripOf(tile.lane);
  }

  // `count` arrays from `array` on, `pitch` lanes apart in UB, to n lanes from `lane` of the strip
  // on; `arrays` is where the strip's exponents or mantissas are.
  RNNT_FN void Store(const TdtStrip& strip, int64_t arrays, const Tile& tile, int64_t lane,
                     int32_t array, int32_t count, const LocalTensor<float>& src, int32_t pitch,
                     int64_t n) {
    const int64_t row = (tile.diagonal - strip.diagonal) * RnntTdtArrays(durations_) + array;
    const int64_t at = arrays + row * strip.lanes + lane;
    const int64_t ub_gap = (pitch - RnntAlignUp(n, kBlockLanes)) / kBlockLanes;
    DataCopyPad(
        workspace_[static_cast<uint64_t>(at)], src,
        DataCopyExtParams(static_cast<uint16_t>(count), static_cast<uint32_t>(n * sizeof(float)),
                          static_cast<uint32_t>(ub_gap),
                          static_cast<uint32_t>((strip.lanes - n) * sizeof(float)), 0));
  }

 private:
  GlobalTensor<float> workspace_;
  int32_t durations_;
};

// p of blank and label, each with e^-sigma; and all of the lanes that are no cell.
class TdtTokenArcs {
 public:
  RNNT_FN void Init(TPipe* pipe, GM_ADDR workspace, int32_t durations, float sigma) {
    writer_.Init(workspace, durations);
    arrays_ = RnntTdtArrays(durations);
    sigma_ = sigma;
    pipe->InitBuffer(queue_, 2, 4 * kMaxRows * sizeof(float));
    pipe->InitBuffer(work_buffer_, 4 * kMaxRows * sizeof(float));
    pipe->InitBuffer(outside_buffer_, 2 * arrays_ * kFillLanes * sizeof(float));
    const LocalTensor<float> outside = outside_buffer_.Get<float>();
    Duplicate(outside, kLogZero, arrays_ * kFillLanes);
    Duplicate(outside[arrays_ * kFillLanes], 1.0f, arrays_ * kFillLanes);
    Order<HardEvent::V_MTE3>();
  }

  RNNT_FN void Store(const Tile& tile, const TileStats& stats, Labels*) {
    const int32_t P = stats.pitch;
    const LocalTensor<float> arcs = queue_.AllocTensor<float>();
    const LocalTensor<float> log_sum = work_buffer_.Get<float>();
    const LocalTensor<float> work = work_buffer_.Get<float>()[2 * kMaxRows];
    Ln(log_sum, stats.row_sum, P);
    Ln(log_sum[P], stats.row_sum, P);
    Fence();
    Adds(log_sum, log_sum, sigma_, 2 * P);
    Fence();
    ToScaled({arcs, arcs[2 * P]}, stats.gaps, log_sum, work, 2 * P, true);
    queue_.EnQue(arcs);
    LocalTensor<float> out = queue_.DeQue<float>();
    const TdtStrip strip = writer_.StripOf(tile);
    const int64_t lane = tile.lane - strip.first;
    writer_.Store(strip, strip.exponents, tile, lane, kTdtBlank, 2, out, P, tile.count);
    writer_.Store(strip, strip.mantissas, tile, lane, kTdtBlank, 2, out[2 * P], P, tile.count);
    queue_.FreeTensor(out);
    FillOutside(tile, strip);
  }

 private:
  static constexpr int32_t kFillLanes = 64;

  // Who has the first or last cell that a strip has of a diagonal also marks the lanes before or
  // behind it, which are no cells.
  RNNT_FN void FillOutside(const Tile& tile, const TdtStrip& strip) {
    const int64_t first = RnntMax(0, tile.sample.FirstLane(tile.diagonal) - strip.first);
    const int64_t end = RnntMin(strip.lanes, tile.sample.LastLane(tile.diagonal) + 1 - strip.first);
    const int64_t lane = tile.lane - strip.first;
    if (lane == first) FillLanes(tile, strip, 0, first);
    if (lane + tile.count == end) FillLanes(tile, strip, end, strip.lanes);
  }

  RNNT_FN void FillLanes(const Tile& tile, const TdtStrip& strip, int64_t begin, int64_t end) {
    const LocalTensor<float> zeros = outside_buffer_.Get<float>();
    const LocalTensor<float> ones = zeros[arrays_ * kFillLanes];
    for (int64_t at = begin; at < end; at += kFillLanes) {
      const int64_t n = RnntMin(kFillLanes, end - at);
      writer_.Store(strip, strip.exponents, tile, at, 0, arrays_, zeros, kFillLanes, n);
      writer_.Store(strip, strip.mantissas, tile, at, 0, arrays_, ones, kFillLanes, n);
    }
  }

  TdtArcWriter writer_;
  int32_t arrays_;
  float sigma_;
  TQue<TPosition::VECOUT, 1> queue_;
  TBuf<TPosition::VECCALC> work_buffer_;
  TBuf<TPosition::VECOUT> outside_buffer_;
};

// p of each duration.
class TdtDurationArcs {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, GM_ADDR workspace, int32_t durations,
                    GM_ADDR log_probs) {
    batch_ = batch;
    D_ = durations;
    writer_.Init(workspace, durations);
    reader_.Init(pipe, batch->tiling().rows, durations, log_probs);
    pipe->InitBuffer(queue_, 2, 2 * D_ * kTileRows * sizeof(float));
    pipe->InitBuffer(log_buffer_, D_ * kTileRows * sizeof(float));
    pipe->InitBuffer(work_buffer_, 2 * D_ * kTileRows * sizeof(float));
    Duplicate(log_buffer_.Get<float>(), 0.0f, D_ * kTileRows);
    Duplicate(work_buffer_.Get<float>(), 0.0f, D_ * kTileRows);
    Fence();
  }

  RNNT_FN void Run() {
    Tiles tiles;
    tiles.Init(batch_, kTileRows, D_ * sizeof(float));
    StoreTiles(&tiles, &reader_, this);
  }

  // What StoreTiles asks for.
  RNNT_FN void Store(const Tile& tile) {
    const int32_t n = tile.count, P = static_cast<int32_t>(RnntAlignUp(n, kBlockLanes));
    const LocalTensor<float> log_p = log_buffer_.Get<float>(), log_sum = work_buffer_.Get<float>();
    const LocalTensor<float> arcs = queue_.AllocTensor<float>();
    for (int32_t i = 0; i < D_; ++i) reader_.Column(log_p[i * P], i, n);
    Fence();
    reader_.Release();
    ToScaled({arcs, arcs[D_ * P]}, log_p, log_sum, log_sum[D_ * kTileRows], D_ * P, true);
    queue_.EnQue(arcs);
    LocalTensor<float> out = queue_.DeQue<float>();
    const TdtStrip strip = writer_.StripOf(tile);
    const int64_t lane = tile.lane - strip.first;
    writer_.Store(strip, strip.exponents, tile, lane, kTdtDurations, D_, out, P, n);
    writer_.Store(strip, strip.mantissas, tile, lane, kTdtDurations, D_, out[D_ * P], P, n);
    queue_.FreeTensor(out);
  }

 private:
  static constexpr int32_t kTileRows = 64;

  Batch* batch_;
  int32_t D_;
  TdtArcWriter writer_;
  RecordReader reader_;
  TQue<TPosition::VECOUT, 1> queue_;
  TBuf<TPosition::VECCALC> log_buffer_, work_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_TDT_ARCS_H_
