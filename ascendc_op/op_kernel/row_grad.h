// SPDX-License-Identifier: Apache-2.0
// Phase row_grad: the second look at each row of logits, and its gradient.
//
//   d loss / d x_k = exp(x_k - row_max) * (occupation / row_sum)
//                    - [k = blank] post_blank - [k = label] post_label
//
// With a temperature, x_k - row_max is divided by it; with `rest`, blank and label have no first
// term.
//
// clipped to [-clamp, clamp], times dloss. Input that holds log-probabilities has no softmax term
// and is not read.
#ifndef MINDSPORE_RNNT_ROW_GRAD_H_
#define MINDSPORE_RNNT_ROW_GRAD_H_

#include "rnnt_fill.h"
#include "rnnt_row_sets.h"
#include "rnnt_rows.h"
#include "rnnt_state.h"

namespace rnnt {

template <typename T, class RowSet, class StateSource>
class RowGrad {
 public:
  // `rows` and `state` are ready; dloss (B,) may be null: 1 for all.
  RNNT_FN void Init(TPipe* pipe, RowSet* rows, const Options& options, StateSource* state,
                    GM_ADDR logits, GM_ADDR dloss, GM_ADDR grad) {
    const RnntTiling& tiling = rows->tiling();
    options_ = options;
    rows_ = rows;
    state_ = state;
    V_ = tiling.V;
    has_dloss_ = dloss != nullptr;
    if (has_dloss_) dloss_.Init(pipe, tiling.B, 1, dloss);
    reader_.Init(pipe, tiling, kTileLanes, logits);
    writer_.Init(pipe, tiling, kTileLanes, grad);
    filler_.Init(pipe, tiling, V_, grad);
    pipe->InitBuffer(factor_buffer_, kMaxRows * sizeof(float));
    Duplicate(factor_buffer_.Get<float>(), 0.0f, kMaxRows);
    Fence();
    pipe->InitBuffer(block_buffer_, kBlockVectorCount * kMaxRows * kBlockBytes);
  }

  RNNT_FN void Run() {
    rows_->ZeroOutside(&filler_);
    pieces_.Init(rows_, static_cast<int32_t>(V_), kTileLanes, sizeof(T), StateSource::kJoinsSpans);
    SamplePiece next;
    next.sample = -1;
    bool more = Next(&next);
    if (more) Load(next);
    while (more) {
      const SamplePiece work = next;
      if (work.worked) Receive(work);
      more = Next(&next);
      if (more) Load(next);
      if (work.worked) {
        Differentiate(work);
      } else if (work.piece.first) {
        Spread(work);
      }
    }
  }

 private:
  static constexpr int32_t kTileLanes = 128 * kRepeatLanes;

  enum BlockVector {
    kMaxBlocks,
    kFactorBlocks,
    kPostBlankBlocks,
    kPostLabelBlocks,
    kBlockVectorCount
  };

  // A piece, with what is known of its sample.
  struct SamplePiece {
    Piece piece;
    int64_t sample;
    Verdict verdict;
    float dloss;
    bool worked;  // has a gradient that is more than one value for all
  };

  // Blocks of a tile's rows, from `row` on.
  RNNT_FN LocalTensor<float> Blocks(BlockVector v, int32_t row = 0) {
    return block_buffer_.Get<float>()[(v * kMaxRows + row) * kBlockLanes];
  }

  RNNT_FN bool Next(SamplePiece* work) {
    if (!pieces_.Next(&work->piece)) return false;
    const Sample& sample = work->piece.tile.sample;
    if (sample.index != work->sample) {
      work->sample = sample.index;
      work->verdict = state_->Of(sample);
      work->dloss = has_dloss_ ? dloss_.At(sample.index, 0) : 1.0f;
      work->worked =
          work->verdict.outcome == kLoss && work->dloss != 0.0f && work->dloss == work->dloss;
    }
    return true;
  }

  RNNT_FN void Load(const SamplePiece& work) {
    if (!work.worked) return;
    if (work.piece.first) {
      rows_->labels().Load(work.piece.tile);
      state_->Load(work.piece.tile);
    }
    if (options_.fused_log_softmax) reader_.Load(work.piece, pieces_.pitch());
  }

