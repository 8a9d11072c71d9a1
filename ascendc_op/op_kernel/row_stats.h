// SPDX-License-Identifier: Apache-2.0
// Phase row_stats: one look at each row of logits.
//
//   row_max = max_k x_k                  blank_gap = x_blank - row_max
//   row_sum = sum_k exp(x_k - row_max)   label_gap = x_label - row_max
//
// With a temperature all differences are divided by it; with `rest` the sum leaves out blank and
// label.
//
// Input that holds log-probabilities has row_max = 0 and row_sum = 1, and only its blank and label
// entries are read.
#ifndef MINDSPORE_RNNT_ROW_STATS_H_
#define MINDSPORE_RNNT_ROW_STATS_H_

#include "rnnt_fold.h"
#include "rnnt_options.h"
#include "rnnt_row_sets.h"
#include "rnnt_rows.h"

namespace rnnt {

template <typename T, class RowSet, class Sink>
class RowStats {
 public:
  // `rows` and `sink` are ready.
  RNNT_FN void Init(TPipe* pipe, RowSet* rows, Sink* sink, const Options& options, GM_ADDR logits) {
    options_ = options;
    rows_ = rows;
    sink_ = sink;
    V_ = rows->tiling().V;
    logits_.SetGlobalBuffer(reinterpret_cast<__gm__ Word*>(logits),
                            static_cast<uint64_t>(rows->tiling().rows * V_));
    reader_.Init(pipe, rows->tiling(), kTileLanes, logits);
    pipe->InitBuffer(wide_buffer_, kNarrow ? kTileLanes * sizeof(float) : kBlockBytes);
    pipe->InitBuffer(eighth_buffer_, kEighthLanes * sizeof(float));
    pipe->InitBuffer(partial_buffer_, kLongRows * 2 * kBlockLanes * sizeof(float));
    pipe->InitBuffer(pick_queue_, 1, 2 * kMaxRows * kBlockBytes);
    pipe->InitBuffer(vector_buffer_, kVectorCount * kMaxRows * sizeof(float));
    pipe->InitBuffer(block_buffer_, kMaxRows * kBlockBytes);
    pipe->InitBuffer(gap_buffer_, 2 * kMaxRows * sizeof(float));
    Duplicate(vector_buffer_.Get<float>(), 0.0f, kVectorCount * kMaxRows);
    Fence();
    if (!options.fused_log_softmax) Duplicate(Get(kSum), 1.0f, kMaxRows);
    Fence();
  }

  // The next piece is on its way while a piece is worked on.
  RNNT_FN void Run() {
    Labels& labels = rows_->labels();
    const bool fused = options_.fused_log_softmax;
    pieces_.Init(rows_, fused ? static_cast<int32_t>(V_) : 1, kTileLanes, sizeof(T), fused);
    labels.places().SetPitch(pieces_.pitch(), pieces_.max_rows());
    picks_alone_ = !fused || !pieces_.whole_rows();
    pick_offsets_ = labels.places().OfEntries(picks_alone_ ? kWordsPerBlock : 1);
    Piece next;
    bool more = pieces_.Next(&next);
    if (more) Load(next);
    while (more) {
      const Piece piece = next;
      if (piece.first) {
        labels.Receive();
        if (picks_alone_) LoadPicks(piece.tile);
      }
      if (fused) reader_.Receive();
      more = pieces_.Next(&next);
      if (more) Load(next);
      if (piece.first) {
        labels.Prepare(piece.tile, V_);
        if (picks_alone_) TakePicks(piece.tile.count);
      }
      if (fused) {
        Normalise(piece, reader_.Floats(piece, pieces_.pitch(), wide_buffer_.Get<float>()));
        reader_.Release();
      }
      if (piece.last) {
        Finish(piece.tile);
        labels.Release();
      }
    }
  }

 private:
  using Word = typename Bits<T>::Word;
  static constexpr bool kNarrow = sizeof(T) == 2;
  static constexpr int32_t kWordsPerBlock = kBlockBytes / sizeof(T);
  // 3 rows at V = 5000; 120 KB for two tiles of float, or two of half and one of float.
  static constexpr int32_t kTileLanes = 240 * kRepeatLanes;
  // FoldRows needs most for the shortest rows that take two repeats of it, V = 513. Picks need 16
  // lanes a row.
  static constexpr int32_t kLongRows = kTileLanes / (9 * kRepeatLanes);
  static constexpr int32_t kEighthLanes = kLongRows * 2 * kRepeatLanes;
  static_assert(kEighthLanes >= 16 * kMaxRows, "picks are converted a block a row");

  static constexpr int32_t kLabelPicks = kMaxRows * kWordsPerBlock;  // behind those of the blank

  // One lane for each row: of the tile, and of the piece that is worked on.
  enum Vector {
    kMax,
    kSum,
    kBlank,
    kLabel,
    kPieceMax,
    kNewMax,
    kPieceSum,
    kNewSum,
    kPieceEntry,
    kPieceOffset,
    kVectorCount
  };

