// SPDX-License-Identifier: Apache-2.0
// The labels of a tile's rows, as vectors and as scalars.
//
// Lanes run against u: lane i of a tile that begins with label index u has label u - i. The labels
// come from GM in ascending order and are turned around by a Gather. A label of -1 stands for "no
// label arc" (u = U).
#ifndef MINDSPORE_RNNT_RNNT_LABELS_H_
#define MINDSPORE_RNNT_RNNT_LABELS_H_

#include "rnnt_fold.h"
#include "rnnt_places.h"

namespace rnnt {

class Labels {
 public:
  // targets (B, max_U).
  RNNT_FN void InitBatch(TPipe* pipe, const RnntTiling& tiling, GM_ADDR targets) {
    max_u_ = tiling.max_u;
    by_row_ = false;
    Init(pipe, int64_t{tiling.B} * tiling.max_u, targets);
  }

  // row_labels (n,): one for each row, in the order of the rows.
  RNNT_FN void InitRows(TPipe* pipe, const RnntTiling& tiling, GM_ADDR row_labels) {
    by_row_ = true;
    Init(pipe, tiling.rows, row_labels);
  }

  RNNT_FN void Load(const Tile& tile) {
    const LocalTensor<int32_t> labels = queue_.AllocTensor<int32_t>();
    Order<HardEvent::S_MTE2>();  // the buffer's last labels may have been read as scalars
    if (by_row_) {
      Copy(labels, tile.row, tile.count);
    } else {
      Copy(labels, tile.sample.index * max_u_ + tile.lowest_u,
           RnntMin(tile.highest_u + 1, tile.sample.U1 - 1) - tile.lowest_u);
    }
    SetFlag<HardEvent::MTE2_S>(arrived_[loaded_ % 2]);
    ++loaded_;
    queue_.EnQue(labels);
  }

  RNNT_FN void Receive() {
    current_ = queue_.DeQue<int32_t>();
    WaitFlag<HardEvent::MTE2_S>(arrived_[received_ % 2]);
    ++received_;
  }

  // Label of row i of a span as a scalar; -1: none, or none that could be used.
  RNNT_FN int64_t ScalarAt(const Tile& tile, const Span& span, int32_t i, int64_t V) {
    const int64_t u = span.u - i;
    if (!by_row_ && u == tile.sample.U1 - 1) return -1;
    const int32_t label =
        current_.GetValue(static_cast<uint32_t>(by_row_ ? span.place + i : u - tile.lowest_u));
    return label >= 0 && label < V ? label : -1;
  }

  // A row with the label kNoCell counts for nothing, whatever it holds.
  RNNT_FN bool IsNoCell(int32_t i) {
    return by_row_ && current_.GetValue(static_cast<uint32_t>(i)) == kNoCell;
  }

  // |label + 2| of a chunk's rows, 0 for those that are no cell.
  RNNT_FN void DistanceFromNoCell(const LocalTensor<float>& dst, int32_t n) {
    Cast(dst, current_, RoundMode::CAST_NONE, static_cast<uint32_t>(n));
    Fence();
    Adds(dst, dst, static_cast<float>(-kNoCell), n);
    Fence();
    Abs(dst, dst, n);
    Fence();
  }

  // The entries of blank and label of a piece's rows become 0.
  RNNT_FN void ClearEntries(const Piece& piece, const LocalTensor<float>& x, int32_t pitch,
                            int64_t blank, int64_t V) {
    for (Span span = piece.FirstSpan(); span.count > 0; piece.tile.Step(&span)) {
      for (int32_t i = 0; i < span.count; ++i) {
        const int64_t entries[2] = {blank, ScalarAt(piece.tile, span, i, V)};
        for (const int64_t entry : entries) {
          const int64_t column = entry - piece.column;
          if (entry < 0 || column < 0 || column >= piece.columns) continue;
          FillLane(x, (span.first + i) * pitch + static_cast<int32_t>(column), 0.0f, 1, 8);
          Fence();
        }
      }
    }
  }

  RNNT_FN void Release() { queue_.FreeTensor(current_); }

