// SPDX-License-Identifier: Apache-2.0
// Phase row_stats: one look at each row of logits.
//
//   row_max = max_k x_k          lp_blank = (x_blank - row_max) - log_sum
//   log_sum = log sum_k exp(x_k - row_max)          lp_label = (x_label - row_max) - log_sum
//
// Kept apart because row_max + log_sum, rounded to float32, would cost the lattice digits. Input
// that holds log-probabilities has row_max = log_sum = 0, and only its blank and label entries are
// read.
#ifndef MINDSPORE_RNNT_ROW_STATS_H_
#define MINDSPORE_RNNT_ROW_STATS_H_

#include "rnnt_labels.h"
#include "rnnt_options.h"
#include "rnnt_rows.h"
#include "rnnt_tiles.h"

namespace rnnt {

template <typename T>
class RowStats {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, const Options& options, GM_ADDR logits,
                    GM_ADDR targets, GM_ADDR workspace) {
    options_ = options;
    batch_ = batch;
    vocab_ = batch->tiling().vocab;
    logits_.SetGlobalBuffer(reinterpret_cast<__gm__ Word*>(logits),
                            static_cast<uint64_t>(batch->tiling().rows * vocab_));
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    batch->Plan(pipe);
    labels_.Init(pipe, batch->tiling(), targets);
    rows_.Init(pipe, batch->tiling(), kTileLanes, logits);
    pipe->InitBuffer(wide_buffer_, kNarrow ? kTileLanes * sizeof(float) : kBlockBytes);
    pipe->InitBuffer(eighth_buffer_, kEighthLanes * sizeof(float));
    pipe->InitBuffer(partial_buffer_, kLongRows * kPartials * sizeof(float));
    pipe->InitBuffer(pick_queue_, 1, 2 * kMaxRows * kBlockBytes);
    pipe->InitBuffer(stats_queue_, 2, kStatCount * kMaxRows * sizeof(float));
    pipe->InitBuffer(impossible_buffer_, 2 * kRnntStripLanes * sizeof(float));
    pipe->InitBuffer(vector_buffer_, kVectorCount * kMaxRows * sizeof(float));
    pipe->InitBuffer(block_buffer_, kMaxRows * kBlockBytes);
    Duplicate(impossible_buffer_.Get<float>(), kImpossible, 2 * kRnntStripLanes);
    Duplicate(vector_buffer_.Get<float>(), 0.0f, kVectorCount * kMaxRows);
    Fence();
    Order<HardEvent::V_MTE3>();
  }

  // The next piece is on its way while a piece is worked on.
  RNNT_FN void Run() {
    CheckLabels();
    const bool fused = options_.fused_log_softmax;
    pieces_.Init(batch_, fused ? static_cast<int32_t>(vocab_) : 1, kTileLanes, sizeof(T));
    row_offsets_ = labels_.RowOffsets(pieces_.pitch());
    pick_offsets_ = labels_.PickOffsets(kWordsPerBlock * sizeof(float));
    Piece next;
    bool more = pieces_.Next(&next);
    if (more) Load(next);
    while (more) {
      const Piece piece = next;
      if (piece.first) labels_.Receive();
      if (fused) rows_.Receive();
      more = pieces_.Next(&next);
      if (more) Load(next);
      if (piece.first) labels_.Prepare(piece.tile, vocab_);
      if (fused) {
        Normalise(piece, rows_.Floats(piece, pieces_.pitch(), wide_buffer_.Get<float>()));
        rows_.Release();
      } else {
        Pick(piece.tile);
      }
      if (piece.first) labels_.Release();
      if (piece.last) Finish(piece.tile);
    }
  }

 private:
  using Word = typename Bits<T>::Word;
  static constexpr bool kNarrow = sizeof(T) == 2;
  static constexpr int32_t kWordsPerBlock = kBlockBytes / sizeof(T);
  // 3 rows at V = 5000; 120 KB for two tiles of float, or two of half and one of float.
  static constexpr int32_t kTileLanes = 240 * kRepeatLanes;
  // FoldRows needs most for the shortest rows that take two repeats of it, V = 513. Pick needs 16
  // lanes a row.
  static constexpr int32_t kLongRows = kTileLanes / (9 * kRepeatLanes);
  static constexpr int32_t kEighthLanes = kLongRows * 2 * kRepeatLanes;
  static_assert(kEighthLanes >= 16 * kMaxRows, "Pick converts a block of each row");

  enum Vector { kMax, kSum, kBlank, kLabel, kPieceMax, kPieceSum, kVectorCount };

  RNNT_FN LocalTensor<float> Get(Vector vector) {
    return vector_buffer_.Get<float>()[vector * kMaxRows];
  }

