// SPDX-License-Identifier: Apache-2.0
// The rows that a phase works on: those of a batch, or a chunk of rows that stand for themselves.
// What row_stats finds goes to the workspace, diagonal by diagonal, or to a tensor, row by row.
#ifndef MINDSPORE_RNNT_RNNT_ROW_SETS_H_
#define MINDSPORE_RNNT_RNNT_ROW_SETS_H_

#include "rnnt_fill.h"
#include "rnnt_labels.h"
#include "rnnt_records.h"
#include "rnnt_tiles.h"

namespace rnnt {

class BatchRows {
 public:
  using TileSource = Tiles;

  RNNT_FN void Init(TPipe* pipe, Batch* batch, GM_ADDR targets) {
    batch_ = batch;
    labels_.InitBatch(pipe, batch->tiling(), targets);
  }
  RNNT_FN void Begin(Tiles* tiles, int32_t max_rows, int64_t row_bytes, int32_t joint_rows) {
    tiles->Init(batch_, max_rows, row_bytes, joint_rows);
  }
  RNNT_FN const RnntTiling& tiling() const { return batch_->tiling(); }
  RNNT_FN Labels& labels() { return labels_; }
  template <class Filler>
  RNNT_FN void ZeroOutside(Filler* filler) {
    filler->ZeroOutside(batch_);
  }

 private:
  Batch* batch_;
  Labels labels_;
};

class ChunkRows {
 public:
  using TileSource = RowTiles;

  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, GM_ADDR row_labels) {
    tiling_ = tiling;
    labels_.InitRows(pipe, tiling, row_labels);
  }
  RNNT_FN void Begin(RowTiles* tiles, int32_t max_rows, int64_t, int32_t) {
    tiles->Init(tiling_.rows, max_rows);
  }
  RNNT_FN const RnntTiling& tiling() const { return tiling_; }
  RNNT_FN Labels& labels() { return labels_; }
  template <class Filler>
  RNNT_FN void ZeroOutside(Filler*) {}

 private:
  RnntTiling tiling_;
  Labels labels_;
};

// The stats of a tile, by name. The label gaps are `pitch` lanes behind the blank gaps.
struct TileStats {
  LocalTensor<float> row_max, row_sum, gaps;
  int32_t pitch;
};

class StatsToWorkspace {
 public:
  // `check_gaps`: whether a NaN can be in a row's gaps and not in its row_sum.
  RNNT_FN void Init(TPipe* pipe, GM_ADDR workspace, bool check_gaps) {
    check_gaps_ = check_gaps;
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    pipe->InitBuffer(queue_, 2, kCellStats * kMaxRows * sizeof(float));
    pipe->InitBuffer(work_buffer_, 2 * 2 * kMaxRows * sizeof(float));
    pipe->InitBuffer(outside_buffer_, 2 * kFillLanes * 2 * sizeof(float));
    Duplicate(outside_buffer_.Get<float>(), kLogZero, 2 * kFillLanes);
    Duplicate(outside_buffer_.Get<float>()[2 * kFillLanes], 1.0f, 2 * kFillLanes);
    Order<HardEvent::V_MTE3>();
  }

  // Both arcs are worked on together.
  RNNT_FN void Store(const Tile& tile, const TileStats& stats, Labels*) {
    const int32_t P = stats.pitch;
    const LocalTensor<float> cells = queue_.AllocTensor<float>();
    const LocalTensor<float> log_sum = work_buffer_.Get<float>();
    const LocalTensor<float> work = work_buffer_.Get<float>()[2 * kMaxRows];
    Adds(cells, stats.row_max, 0.0f, P);
    Ln(log_sum, stats.row_sum, P);
    Ln(log_sum[P], stats.row_sum, P);
    Fence();
    Adds(cells[kCellLogSum * P], log_sum, 0.0f, P);
    ToScaled({cells[kBlankExponent * P], cells[kBlankMantissa * P]}, stats.gaps, log_sum, work,
             2 * P, check_gaps_);
    queue_.EnQue(cells);
    LocalTensor<float> out = queue_.DeQue<float>();
    for (Span span = tile.FirstSpan(); span.count > 0; tile.Step(&span)) {
      const Strip strip = SampleSpace(tile.sample).StripOf(span.lane);
      const int64_t at = strip.stats + span.diagonal * kCellStats * strip.lanes;
      Copy(at + span.lane - strip.first, out[span.place], kCellStats, P, span.count, strip.lanes);
      FillOutside(tile.sample, span);
    }
    queue_.FreeTensor(out);
  }

  // One core looks at all labels of a sample: its judge, after the lattice, may need to know.
  RNNT_FN void CheckLabels(Batch* batch, Labels* labels, int64_t blank) {
    Sample sample = batch->Begin();
    while (batch->Next(&sample)) {
      if (!sample.valid || sample.index % GetBlockNum() != GetBlockIdx()) continue;
      const LocalTensor<float> found = queue_.AllocTensor<float>();
      labels->Check(sample, batch->tiling().V, blank, found);
      Header(sample, found);
    }
  }

  // A batch without labels has none that are wrong; its losses may have any sign.
  RNNT_FN void SkipLabels(Batch* batch) {
    Sample sample = batch->Begin();
    while (batch->Next(&sample)) {
      if (!sample.valid || sample.index % GetBlockNum() != GetBlockIdx()) continue;
      const LocalTensor<float> found = queue_.AllocTensor<float>();
      Duplicate(found, 0.0f, kBlockLanes);
      Duplicate(found[kBlockLanes], 1.0f, kBlockLanes);
      Header(sample, found);
    }
  }

