// SPDX-License-Identifier: Apache-2.0
// Rows of a piece between GM, in the logits' type, and UB, as floats.
//
// In UB a row takes `pitch` lanes, a multiple of 64; what lies behind its columns is -inf when read
// and not written.
#ifndef MINDSPORE_RNNT_RNNT_ROWS_H_
#define MINDSPORE_RNNT_RNNT_ROWS_H_

#include "rnnt_tiles.h"

namespace rnnt {

template <typename T>
struct RowFormat {
  using Word = typename Bits<T>::Word;
  static constexpr int32_t kBlockWords = kBlockBytes / sizeof(T);

  // Words that a row's columns take in UB, whole blocks.
  static RNNT_FN int32_t Words(const Piece& piece) {
    return static_cast<int32_t>(RnntAlignUp(piece.columns, kBlockWords));
  }
  static RNNT_FN uint32_t RowBytes(const Piece& piece) {
    return static_cast<uint32_t>(piece.columns * sizeof(T));
  }
  // Between the end of a piece's row and the start of the next one, in GM and in UB.
  static RNNT_FN uint32_t GmGap(const Piece& piece, int64_t V) {
    if (piece.rows == 1) return 0;
    return static_cast<uint32_t>((piece.tile.row_step * V - piece.columns) * sizeof(T));
  }
  static RNNT_FN uint32_t UbGap(const Piece& piece, int32_t pitch) {
    return static_cast<uint32_t>((pitch - Words(piece)) / kBlockWords);
  }
  static RNNT_FN uint64_t At(const Piece& piece, const Span& span, int64_t V) {
    return static_cast<uint64_t>(span.row * V + piece.column);
  }
};

template <typename T>
class RowReader {
 public:
  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, int32_t tile_lanes, GM_ADDR rows) {
    V_ = tiling.V;
    rows_.SetGlobalBuffer(reinterpret_cast<__gm__ Word*>(rows),
                          static_cast<uint64_t>(tiling.rows * V_));
    pipe->InitBuffer(queue_, 2, static_cast<uint32_t>(tile_lanes * sizeof(T)));
  }

  RNNT_FN void Load(const Piece& piece, int32_t pitch) {
    const LocalTensor<Word> tile = queue_.template AllocTensor<Word>();
    const int32_t padding = Format::Words(piece) - piece.columns;
    for (Span span = piece.FirstSpan(); span.count > 0; piece.tile.Step(&span)) {
      DataCopyPad(tile[span.first * pitch], rows_[Format::At(piece, span, V_)],
                  DataCopyExtParams(static_cast<uint16_t>(span.count), Format::RowBytes(piece),
                                    Format::GmGap(piece, V_), Format::UbGap(piece, pitch), 0),
                  DataCopyPadExtParams<Word>(true, 0, static_cast<uint8_t>(padding),
                                             MinusInfinity<T>::kBits));
    }
    queue_.EnQue(tile);
  }

  RNNT_FN void Receive() { tile_ = queue_.template DeQue<Word>(); }

  // The tile received as floats: where it is, or in `wide` if it has to be converted.
  RNNT_FN LocalTensor<float> Floats(const Piece& piece, int32_t pitch,
                                    const LocalTensor<float>& wide) {
    const int32_t n = piece.rows;
    FillTail(n, pitch, Format::Words(piece));
    return Convert(tile_.template ReinterpretCast<T>(), wide, n * pitch);
  }

  RNNT_FN void Release() { queue_.FreeTensor(tile_); }

 private:
  using Format = RowFormat<T>;
  using Word = typename Format::Word;

  RNNT_FN void FillTail(int32_t n, int32_t pitch, int32_t filled) {
    const int32_t row_blocks = pitch / Format::kBlockWords;
    const Word fill = MinusInfinity<T>::kBits;
    // A repeat holds 64 floats or 128 halves; a row that is the last piece of a long one may lack
    // several.
    constexpr int32_t kRepeatWords = 8 * Format::kBlockWords;
    for (int32_t at = filled; at < pitch; at += kRepeatWords) {
      const uint64_t mask = static_cast<uint64_t>(RnntMin(kRepeatWords, pitch - at));
      if (row_blocks <= kMaxRepeats) {
        Duplicate(tile_[at], fill, mask, static_cast<uint8_t>(n), 1,
                  static_cast<uint8_t>(row_blocks));
      } else {
        for (int32_t i = 0; i < n; ++i) Duplicate(tile_[i * pitch + at], fill, mask, 1, 1, 8);
      }
    }
    Fence();
  }