  // One core looks at all labels of a sample: its judge, after the lattice, may need to know.
  RNNT_FN void CheckLabels() {
    Sample sample = batch_->Begin();
    while (batch_->Next(&sample)) {
      if (!sample.valid || sample.index % GetBlockNum() != GetBlockIdx()) continue;
      const LocalTensor<float> found = stats_queue_.template AllocTensor<float>();
      labels_.Check(sample, vocab_, options_.blank, found);
      stats_queue_.EnQue(found);
      LocalTensor<float> out = stats_queue_.template DeQue<float>();
      const int64_t header = SampleSpace(sample).Header(kBadLabels);
      DataCopy(workspace_[header], out, 2 * kBlockLanes);
      stats_queue_.FreeTensor(out);
    }
  }

  RNNT_FN void Load(const Piece& piece) {
    if (piece.first) labels_.Load(piece.tile);
    if (options_.fused_log_softmax) rows_.Load(piece, pieces_.pitch());
  }

  // Adds a piece to row_max and to the sum of exponentials relative to it.
  RNNT_FN void Normalise(const Piece& piece, const LocalTensor<float>& x) {
    const int32_t n = piece.tile.count, pitch = pieces_.pitch();
    const LocalTensor<float> eighth = eighth_buffer_.Get<float>();
    const LocalTensor<float> partials = partial_buffer_.Get<float>();
    const LocalTensor<float> blocks = block_buffer_.Get<float>();
    FoldRows<Largest>(Get(kPieceMax), x, n, pitch, eighth, partials);
    if (piece.first) {
      if (piece.last) {
        Gather(Get(kBlank), x, row_offsets_, static_cast<uint32_t>(options_.blank * sizeof(float)),
               static_cast<uint32_t>(n));
        Gather(Get(kLabel), x, labels_.EntryOffsets(), 0, static_cast<uint32_t>(n));
      } else {
        Pick(piece.tile);
      }
      Fence();
      Maxs(Get(kMax), Get(kPieceMax), kLowest, n);
    } else {
      Fence();
      Max(Get(kPieceMax), Get(kPieceMax), Get(kMax), n);
      Fence();
      Sub(Get(kMax), Get(kMax), Get(kPieceMax), n);
      Fence();
      Exp(Get(kMax), Get(kMax), n);
      Fence();
      Mul(Get(kSum), Get(kSum), Get(kMax), n);
      Fence();
      Adds(Get(kMax), Get(kPieceMax), 0.0f, n);
    }
    Fence();
    ToBlocks(blocks, Get(kMax), n);
    Fence();
    WithRowValue<Minus>(x, x, blocks, n, pitch);
    Fence();
    Exp(x, x, n * pitch);
    Fence();
    FoldRows<Total>(Get(piece.first ? kSum : kPieceSum), x, n, pitch, eighth, partials);
    Fence();
    if (!piece.first) {
      Add(Get(kSum), Get(kSum), Get(kPieceSum), n);
      Fence();
    }
  }

  // Fetches x_blank and x_label of each row one by one; a row without a label arc repeats its
  // blank.
  RNNT_FN void Pick(const Tile& tile) {
    const LocalTensor<Word> picks = pick_queue_.template AllocTensor<Word>();
    constexpr int32_t kLabelPicks = kMaxRows * kWordsPerBlock;
    const DataCopyPadExtParams<Word> padding(true, 0, kWordsPerBlock - 1, 0);
    const int64_t row_bytes = vocab_ * static_cast<int64_t>(sizeof(T));
    const int64_t gap = tile.row_step * row_bytes - static_cast<int64_t>(sizeof(T));
    DataCopyPad(picks, logits_[static_cast<uint64_t>(tile.row * vocab_ + options_.blank)],
                DataCopyExtParams(static_cast<uint16_t>(tile.count), sizeof(T),
                                  tile.count > 1 ? static_cast<uint32_t>(gap) : 0, 0, 0),
                padding);
    const DataCopyExtParams one(1, sizeof(T), 0, 0, 0);
    for (int32_t i = 0; i < tile.count; ++i) {
      const int64_t row = tile.row + i * tile.row_step;
      const int64_t label = labels_.ScalarAt(tile, i, vocab_);
      DataCopyPad(
          picks[kLabelPicks + i * kWordsPerBlock],
          logits_[static_cast<uint64_t>(row * vocab_ + (label < 0 ? options_.blank : label))], one,
          padding);
    }
    pick_queue_.EnQue(picks);
    LocalTensor<Word> got = pick_queue_.template DeQue<Word>();
    const LocalTensor<T> typed = got.template ReinterpretCast<T>();
    const uint32_t n = static_cast<uint32_t>(tile.count);
    Gather(Get(kBlank), PicksToFloat(typed, 0, tile.count), pick_offsets_, 0, n);
    Fence();
    Gather(Get(kLabel), PicksToFloat(typed, kLabelPicks, tile.count), pick_offsets_, 0, n);
    Fence();
    pick_queue_.FreeTensor(got);
  }