  RNNT_FN LocalTensor<float> Get(Vector vector) {
    return vector_buffer_.Get<float>()[vector * kMaxRows];
  }

  RNNT_FN void Load(const Piece& piece) {
    if (piece.first) rows_->labels().Load(piece.tile);
    if (options_.fused_log_softmax) reader_.Load(piece, pieces_.pitch());
  }

  // row_max, and the sum of exponentials relative to it. A row of several pieces has a running
  // maximum, to which the sum so far is rescaled.
  RNNT_FN void Normalise(const Piece& piece, const LocalTensor<float>& x) {
    const int32_t n = piece.rows, pitch = pieces_.pitch();
    const LocalTensor<float> eighth = eighth_buffer_.Get<float>();
    const LocalTensor<float> partials = partial_buffer_.Get<float>();
    const LocalTensor<float> blocks = block_buffer_.Get<float>();
    FoldRows<Largest>(Get(kNewMax), x, n, pitch, eighth, partials);
    if (!picks_alone_) TakeEntries(piece, x);
    Fence();
    if (piece.row_begins) {
      Maxs(Get(kPieceMax), Get(kNewMax), kLowest, n);
    } else {
      RaiseMaximum(n);
    }
    Fence();
    ToBlocks(blocks, Get(kPieceMax), n);
    Fence();
    WithRowValue<Minus>(x, x, blocks, n, pitch);
    Scale(x, n * pitch);
    if (piece.row_ends) {
      if (piece.row % kBlockLanes == 0) {
        Adds(Get(kMax)[piece.row], Get(kPieceMax), 0.0f, n);
      } else {
        ToTile(kMax, piece, blocks);
      }
    }
    Fence();
    Exp(x, x, n * pitch);
    Fence();
    if (options_.rest) rows_->labels().ClearEntries(piece, x, pitch, options_.blank, V_);
    if (piece.row_begins && piece.row_ends) {
      FoldRows<Total>(Get(kSum)[piece.row], x, n, pitch, eighth, partials);
      Fence();
      return;
    }
    FoldRows<Total>(Get(piece.row_begins ? kPieceSum : kNewSum), x, n, pitch, eighth, partials);
    Fence();
    if (piece.row_begins) return;
    Add(Get(kPieceSum), Get(kPieceSum), Get(kNewSum), n);
    Fence();
    if (!piece.row_ends) return;
    ToBlocks(blocks, Get(kPieceSum), n);
    Fence();
    ToTile(kSum, piece, blocks);
    Fence();
  }

  RNNT_FN void Scale(const LocalTensor<float>& x, int32_t lanes) {
    if (options_.inverse_temperature == 1.0f) return;
    Fence();
    Muls(x, x, options_.inverse_temperature, lanes);
  }

  // x_blank and x_label, while the rows are still what was read.
  RNNT_FN void TakeEntries(const Piece& piece, const LocalTensor<float>& x) {
    const bool several = piece.tile.has_several_spans();
    const uint32_t n = static_cast<uint32_t>(several ? piece.tile.places : piece.rows);
    const uint32_t blank = static_cast<uint32_t>(options_.blank * sizeof(float));
    const LocalTensor<uint32_t> offsets_of_rows = rows_->labels().places().InPiece(piece.tile);
    const LocalTensor<uint32_t> entries = rows_->labels().EntryOffsets();
    if (pieces_.max_rows() >= kBlockLanes) {
      Gather(Get(kBlank)[piece.row], x, offsets_of_rows, blank, n);
      Gather(Get(kLabel)[piece.row], x, entries[piece.row], 0, n);
      return;
    }
    // Few long rows: the piece's place in the vectors of the tile is not aligned.
    const LocalTensor<float> found = Get(kPieceEntry), blocks = block_buffer_.Get<float>();
    const LocalTensor<int32_t> offsets = Get(kPieceOffset).template ReinterpretCast<int32_t>();
    Gather(found, x, offsets_of_rows, blank, n);
    Gather(offsets, entries.ReinterpretCast<int32_t>(), pick_offsets_,
           static_cast<uint32_t>(piece.row * sizeof(float)), n);
    Fence();
    Adds(offsets, offsets, -piece.row * pieces_.pitch() * static_cast<int32_t>(sizeof(float)),
         piece.rows);
    PieceToTile(kBlank, piece, found, blocks);
    Gather(found, x, offsets.ReinterpretCast<uint32_t>(), 0, n);
    Fence();
    PieceToTile(kLabel, piece, found, blocks);
  }

  RNNT_FN void PieceToTile(Vector vector, const Piece& piece, const LocalTensor<float>& values,
                           const LocalTensor<float>& blocks) {
    ToBlocks(blocks, values, piece.rows);
    Fence();
    ToTile(vector, piece, blocks);
    Fence();
  }

