// SPDX-License-Identifier: Apache-2.0
// Rows that have no gradient of their own: padding, samples that are nothing or NaN.
#ifndef MINDSPORE_RNNT_RNNT_FILL_H_
#define MINDSPORE_RNNT_RNNT_FILL_H_

#include "rnnt_tiles.h"

namespace rnnt {

template <typename T>
class Filler {
 public:
  // A tensor of tiling.rows rows of `width` elements.
  RNNT_FN void Init(TPipe* pipe, const RnntTiling& tiling, int64_t width, GM_ADDR rows) {
    width_ = width;
    rows_.SetGlobalBuffer(reinterpret_cast<__gm__ Word*>(rows),
                          static_cast<uint64_t>(tiling.rows * width));
    pipe->InitBuffer(zero_buffer_, kWords * sizeof(T));
    pipe->InitBuffer(nan_buffer_, kWords * sizeof(T));
    Duplicate(zero_buffer_.template Get<Word>(), Word{0}, kWords);
    // -inf with a bit more in its mantissa.
    Duplicate(nan_buffer_.template Get<Word>(), static_cast<Word>(MinusInfinity<T>::kBits | kQuiet),
              kWords);
    Order<HardEvent::V_MTE3>();
  }

  RNNT_FN void Rows(int64_t row, int64_t count, bool nan) {
    Fill(row * width_, (row + count) * width_, nan);
  }

  RNNT_FN void RowsOf(const Tile& tile, bool nan) {
    for (Span span = tile.FirstSpan(); span.count > 0; tile.Step(&span)) {
      for (int32_t i = 0; i < span.count; ++i) Rows(span.row + i * tile.row_step, 1, nan);
    }
  }

  // Zero for every row that is no cell of a valid sample; the cores take turns.
  RNNT_FN void ZeroOutside(Batch* batch) {
    const RnntTiling& tiling = batch->tiling();
    if (!batch->adds_up()) return ZeroShare(0, tiling.rows);
    Sample sample = batch->Begin();
    while (batch->Next(&sample)) {
      if (tiling.padded == 0) {
        if (!sample.valid) ZeroShare(sample.row_base, sample.row_count);
        continue;
      }
      const int64_t core = GetBlockIdx(), cores = GetBlockNum();
      for (int64_t t = core; t < tiling.max_t; t += cores) {
        const int64_t used = sample.valid && t < sample.T ? sample.U1 : 0;
        Rows(sample.row_base + t * tiling.max_u1 + used, tiling.max_u1 - used, false);
      }
    }
  }

 private:
  using Word = typename Bits<T>::Word;
  static constexpr int32_t kWords = 4096 / sizeof(T);
  static constexpr uint32_t kQuiet = sizeof(T) == 4                       ? 0x400000u
                                     : MinusInfinity<T>::kBits == 0xFC00u ? 0x200u
                                                                          : 0x40u;

  RNNT_FN void ZeroShare(int64_t row, int64_t count) {
    const int64_t core = GetBlockIdx(), cores = GetBlockNum();
    const int64_t words = count * width_, share = words / cores, more = words % cores;
    const int64_t begin = row * width_ + share * core + RnntMin(core, more);
    Fill(begin, begin + share + (core < more ? 1 : 0), false);
  }

  RNNT_FN void Fill(int64_t begin, int64_t end, bool nan) {
    const LocalTensor<Word> source =
        nan ? nan_buffer_.template Get<Word>() : zero_buffer_.template Get<Word>();
    for (int64_t at = begin; at < end; at += kWords) {
      const uint32_t bytes = static_cast<uint32_t>(RnntMin(kWords, end - at) * sizeof(T));
      DataCopyPad(rows_[static_cast<uint64_t>(at)], source, DataCopyExtParams(1, bytes, 0, 0, 0));
    }
  }

  int64_t width_;
  GlobalTensor<Word> rows_;
  TBuf<TPosition::VECOUT> zero_buffer_, nan_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_FILL_H_