  static RNNT_FN LocalTensor<float> Convert(const LocalTensor<float>& tile,
                                            const LocalTensor<float>&, int32_t) {
    return tile;
  }
  template <typename U>
  static RNNT_FN LocalTensor<float> Convert(const LocalTensor<U>& tile,
                                            const LocalTensor<float>& wide, int32_t lanes) {
    Cast(wide, tile, RoundMode::CAST_NONE, static_cast<uint32_t>(lanes));
    Fence();
    return wide;
  }

  int64_t V_;
  GlobalTensor<Word> rows_;
  TQue<TPosition::VECIN, 1> queue_;
  LocalTensor<Word> tile_;
};

// Whether single elements are NaN, for what is decided once a sample.
template <typename T>
class NaNReader {
 public:
  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, GM_ADDR rows) {
    rows_.SetGlobalBuffer(reinterpret_cast<__gm__ Word*>(rows),
                          static_cast<uint64_t>(tiling.rows * tiling.V));
    pipe->InitBuffer(buffer_, kBlockBytes);
  }

  RNNT_FN bool IsNaN(int64_t at) {
    const LocalTensor<Word> block = buffer_.template Get<Word>();
    const uint8_t padding = kBlockBytes / sizeof(T) - 1;
    Order<HardEvent::S_MTE2>();
    DataCopyPad(block, rows_[static_cast<uint64_t>(at)], DataCopyExtParams(1, sizeof(T), 0, 0, 0),
                DataCopyPadExtParams<Word>(true, 0, padding, 0));
    Order<HardEvent::MTE2_S>();
    const Word negative = static_cast<Word>(block.GetValue(0) | kSign);
    return negative > MinusInfinity<T>::kBits;
  }

 private:
  using Word = typename Bits<T>::Word;
  static constexpr Word kSign = static_cast<Word>(Word{1} << (8 * sizeof(T) - 1));

  GlobalTensor<Word> rows_;
  TBuf<TPosition::VECIN> buffer_;
};

template <typename T>
class RowWriter {
 public:
  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, int32_t tile_lanes, GM_ADDR rows) {
    V_ = tiling.V;
    rows_.SetGlobalBuffer(reinterpret_cast<__gm__ Word*>(rows),
                          static_cast<uint64_t>(tiling.rows * V_));
    pipe->InitBuffer(queue_, 2, static_cast<uint32_t>(tile_lanes * sizeof(T)));
    pipe->InitBuffer(wide_buffer_, kNarrow ? static_cast<uint32_t>(tile_lanes * sizeof(float))
                                           : static_cast<uint32_t>(kBlockBytes));
  }

  // Where the caller puts the floats of the next tile.
  RNNT_FN LocalTensor<float> Floats() {
    tile_ = queue_.template AllocTensor<Word>();
    return kNarrow ? wide_buffer_.Get<float>() : tile_.template ReinterpretCast<float>();
  }

  RNNT_FN void Store(const Piece& piece, int32_t pitch) {
    Convert(tile_.template ReinterpretCast<T>(), piece.rows * pitch);
    queue_.EnQue(tile_);
    tile_ = queue_.template DeQue<Word>();
    for (Span span = piece.FirstSpan(); span.count > 0; piece.tile.Step(&span)) {
      DataCopyPad(rows_[Format::At(piece, span, V_)], tile_[span.first * pitch],
                  DataCopyExtParams(static_cast<uint16_t>(span.count), Format::RowBytes(piece),
                                    Format::UbGap(piece, pitch), Format::GmGap(piece, V_), 0));
    }
    queue_.FreeTensor(tile_);
  }

 private:
  using Format = RowFormat<T>;
  using Word = typename Format::Word;
  static constexpr bool kNarrow = sizeof(T) == 2;

  RNNT_FN void Convert(const LocalTensor<float>&, int32_t) {}
  template <typename U>
  RNNT_FN void Convert(const LocalTensor<U>& tile, int32_t lanes) {
    Cast(tile, wide_buffer_.Get<float>(), RoundMode::CAST_RINT, static_cast<uint32_t>(lanes));
    Fence();
  }

  int64_t V_;
  GlobalTensor<Word> rows_;
  TQue<TPosition::VECOUT, 1> queue_;
  TBuf<TPosition::VECCALC> wide_buffer_;
  LocalTensor<Word> tile_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_ROWS_H_