 private:
  RNNT_FN void Header(const Sample& sample, const LocalTensor<float>& found) {
    queue_.EnQue(found);
    LocalTensor<float> out = queue_.DeQue<float>();
    const int64_t at = SampleSpace(sample).Header(kBadLabels);
    DataCopy(workspace_[static_cast<uint64_t>(at)], out, 2 * kBlockLanes);
    queue_.FreeTensor(out);
  }

  // `count` vectors of n lanes, `pitch` lanes apart in UB, to arrays that are `lanes` apart.
  RNNT_FN void Copy(int64_t at, const LocalTensor<float>& src, int32_t count, int64_t pitch,
                    int64_t n, int64_t lanes) {
    const int64_t ub_gap = (pitch - RnntAlignUp(n, kBlockLanes)) / kBlockLanes;
    DataCopyPad(
        workspace_[static_cast<uint64_t>(at)], src,
        DataCopyExtParams(static_cast<uint16_t>(count), static_cast<uint32_t>(n * sizeof(float)),
                          static_cast<uint32_t>(ub_gap),
                          static_cast<uint32_t>((lanes - n) * sizeof(float)), 0));
  }

  // Who has the first or last cell of a diagonal also marks the lanes before or behind it, which
  // are no cells.
  RNNT_FN void FillOutside(const Sample& sample, const Span& span) {
    const int64_t first = sample.FirstLane(span.diagonal), end = sample.LastLane(span.diagonal) + 1;
    if (span.lane == first) FillLanes(sample, span.diagonal, 0, first);
    if (span.lane + span.count == end) FillLanes(sample, span.diagonal, end, sample.Lanes());
  }

  RNNT_FN void FillLanes(const Sample& sample, int64_t diagonal, int64_t begin, int64_t end) {
    const SampleSpace space(sample);
    const LocalTensor<float> zeros = outside_buffer_.Get<float>(), ones = zeros[2 * kFillLanes];
    while (begin < end) {
      const Strip strip = space.StripOf(begin);
      const int64_t n = RnntMin(kFillLanes, RnntMin(end, strip.first + strip.lanes) - begin);
      const int64_t at = strip.stats + diagonal * kCellStats * strip.lanes + begin - strip.first;
      const int64_t pitch = RnntAlignUp(n, kBlockLanes);
      Copy(at + kBlankExponent * strip.lanes, zeros, 2, pitch, n, strip.lanes);
      Copy(at + kBlankMantissa * strip.lanes, ones, 2, pitch, n, strip.lanes);
      begin += n;
    }
  }

  static constexpr int32_t kFillLanes = 512;

  bool check_gaps_;
  GlobalTensor<float> workspace_;
  TQue<TPosition::VECOUT, 1> queue_;
  TBuf<TPosition::VECCALC> work_buffer_;
  TBuf<TPosition::VECOUT> outside_buffer_;
};

// To the tensor of RnntRowStats. Rows that are no cell are 0; a row of -inf has a row_sum of NaN.
class StatsToTensor {
 public:
  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, bool rest, GM_ADDR stats) {
    rest_ = rest;
    writer_.Init(pipe, tiling.rows, kStatCount, stats);
    filler_.Init(pipe, tiling, kStatCount, stats);
    pipe->InitBuffer(work_buffer_, 3 * kMaxRows * sizeof(float));
    Duplicate(work_buffer_.Get<float>(), 0.0f, 3 * kMaxRows);
    Fence();
  }

  RNNT_FN void Store(const Tile& tile, const TileStats& stats, Labels* labels) {
    Order<HardEvent::S_V>();  // scalars of the last tile may still be read
    MarkDeadRows(stats);
    writer_.Store(tile, {{stats.row_max, stats.row_sum, stats.gaps, stats.gaps[stats.pitch]}});
    if (AllAreCells(labels, tile.count)) return;
    PipeBarrier<PIPE_MTE3>();
    for (int32_t i = 0; i < tile.count; ++i) {
      if (labels->IsNoCell(i)) filler_.Rows(tile.row + i, 1, false);
    }
    PipeBarrier<PIPE_MTE3>();
  }

 private:
  // Some class has a gap of 0, so the sum of all is at least 1; of a row of -inf it is 0.
  RNNT_FN void MarkDeadRows(const TileStats& stats) {
    const int32_t P = stats.pitch;
    const LocalTensor<float> sum = work_buffer_.Get<float>();
    const LocalTensor<float> entries = work_buffer_.Get<float>()[kMaxRows];
    Adds(sum, stats.row_sum, -0.5f, P);
    if (rest_) {
      Exp(entries, stats.gaps, 2 * P);
      Fence();
      Add(sum, sum, entries, P);
      Fence();
      Add(sum, sum, entries[P], P);
    }
    Fence();
    Mins(sum, sum, 0.0f, P);
    Fence();
    for (int32_t i = 0; i < 2; ++i) {
      Muls(sum, sum, 1e38f, P);
      Fence();
    }
    Muls(sum, sum, 0.0f, P);  // 0, or NaN
    Fence();
    Add(stats.row_sum, stats.row_sum, sum, P);
    Fence();
  }

  RNNT_FN bool AllAreCells(Labels* labels, int32_t n) {
    const LocalTensor<float> cell = work_buffer_.Get<float>();
    labels->DistanceFromNoCell(cell, n);
    OneIfNotZero(cell, cell, n);
    return CountOnes(cell, n, work_buffer_.Get<float>()[kMaxRows]) == n;
  }

  bool rest_;
  RecordWriter writer_;
  Filler<float> filler_;
  TBuf<TPosition::VECCALC> work_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_ROW_SETS_H_
