// SPDX-License-Identifier: Apache-2.0
// Where the rows of a tile are: in UB, `pitch` lanes apart, without gaps; and in the tile's vectors,
// where each span begins with a block. The tables here are offsets for Gather, in bytes.
#ifndef MINDSPORE_RNNT_RNNT_PLACES_H_
#define MINDSPORE_RNNT_RNNT_PLACES_H_

#include "rnnt_tiles.h"

namespace rnnt {

class Places {
 public:
  RNNT_FN void Init(TPipe* pipe) {
    pipe->InitBuffer(buffer_, kTableCount * kMaxRows * sizeof(int32_t));
    CreateVecIndex(LaneBytes(), int32_t{0}, static_cast<uint32_t>(kMaxRows));
    Fence();
    Muls(LaneBytes(), LaneBytes(), kWordBytes, kMaxRows);
    Fence();
  }

  // Rows of a piece will lie `pitch` lanes apart in UB, at most `rows` of them.
  RNNT_FN void SetPitch(int32_t pitch, int32_t rows) {
    pitch_ = pitch;
    // Pieces of less than a block of rows have no use for offsets beyond the first piece.
    const int32_t step = rows < kBlockLanes ? kMaxRows : rows;
    for (int32_t row = 0; row < kMaxRows; row += step) {
      Muls(Table(kInPiece)[row], LaneBytes(), pitch,
           static_cast<int32_t>(RnntMin(step, kMaxRows - row)));
    }
    Fence();
  }

  // Of entries that lie `words` apart; if more than one, no tile may have several spans.
  RNNT_FN LocalTensor<uint32_t> OfEntries(int32_t words) {
    if (words == 1) return Offsets(kLane);
    Muls(Table(kRow), LaneBytes(), words, kMaxRows);
    Fence();
    return Offsets(kRow);
  }

  // A tile of several spans needs tables of its own. Places between two spans have the first row.
  RNNT_FN void Find(const Tile& tile) {
    if (!tile.has_several_spans()) return;
    Duplicate(Table(kRow), int32_t{0}, tile.places);
    Fence();
    for (Span span = tile.FirstSpan(); span.count > 0; tile.Step(&span)) {
      Adds(Table(kRow)[span.place], LaneBytes(), span.first * kWordBytes, span.count);
    }
    Fence();
    Muls(Table(kInPieceOfSpans), Table(kRow), pitch_, tile.places);
    Fence();
  }

  // Of each place's row, for the tile found: in a vector of the tile's rows, if there are several
  // spans; and in the piece, modulo the rows of a piece.
  RNNT_FN LocalTensor<uint32_t> InRows() { return Offsets(kRow); }
  RNNT_FN LocalTensor<uint32_t> InPiece(const Tile& tile) {
    return Offsets(tile.has_several_spans() ? kInPieceOfSpans : kInPiece);
  }

  // 4 i
  RNNT_FN LocalTensor<int32_t> LaneBytes() { return Table(kLane); }

 private:
  static constexpr int32_t kWordBytes = sizeof(int32_t);

  enum TableName { kLane, kInPiece, kRow, kInPieceOfSpans, kTableCount };

  RNNT_FN LocalTensor<int32_t> Table(TableName name) {
    return buffer_.Get<int32_t>()[name * kMaxRows];
  }
  RNNT_FN LocalTensor<uint32_t> Offsets(TableName name) {
    return Table(name).ReinterpretCast<uint32_t>();
  }

  TBuf<TPosition::VECCALC> buffer_;
  int32_t pitch_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_PLACES_H_