  // For the tile received: where Gather finds each row's label entry.
  RNNT_FN void Prepare(const Tile& tile, int64_t V) {
    const int32_t n = tile.has_several_spans() ? tile.places : tile.count;
    const LocalTensor<int32_t> label = Table(kLabel), entry = Table(kEntry);
    if (by_row_) {
      Adds(label, current_, int32_t{0}, n);
    } else {
      if (tile.lowest_u == tile.sample.U1 - 1) Duplicate(current_, int32_t{-1}, kBlockLanes);
      Sort(tile);
      Gather(label, current_, Offsets(kOrder), 0, static_cast<uint32_t>(n));
    }
    places_.Find(tile);
    Fence();
    Maxs(entry, label, int32_t{0}, n);
    if (by_row_) PreparePenalty(V, n);
    Fence();
    Mins(entry, entry, static_cast<int32_t>(V - 1), n);
    Fence();
    Muls(entry, entry, kWordBytes, n);
    Fence();
    Add(entry, entry, places_.InPiece(tile).ReinterpretCast<int32_t>(), n);
    Fence();
  }

  RNNT_FN LocalTensor<uint32_t> EntryOffsets() { return Offsets(kEntry); }
  RNNT_FN Places& places() { return places_; }

  // For the tile prepared: the label gap is -inf where there is no label arc, and +inf where the
  // label is no class, so that the sample becomes NaN: a chunk has no other way to say it.
  RNNT_FN void Close(const Tile& tile, const LocalTensor<float>& label_gap) {
    if (by_row_) {
      Add(label_gap, label_gap, Penalty(), tile.count);
    } else {
      CloseLastRows(tile, label_gap);
    }
    Fence();
  }

  // found[0] > 0: a label of the sample is outside [0, V); found[8] > 0: one is blank.
  RNNT_FN void Check(const Sample& sample, int64_t V, int64_t blank,
                     const LocalTensor<float>& found) {
    const LocalTensor<float> bad = Table(kOrder).ReinterpretCast<float>();
    const LocalTensor<float> other = Table(kLabel).ReinterpretCast<float>();
    const LocalTensor<float> work = Table(kEntry).ReinterpretCast<float>();
    Fence();
    Duplicate(found, 0.0f, 2 * kBlockLanes);
    Duplicate(bad, 0.0f, kMaxRows);
    Duplicate(other, 1.0f, kMaxRows);  // min(1, |label - blank|) over all labels
    Fence();
    const int64_t U = sample.U1 - 1;
    for (int64_t u = 0; u < U; u += kMaxRows) {
      const int32_t n = static_cast<int32_t>(RnntMin(kMaxRows, U - u));
      LocalTensor<int32_t> labels = queue_.AllocTensor<int32_t>();
      Copy(labels, sample.index * max_u_ + u, n);
      queue_.EnQue(labels);
      labels = queue_.DeQue<int32_t>();
      const LocalTensor<float> value = labels.ReinterpretCast<float>();
      Cast(work, labels, RoundMode::CAST_NONE, static_cast<uint32_t>(n));
      Fence();
      Adds(value, work, -static_cast<float>(blank), n);
      Fence();
      Abs(value, value, n);
      Fence();
      Min(other, other, value, n);
      Fence();
      Maxs(value, work, 0.0f, n);
      Fence();
      Mins(value, value, static_cast<float>(V - 1), n);
      Fence();
      Sub(value, value, work, n);
      Fence();
      Abs(value, value, n);
      Fence();
      Max(bad, bad, value, n);
      Fence();
      queue_.FreeTensor(labels);
    }
    Muls(other, other, -1.0f, kMaxRows);
    Fence();
    Adds(other, other, 1.0f, kMaxRows);
    Max(bad, bad, bad[kRepeatLanes], kRepeatLanes);
    Fence();
    Max(other, other, other[kRepeatLanes], kRepeatLanes);
    Fence();
    Largest::Whole(found, bad, kRepeatLanes, 1, 1, 8);
    Largest::Whole(found[kBlockLanes], other, kRepeatLanes, 1, 1, 8);
  }

 private:
  static constexpr int32_t kWordBytes = sizeof(int32_t);
  static constexpr int32_t kNoCell = -2;

