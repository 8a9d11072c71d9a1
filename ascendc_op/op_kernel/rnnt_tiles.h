// SPDX-License-Identifier: Apache-2.0
// A core's share of the rows, cut into tiles that fit UB.
//
// All cells of all samples have a rank in the order (sample, diagonal, lane); core k of K has the
// ranks [N k / K, N (k + 1) / K). A span is neighbours on one diagonal: its rows are equally far
// apart in the logits, so one DataCopyPad fetches them, and its cells are consecutive in the
// workspace. A tile is up to `max_rows` rows of one span, or of several spans on consecutive diagonals,
// where short diagonals would leave most lanes of an instruction without work.
#ifndef MINDSPORE_RNNT_RNNT_TILES_H_
#define MINDSPORE_RNNT_RNNT_TILES_H_

#include "rnnt_workspace.h"

namespace rnnt {

// Rows row, row + row_step, ... of the logits: labels u, u - 1, ... on lanes lane, lane + 1, ...
struct Span {
  int64_t row;
  int32_t count;
  int64_t diagonal, lane, u;
  int32_t first;  // its first row, in the piece
  int32_t place;  // and in the vectors of the tile: a span begins with a block
  int32_t left;   // rows of the piece behind it
};

struct Tile {
  int64_t row, row_step;  // of the first span
  int32_t count;          // rows
  int32_t head;           // rows of the first span
  int32_t places;         // lanes of the tile's vectors
  Sample sample;
  int64_t diagonal, lane, u;  // of the first span
  int64_t lowest_u, highest_u;

  // The first span of rows [row_of_tile, row_of_tile + rows), which are all if there are several spans.
  RNNT_FN Span SpanAt(int32_t row_of_tile, int32_t rows) const {
    const int32_t n = static_cast<int32_t>(RnntMin(head - row_of_tile, rows));
    return {row + row_of_tile * row_step,
            n,
            diagonal,
            lane + row_of_tile,
            u - row_of_tile,
            0,
            row_of_tile,
            rows - n};
  }
  RNNT_FN Span FirstSpan() const { return SpanAt(0, count); }
  // The next span; of no rows behind the last.
  RNNT_FN void Step(Span* span) const {
    span->first += span->count;
    span->place += static_cast<int32_t>(RnntAlignUp(span->count, kBlockLanes));
    span->count = 0;
    if (span->left == 0) return;
    const int64_t d = ++span->diagonal;
    span->lane = sample.FirstLane(d);
    span->count = static_cast<int32_t>(RnntMin(span->left, sample.LastLane(d) + 1 - span->lane));
    span->left -= span->count;
    span->u = sample.LabelAt(d, span->lane);
    span->row = sample.RowAt(d, span->u);
  }
  RNNT_FN bool has_several_spans() const { return head < count; }
};

// No label follows the last one: the gap of a row with u = U, the first of its span.
RNNT_FN void CloseLastRows(const Tile& tile, const LocalTensor<float>& label_gap) {
  for (Span span = tile.FirstSpan(); span.count > 0; tile.Step(&span)) {
    if (span.u != tile.sample.U1 - 1) continue;
    LaneMask first(0);
    Duplicate(label_gap[span.place], -kInfinity, first.bits, 1, 1, 8);
  }
}

// Where core `core` of `cores` begins.
RNNT_FN int64_t Share(int64_t count, int64_t core, int64_t cores) {
  return count / cores * core + count % cores * core / cores;
}

class Tiles {
 public:
  // Tiles of several spans have at most `joint_rows` rows.
  RNNT_FN void Init(Batch* batch, int32_t max_rows, int64_t row_bytes, int32_t joint_rows = 0) {
    batch_ = batch;
    max_rows_ = max_rows;
    row_bytes_ = row_bytes;
    joint_rows_ = joint_rows;
    const int64_t core = GetBlockIdx(), cores = GetBlockNum(), cells = batch->total_cells();
    left_ = Share(cells, core + 1, cores) - Share(cells, core, cores);
    skip_ = Share(cells, core, cores);
    sample_ = batch->Begin();
    lane_ = lane_end_ = 0;
  }

  RNNT_FN bool Next(Tile* tile) {
    if (left_ == 0) return false;
    if (lane_ >= lane_end_) NextDiagonal();
    tile->sample = sample_;
    tile->diagonal = diagonal_;
    tile->lane = lane_;
    tile->u = sample_.LabelAt(diagonal_, lane_);
    tile->row = sample_.RowAt(diagonal_, tile->u);
    tile->row_step = sample_.row_stride - 1;
    const int64_t strip_end = (lane_ / sample_.strip_lanes + 1) * sample_.strip_lanes;
    int64_t count = RnntMin(RnntMin(max_rows_, left_), RnntMin(lane_end_, strip_end) - lane_);
    constexpr int64_t kMaxGapBytes = 0xFFFFFFFFll;
    const bool far = tile->row_step * row_bytes_ > kMaxGapBytes;
    if (far) count = 1;
    tile->count = tile->places = 0;
    tile->lowest_u = tile->highest_u = tile->u;
    Append(tile, count);
    tile->head = tile->count;
    if (!far && sample_.Lanes() <= sample_.strip_lanes) Extend(tile);
    return true;
  }

 private:
  // The next `count` rows of the diagonal.
  RNNT_FN void Append(Tile* tile, int64_t count) {
    const int64_t u = sample_.LabelAt(diagonal_, lane_);
    tile->highest_u = RnntMax(tile->highest_u, u);
    tile->lowest_u = RnntMin(tile->lowest_u, u - count + 1);
    tile->count += static_cast<int32_t>(count);
    tile->places += static_cast<int32_t>(RnntAlignUp(count, kBlockLanes));
    lane_ += count;
    left_ -= count;
  }