  RNNT_FN void Receive(const SamplePiece& work) {
    if (work.piece.first) {
      rows_->labels().Receive();
      state_->Compute(work.piece.tile, work.verdict, &rows_->labels());
    }
    if (options_.fused_log_softmax) reader_.Receive();
  }

  // One value for all of the tile's rows: NaN, or 0 whatever is in the logits.
  RNNT_FN void Spread(const SamplePiece& work) {
    // A gradient of 0, of an impossible sample for example, stays 0 whatever comes from upstream.
    const bool nan_upstream = work.verdict.outcome == kLoss && work.dloss != work.dloss;
    const bool nan = (work.verdict.HasNaNGradient() || nan_upstream) && work.dloss != 0.0f;
    filler_.RowsOf(work.piece.tile, nan);
  }

  RNNT_FN void Differentiate(const SamplePiece& work) {
    const Piece& piece = work.piece;
    const int32_t n = piece.rows, pitch = pieces_.pitch();
    if (piece.first) SpreadState(piece.tile.places);
    const LocalTensor<float> y = writer_.Floats();
    if (options_.fused_log_softmax) {
      WithStateOfRows<Minus>(y, reader_.Floats(piece, pitch, y), kMaxBlocks, piece);
      reader_.Release();
      Fence();
      if (options_.inverse_temperature != 1.0f) {
        Muls(y, y, options_.inverse_temperature, n * pitch);
        Fence();
      }
      Exp(y, y, n * pitch);
      Fence();
      WithStateOfRows<Times>(y, y, kFactorBlocks, piece);
    } else {
      Duplicate(y, 0.0f, n * pitch);
    }
    Fence();
    if (options_.rest) rows_->labels().ClearEntries(piece, y, pitch, options_.blank, V_);
    SubtractBlank(piece, y);
    SubtractLabels(piece, y);
    if (piece.last) rows_->labels().Release();
    if (options_.clamp > 0.0f) {
      Maxs(y, y, -options_.clamp, n * pitch);
      Fence();
      Mins(y, y, options_.clamp, n * pitch);
      Fence();
    }
    if (work.dloss != 1.0f) {
      Muls(y, y, work.dloss, n * pitch);
      Fence();
    }
    state_->Weigh(piece, y, pitch);
    writer_.Store(piece, pitch);
    state_->FillNaNRows(piece, &filler_);
  }

  template <class Op>
  RNNT_FN void WithStateOfRows(const LocalTensor<float>& y, const LocalTensor<float>& x,
                               BlockVector v, const Piece& piece) {
    const int32_t pitch = pieces_.pitch();
    for (Span span = piece.FirstSpan(); span.count > 0; piece.tile.Step(&span)) {
      const int32_t at = span.first * pitch;
      WithRowValue<Op>(y[at], x[at], Blocks(v, span.place), span.count, pitch);
    }
  }

  // The tile's state as blocks.
  RNNT_FN void SpreadState(int32_t n) {
    StateVectors& vectors = state_->vectors();
    const LocalTensor<float> factor = factor_buffer_.Get<float>();
    Muls(factor, vectors.Get(kStateLogSum), -1.0f, n);
    Fence();
    Exp(factor, factor, n);
    Fence();
    Mul(factor, factor, vectors.Get(kOccupation), n);
    ToBlocks(Blocks(kMaxBlocks), vectors.Get(kStateRowMax), n);
    ToBlocks(Blocks(kPostBlankBlocks), vectors.Get(kPostBlank), n);
    ToBlocks(Blocks(kPostLabelBlocks), vectors.Get(kPostLabel), n);
    Fence();
    ToBlocks(Blocks(kFactorBlocks), factor, n);
    Fence();
  }