  RNNT_FN LocalTensor<float> PicksToFloat(const LocalTensor<float>& picks, int32_t first, int32_t) {
    return picks[first];
  }

  template <typename U>
  RNNT_FN LocalTensor<float> PicksToFloat(const LocalTensor<U>& picks, int32_t first, int32_t n) {
    const LocalTensor<float> wide = eighth_buffer_.Get<float>();
    Cast(wide, picks[first], RoundMode::CAST_NONE, static_cast<uint32_t>(n * kWordsPerBlock));
    Fence();
    return wide;
  }

  // The four statistics of the tile's cells, to the workspace.
  RNNT_FN void Finish(const Tile& tile) {
    const int32_t n = tile.count;
    const LocalTensor<float> stats = stats_queue_.template AllocTensor<float>();
    const LocalTensor<float> row_max = stats, log_sum = stats[kMaxRows];
    const LocalTensor<float> blank = stats[kLpBlank * kMaxRows], label = stats[kLpLabel * kMaxRows];
    if (options_.fused_log_softmax) {
      Adds(row_max, Get(kMax), 0.0f, n);
      Ln(log_sum, Get(kSum), n);
    } else {
      Duplicate(row_max, 0.0f, n);
      Duplicate(log_sum, 0.0f, n);
    }
    Fence();
    Sub(blank, Get(kBlank), row_max, n);
    Sub(label, Get(kLabel), row_max, n);
    Fence();
    Sub(blank, blank, log_sum, n);
    Sub(label, label, log_sum, n);
    Fence();
    Add(label, label, labels_.Penalty(), n);
    Maxs(blank, blank, kImpossible, n);
    Fence();
    Maxs(label, label, kImpossible, n);
    stats_queue_.EnQue(stats);
    LocalTensor<float> out = stats_queue_.template DeQue<float>();
    const Strip strip = SampleSpace(tile.sample).StripOf(tile.lane);
    const int64_t at =
        strip.stats + tile.diagonal * kStatCount * strip.lanes + tile.lane - strip.first;
    CopyStats(at, out, kStatCount, kMaxRows, n, strip.lanes);
    stats_queue_.FreeTensor(out);
    FillOutside(tile);
  }

  // `count` vectors of n lanes, `pitch` lanes apart in UB, to arrays that are `lanes` apart.
  RNNT_FN void CopyStats(int64_t at, const LocalTensor<float>& src, int32_t count, int64_t pitch,
                         int64_t n, int64_t lanes) {
    DataCopyPad(workspace_[static_cast<uint64_t>(at)], src,
                DataCopyExtParams(
                    static_cast<uint16_t>(count), static_cast<uint32_t>(n * sizeof(float)),
                    static_cast<uint32_t>((pitch - RnntAlignUp(n, kBlockLanes)) / kBlockLanes),
                    static_cast<uint32_t>((lanes - n) * sizeof(float)), 0));
  }

  // Who has the first or last cell of a diagonal also marks the lanes before or behind it, which
  // are no cells.
  RNNT_FN void FillOutside(const Tile& tile) {
    const Sample& sample = tile.sample;
    const int64_t first = RnntFirstLane(sample.T, sample.U1, tile.diagonal);
    const int64_t end = RnntLastLane(sample.T, sample.U1, tile.diagonal) + 1;
    if (tile.lane == first) FillLanes(tile, 0, first);
    if (tile.lane + tile.count == end) FillLanes(tile, end, sample.Lanes());
  }

  RNNT_FN void FillLanes(const Tile& tile, int64_t begin, int64_t end) {
    const SampleSpace space(tile.sample);
    const LocalTensor<float> impossible = impossible_buffer_.Get<float>();
    while (begin < end) {
      const Strip strip = space.StripOf(begin);
      const int64_t n = RnntMin(end, strip.first + strip.lanes) - begin;
      const int64_t at =
          strip.stats + (tile.diagonal * kStatCount + kLpBlank) * strip.lanes + begin - strip.first;
      CopyStats(at, impossible, 2, RnntAlignUp(n, kBlockLanes), n, strip.lanes);
      begin += n;
    }
  }

  Options options_;
  Batch* batch_;
  int64_t vocab_;
  Pieces pieces_;
  Labels labels_;
  RowReader<T> rows_;
  LocalTensor<uint32_t> row_offsets_, pick_offsets_;
  GlobalTensor<Word> logits_;
  GlobalTensor<float> workspace_;
  TQue<TPosition::VECIN, 1> pick_queue_;
  TQue<TPosition::VECOUT, 1> stats_queue_;
  TBuf<TPosition::VECOUT> impossible_buffer_;
  TBuf<TPosition::VECCALC> wide_buffer_, eighth_buffer_, partial_buffer_, vector_buffer_,
      block_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_ROW_STATS_H_