  // The following diagonals of the sample, as far as they fit.
  RNNT_FN void Extend(Tile* tile) {
    while (left_ > 0 && lane_ == lane_end_ && diagonal_ + 1 < sample_.Diagonals()) {
      const int64_t d = diagonal_ + 1, first = sample_.FirstLane(d), end = sample_.LastLane(d) + 1;
      const int64_t count = RnntMin(left_, end - first);
      if (tile->count + count > joint_rows_ ||
          tile->places + RnntAlignUp(count, kBlockLanes) > kMaxRows) {
        return;
      }
      diagonal_ = d;
      lane_ = first;
      lane_end_ = end;
      Append(tile, count);
    }
  }

  RNNT_FN void NextDiagonal() {
    ++diagonal_;
    lane_ = 0;
    if (sample_.index < 0 || diagonal_ >= sample_.Diagonals() || !sample_.valid) {
      while (batch_->Next(&sample_) && skip_ >= sample_.Cells()) skip_ -= sample_.Cells();
      diagonal_ = RnntDiagonalOfRank(sample_.T, sample_.U1, skip_);
      lane_ = skip_ - RnntCellsBefore(sample_.T, sample_.U1, diagonal_);
      skip_ = 0;
    }
    lane_ += sample_.FirstLane(diagonal_);
    lane_end_ = sample_.LastLane(diagonal_) + 1;
  }

  Batch* batch_;
  Sample sample_;
  int64_t diagonal_ = 0, lane_, lane_end_;  // what comes next
  int64_t left_, skip_, row_bytes_;
  int32_t max_rows_, joint_rows_;
};

// Rows that belong to no batch, for the operators on a chunk: an equal share of them for each core.
class RowTiles {
 public:
  RNNT_FN void Init(int64_t rows, int32_t max_rows) {
    const int64_t core = GetBlockIdx(), cores = GetBlockNum();
    tile_.row = Share(rows, core, cores);
    tile_.row_step = 1;
    tile_.count = 0;
    end_ = Share(rows, core + 1, cores);
    max_rows_ = max_rows;
  }

  RNNT_FN bool Next(Tile* tile) {
    tile_.row += tile_.count;
    if (tile_.row >= end_) return false;
    tile_.count = tile_.head = static_cast<int32_t>(RnntMin(max_rows_, end_ - tile_.row));
    tile_.places = static_cast<int32_t>(RnntAlignUp(tile_.count, kBlockLanes));
    *tile = tile_;
    return true;
  }

 private:
  Tile tile_ = {};
  int64_t end_;
  int32_t max_rows_;
};

// What of a tile is in UB at once: rows [row, row + rows) if they fit, else columns [column, column
// + columns) of one. A tile of several spans is one piece.
struct Piece {
  Tile tile;
  int32_t row, rows;
  int32_t column, columns;
  bool first, last;  // of the tile
  bool row_begins, row_ends;

  RNNT_FN Span FirstSpan() const { return tile.SpanAt(row, rows); }
};

template <class TileSource>
class Pieces {
 public:
  // `columns`: those of a row that are wanted in UB. `join`: tiles may have several spans.
  template <class RowSet>
  RNNT_FN void Init(RowSet* rows, int32_t columns, int32_t piece_lanes, int32_t element_bytes,
                    bool join) {
    all_columns_ = columns;
    max_columns_ = static_cast<int32_t>(RnntMin(piece_lanes, columns));
    pitch_ = static_cast<int32_t>(RnntAlignUp(max_columns_, kRepeatLanes));
    max_rows_ = static_cast<int32_t>(RnntMin(kMaxRows, piece_lanes / pitch_));
    // Vectors of a tile can be cut at whole blocks.
    if (max_rows_ > kBlockLanes) max_rows_ = max_rows_ / kBlockLanes * kBlockLanes;
    rows->Begin(&tiles_, kMaxRows, int64_t{rows->tiling().V} * element_bytes,
                join && max_rows_ >= kBlockLanes ? max_rows_ : 0);
    piece_.last = true;
  }

  RNNT_FN bool Next(Piece* piece) {
    piece_.first = piece_.last;
    if (piece_.first) {
      if (!tiles_.Next(&piece_.tile)) return false;
      piece_.row = piece_.column = 0;
    } else if (piece_.row_ends) {
      piece_.row += piece_.rows;
      piece_.column = 0;
    } else {
      piece_.column += piece_.columns;
    }
    piece_.rows = static_cast<int32_t>(RnntMin(max_rows_, piece_.tile.count - piece_.row));
    piece_.columns = static_cast<int32_t>(RnntMin(max_columns_, all_columns_ - piece_.column));
    piece_.row_begins = piece_.column == 0;
    piece_.row_ends = piece_.column + piece_.columns == all_columns_;
    piece_.last = piece_.row_ends && piece_.row + piece_.rows == piece_.tile.count;
    *piece = piece_;
    return true;
  }

  // Lanes between the rows of a piece in UB.
  RNNT_FN int32_t pitch() const { return pitch_; }
  RNNT_FN int32_t max_rows() const { return max_rows_; }
  RNNT_FN bool whole_rows() const { return max_columns_ == all_columns_; }

 private:
  TileSource tiles_;
  Piece piece_ = {};
  int32_t all_columns_, max_columns_, max_rows_, pitch_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_TILES_H_