  // One column of all rows. A repeat takes it from 8 rows, if they are near enough.
  RNNT_FN void SubtractBlank(const Piece& piece, const LocalTensor<float>& y) {
    const int64_t column = options_.blank - piece.column;
    if (column < 0 || column >= piece.columns) return;
    const int32_t pitch = pieces_.pitch(), row_blocks = pitch / kBlockLanes;
    const bool near = row_blocks <= kMaxRepeats;
    for (Span span = piece.FirstSpan(); span.count > 0; piece.tile.Step(&span)) {
      for (int32_t i = 0, rows = 0; i < span.count; i += rows) {
        const int32_t left = span.count - i;
        rows = static_cast<int32_t>(RnntMin(near ? 8 : 1, left));
        // The stride from repeat to repeat is 8 rows.
        const int32_t repeats = rows == 8 && 8 * row_blocks <= kMaxRepeats ? left / 8 : 1;
        SubtractLane(y, (span.first + i) * pitch + static_cast<int32_t>(column),
                     Blocks(kPostBlankBlocks, span.place + i), rows, repeats,
                     near ? row_blocks : 1);
        rows *= repeats;
      }
    }
    Fence();
  }

  // A lane of y, and the block with what is subtracted from it.
  struct Entry {
    int32_t at, place;
  };

  // A column of its own for each row. A repeat takes two rows, if they are near enough.
  RNNT_FN void SubtractLabels(const Piece& piece, const LocalTensor<float>& y) {
    const int32_t pitch = pieces_.pitch();
    Entry last = {-1, 0};
    for (Span span = piece.FirstSpan(); span.count > 0; piece.tile.Step(&span)) {
      for (int32_t i = 0; i < span.count; ++i) {
        const int64_t label = rows_->labels().ScalarAt(piece.tile, span, i, V_);
        const int64_t column = label - piece.column;
        if (label < 0 || column < 0 || column >= piece.columns) continue;
        const Entry entry = {(span.first + i) * pitch + static_cast<int32_t>(column),
                             span.place + i};
        if (last.at < 0) {
          last = entry;
        } else if (SubtractPair(y, last, entry)) {
          last.at = -1;
        } else {
          SubtractLane(y, last.at, Blocks(kPostLabelBlocks, last.place), 1, 1, 1);
          last = entry;
        }
      }
    }
    if (last.at >= 0) SubtractLane(y, last.at, Blocks(kPostLabelBlocks, last.place), 1, 1, 1);
    Fence();
  }

  // False if a repeat would reach beyond the rows or the blocks: all of its 8 blocks have to be
  // there, though no lane of the last six is worked on.
  RNNT_FN bool SubtractPair(const LocalTensor<float>& y, const Entry& a, const Entry& b) {
    const int32_t block = a.at / kBlockLanes, stride = b.at / kBlockLanes - block;
    const int32_t post_stride = b.place - a.place;
    if (stride > kMaxRepeats || block + 7 * stride >= kTileLanes / kBlockLanes ||
        a.place + 7 * post_stride >= kMaxRows) {
      return false;
    }
    uint64_t lanes[2] = {1ull << (a.at % kBlockLanes) | 256ull << (b.at % kBlockLanes), 0};
    const LocalTensor<float> blocks = y[FloorToBlock(a.at)];
    const uint8_t row = static_cast<uint8_t>(stride);
    Sub(blocks, blocks, Blocks(kPostLabelBlocks, a.place), lanes, 1,
        BinaryRepeatParams(row, row, static_cast<uint8_t>(post_stride), 8, 8, 8));
    return true;
  }

  // y[at + r * row_blocks * 8] -= blocks[r][0] for repeats * rows rows r, at most 8 of them a repeat.
  RNNT_FN void SubtractLane(const LocalTensor<float>& y, int32_t at,
                            const LocalTensor<float>& blocks, int32_t rows, int32_t repeats,
                            int32_t row_blocks) {
    LaneMask lane(at % kBlockLanes, rows);
    const LocalTensor<float> block = y[FloorToBlock(at)];
    const uint8_t row = static_cast<uint8_t>(row_blocks);
    const uint8_t eight_rows = static_cast<uint8_t>(8 * row_blocks);
    Sub(block, block, blocks, lane.bits, static_cast<uint8_t>(repeats),
        BinaryRepeatParams(row, row, 1, eight_rows, eight_rows, 8));
  }

  Options options_;
  RowSet* rows_;
  StateSource* state_;
  int64_t V_;
  bool has_dloss_;
  Pieces<typename RowSet::TileSource> pieces_;
  ScalarReader dloss_;
  RowReader<T> reader_;
  RowWriter<T> writer_;
  Filler<T> filler_;
  TBuf<TPosition::VECCALC> factor_buffer_, block_buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_ROW_GRAD_H_