  enum TableName {
    kDescending,  // -4 i
    kOrder,       // the Gather that turns a tile's labels around
    kLabel,
    kPenalty,
    kEntry,
    kTableCount
  };

  RNNT_FN void Init(TPipe* pipe, int64_t count, GM_ADDR labels) {
    labels_.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(labels),
                            static_cast<uint64_t>(count));
    pipe->InitBuffer(queue_, 2, (kMaxRows + kBlockLanes) * sizeof(int32_t));
    pipe->InitBuffer(buffer_, kTableCount * kMaxRows * sizeof(int32_t));
    places_.Init(pipe);
    Muls(Table(kDescending), places_.LaneBytes(), int32_t{-1}, kMaxRows);
    Fence();
    received_ = loaded_ = 0;
    for (int32_t i = 0; i < 2; ++i) {
      arrived_[i] = static_cast<int32_t>(pipe->AllocEventID<HardEvent::MTE2_S>());
    }
  }

  // Labels [first, first + count) of the tensor, and -1 behind them.
  RNNT_FN void Copy(const LocalTensor<int32_t>& labels, int64_t first, int64_t count) {
    if (count <= 0) return;
    const int64_t padding = kBlockLanes - count % kBlockLanes;
    DataCopyPad(labels, labels_[static_cast<uint64_t>(first)],
                DataCopyExtParams(1, static_cast<uint32_t>(count * kWordBytes), 0, 0, 0),
                DataCopyPadExtParams<int32_t>(true, 0, static_cast<uint8_t>(padding), -1));
  }

  // Lanes between two spans get some label of the tile.
  RNNT_FN void Sort(const Tile& tile) {
    if (tile.has_several_spans()) Duplicate(Table(kOrder), int32_t{0}, tile.places);
    Fence();
    for (Span span = tile.FirstSpan(); span.count > 0; tile.Step(&span)) {
      const int32_t first_label = static_cast<int32_t>(span.u - tile.lowest_u) * kWordBytes;
      Adds(Table(kOrder)[span.place], Table(kDescending), first_label, span.count);
    }
    Fence();
  }

  // 0, -inf for a label of -1, +inf for one outside [-2, V).
  RNNT_FN void PreparePenalty(int64_t V, int32_t n) {
    const LocalTensor<float> penalty = Penalty(), wrong = Wrong();
    Cast(penalty, Table(kLabel), RoundMode::CAST_NONE, static_cast<uint32_t>(n));
    Fence();
    Maxs(wrong, penalty, static_cast<float>(kNoCell), n);
    Fence();
    Mins(wrong, wrong, static_cast<float>(V - 1), n);
    Fence();
    Sub(wrong, wrong, penalty, n);
    Fence();
    Abs(wrong, wrong, n);
    Mins(penalty, penalty, 0.0f, n);
    Fence();
    for (int32_t i = 0; i < 2; ++i) {
      Muls(wrong, wrong, 1e38f, n);
      Muls(penalty, penalty, 1e38f, n);
      Fence();
    }
    // -inf for a wrong label below -1 as well: +inf must win.
    Maxs(penalty, penalty, kLogZero, n);
    Fence();
    Add(penalty, penalty, wrong, n);
    Fence();
    Muls(penalty, penalty, 1e38f, n);
    Fence();
  }
  RNNT_FN LocalTensor<float> Penalty() { return Table(kPenalty).ReinterpretCast<float>(); }
  RNNT_FN LocalTensor<float> Wrong() { return Table(kOrder).ReinterpretCast<float>(); }

  RNNT_FN LocalTensor<int32_t> Table(TableName name) {
    return buffer_.Get<int32_t>()[name * kMaxRows];
  }
  RNNT_FN LocalTensor<uint32_t> Offsets(TableName name) {
    return Table(name).ReinterpretCast<uint32_t>();
  }

  int64_t max_u_ = 0;
  bool by_row_;
  Places places_;
  GlobalTensor<int32_t> labels_;
  TQue<TPosition::VECIN, 1> queue_;
  TBuf<TPosition::VECCALC> buffer_;
  LocalTensor<int32_t> current_;
  int32_t arrived_[2];
  int32_t loaded_, received_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_LABELS_H_
