// SPDX-License-Identifier: Apache-2.0
// A core's share of the rows, cut into tiles that fit UB.
//
// All cells of all samples have a rank in the order (sample, diagonal, lane); core k of K has the
// ranks [N k / K, N (k + 1) / K). A tile is up to `max_rows` neighbours on one diagonal: its rows
// are equally far apart in the logits, so one DataCopyPad fetches them, and its cells are
// consecutive in the workspace.
#ifndef MINDSPORE_RNNT_RNNT_TILES_H_
#define MINDSPORE_RNNT_RNNT_TILES_H_

#include "rnnt_workspace.h"

namespace rnnt {

struct Tile {
  int64_t row, row_step;  // rows row, row + row_step, ...
  int32_t count;
  // Where the cells are in their sample: labels u, u - 1, ... on lanes lane, lane + 1, ...
  Sample sample;
  int64_t diagonal, lane, u;
};

// No label follows the last one: the gap of the row with u = U, the tile's first if it is there.
RNNT_FN void CloseLastRow(const Tile& tile, const LocalTensor<float>& label_gap) {
  if (tile.u != tile.sample.U1 - 1) return;
  LaneMask first(0);
  Duplicate(label_gap, -kInfinity, first.bits, 1, 1, 8);
}

// Where core `core` of `cores` begins.
RNNT_FN int64_t Share(int64_t count, int64_t core, int64_t cores) {
  return count / cores * core + count % cores * core / cores;
}

class Tiles {
 public:
  RNNT_FN void Init(Batch* batch, int32_t max_rows, int64_t row_bytes) {
    batch_ = batch;
    max_rows_ = max_rows;
    row_bytes_ = row_bytes;
    const int64_t core = GetBlockIdx(), cores = GetBlockNum(), cells = batch->total_cells();
    left_ = Share(cells, core + 1, cores) - Share(cells, core, cores);
    skip_ = Share(cells, core, cores);
    tile_.sample = batch->Begin();
    tile_.count = 0;
    lane_end_ = 0;
  }

  RNNT_FN bool Next(Tile* tile) {
    if (left_ == 0) return false;
    tile_.lane += tile_.count;
    if (tile_.lane >= lane_end_) NextDiagonal();
    const Sample& sample = tile_.sample;
    tile_.u = sample.ByFrame() ? tile_.diagonal - tile_.lane : sample.U1 - 1 - tile_.lane;
    const int64_t t = tile_.diagonal - tile_.u;
    tile_.row = sample.row_base + t * sample.row_stride + tile_.u;
    const int64_t strip_end = (tile_.lane / sample.strip_lanes + 1) * sample.strip_lanes;
    int64_t count = RnntMin(RnntMin(max_rows_, left_), RnntMin(lane_end_, strip_end) - tile_.lane);
    tile_.row_step = sample.row_stride - 1;
    constexpr int64_t kMaxGapBytes = 0xFFFFFFFFll;
    if (tile_.row_step * row_bytes_ > kMaxGapBytes) count = 1;
    tile_.count = static_cast<int32_t>(count);
    left_ -= count;
    *tile = tile_;
    return true;
  }

 private:
  RNNT_FN void NextDiagonal() {
    Sample& sample = tile_.sample;
    ++tile_.diagonal;
    tile_.lane = 0;
    if (sample.index < 0 || tile_.diagonal >= sample.Diagonals() || !sample.valid) {
      while (batch_->Next(&sample) && skip_ >= sample.Cells()) skip_ -= sample.Cells();
      tile_.diagonal = RnntDiagonalOfRank(sample.T, sample.U1, skip_);
      tile_.lane = skip_ - RnntCellsBefore(sample.T, sample.U1, tile_.diagonal);
      skip_ = 0;
    }
    tile_.lane += sample.FirstLane(tile_.diagonal);
    lane_end_ = sample.LastLane(tile_.diagonal) + 1;
  }

  Batch* batch_;
  Tile tile_ = {};
  int64_t left_, skip_, lane_end_, row_bytes_;
  int32_t max_rows_;
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
    tile_.count = static_cast<int32_t>(RnntMin(max_rows_, end_ - tile_.row));
    *tile = tile_;
    return true;
  }

 private:
  Tile tile_ = {};
  int64_t end_;
  int32_t max_rows_;
};

// What of a tile is in UB at once: rows [row, row + rows) if they fit, else columns [column, column
// + columns) of one.
struct Piece {
  Tile tile;
  int32_t row, rows;
  int32_t column, columns;
  bool first, last;  // of the tile
  bool row_begins, row_ends;

  RNNT_FN int64_t FirstRow() const { return tile.row + row * tile.row_step; }
};

template <class TileSource>
class Pieces {
 public:
  // `columns`: those of a row that are wanted in UB.
  template <class RowSet>
  RNNT_FN void Init(RowSet* rows, int32_t columns, int32_t piece_lanes, int32_t element_bytes) {
    all_columns_ = columns;
    max_columns_ = static_cast<int32_t>(RnntMin(piece_lanes, columns));
    pitch_ = static_cast<int32_t>(RnntAlignUp(max_columns_, kRepeatLanes));
    max_rows_ = static_cast<int32_t>(RnntMin(kMaxRows, piece_lanes / pitch_));
    // Vectors of a tile can be cut at whole blocks.
    if (max_rows_ > kBlockLanes) max_rows_ = max_rows_ / kBlockLanes * kBlockLanes;
    rows->Begin(&tiles_, kMaxRows, int64_t{rows->tiling().V} * element_bytes);
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