  RNNT_FN void RaiseMaximum(int32_t n) {
    Max(Get(kNewMax), Get(kNewMax), Get(kPieceMax), n);
    Fence();
    Sub(Get(kPieceMax), Get(kPieceMax), Get(kNewMax), n);
    Scale(Get(kPieceMax), n);
    Fence();
    Exp(Get(kPieceMax), Get(kPieceMax), n);
    Fence();
    Mul(Get(kPieceSum), Get(kPieceSum), Get(kPieceMax), n);
    Fence();
    Adds(Get(kPieceMax), Get(kNewMax), 0.0f, n);
  }

  // One lane of each block to the piece's place in a vector of the tile, which need not be aligned.
  RNNT_FN void ToTile(Vector vector, const Piece& piece, const LocalTensor<float>& blocks) {
    Total::Whole(Get(vector)[piece.row], blocks, 1, piece.rows, 1, 1);
  }

  // Fetches x_blank and x_label of each row one by one, a block each; a row without a label arc
  // repeats its blank.
  RNNT_FN void LoadPicks(const Tile& tile) {
    const LocalTensor<Word> picks = pick_queue_.template AllocTensor<Word>();
    const DataCopyPadExtParams<Word> padding(true, 0, kWordsPerBlock - 1, 0);
    const int64_t row_bytes = V_ * static_cast<int64_t>(sizeof(T));
    const int64_t gap = tile.row_step * row_bytes - static_cast<int64_t>(sizeof(T));
    DataCopyPad(picks, logits_[static_cast<uint64_t>(tile.row * V_ + options_.blank)],
                DataCopyExtParams(static_cast<uint16_t>(tile.count), sizeof(T),
                                  tile.count > 1 ? static_cast<uint32_t>(gap) : 0, 0, 0),
                padding);
    const DataCopyExtParams one(1, sizeof(T), 0, 0, 0);
    for (int32_t i = 0; i < tile.count; ++i) {
      const int64_t row = tile.row + i * tile.row_step;
      const int64_t label = rows_->labels().ScalarAt(tile, tile.FirstSpan(), i, V_);
      DataCopyPad(picks[kLabelPicks + i * kWordsPerBlock],
                  logits_[static_cast<uint64_t>(row * V_ + (label < 0 ? options_.blank : label))],
                  one, padding);
    }
    pick_queue_.EnQue(picks);
  }

  RNNT_FN void TakePicks(int32_t n) {
    LocalTensor<Word> picks = pick_queue_.template DeQue<Word>();
    const LocalTensor<T> typed = picks.template ReinterpretCast<T>();
    const uint32_t count = static_cast<uint32_t>(n);
    Gather(Get(kBlank), PicksToFloat(typed, 0, n), pick_offsets_, 0, count);
    Fence();
    Gather(Get(kLabel), PicksToFloat(typed, kLabelPicks, n), pick_offsets_, 0, count);
    Fence();
    pick_queue_.FreeTensor(picks);
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

  RNNT_FN void Finish(const Tile& tile) {
    const int32_t pitch = tile.places;
    const LocalTensor<float> blank = gap_buffer_.Get<float>(), label = blank[pitch];
    LocalTensor<float> row_max = Get(kMax), row_sum = Get(kSum);
    if (tile.has_several_spans()) {
      row_max = ToPlaces(kPieceMax, row_max, pitch);
      row_sum = ToPlaces(kPieceSum, row_sum, pitch);
      Fence();
    }
    if (options_.fused_log_softmax) {
      Sub(blank, Get(kBlank), row_max, pitch);
      Sub(label, Get(kLabel), row_max, pitch);
      Scale(blank, 2 * pitch);
    } else {
      Adds(blank, Get(kBlank), 0.0f, pitch);
      Adds(label, Get(kLabel), 0.0f, pitch);
    }
    Fence();
    rows_->labels().Close(tile, label);
    sink_->Store(tile, {row_max, row_sum, blank, pitch}, &rows_->labels());
    Fence();
  }

  // From the order of the rows; x_blank and x_label were fetched to their places.
  RNNT_FN LocalTensor<float> ToPlaces(Vector vector, const LocalTensor<float>& of_rows, int32_t n) {
    Gather(Get(vector), of_rows, rows_->labels().places().InRows(), 0, static_cast<uint32_t>(n));
    return Get(vector);
  }

  Options options_;
  RowSet* rows_;
  Sink* sink_;
  int64_t V_;
  bool picks_alone_;  // x_blank and x_label do not come from the rows in UB
  Pieces<typename RowSet::TileSource> pieces_;
  RowReader<T> reader_;
  LocalTensor<uint32_t> pick_offsets_;
  GlobalTensor<Word> logits_;
  TQue<TPosition::VECIN, 1> pick_queue_;
  TBuf<TPosition::VECCALC> wide_buffer_, eighth_buffer_, partial_buffer_, vector_buffer_,
      gap_buffer_, block_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_ROW_STATS_H_
