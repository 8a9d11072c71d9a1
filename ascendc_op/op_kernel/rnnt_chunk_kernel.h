// SPDX-License-Identifier: Apache-2.0
// The phases as operators of their own, for logits that exist a chunk of rows at a time. Between
// them the statistics and the coefficients of all rows are tensors, in the order of the rows.
#ifndef MINDSPORE_RNNT_RNNT_CHUNK_KERNEL_H_
#define MINDSPORE_RNNT_RNNT_CHUNK_KERNEL_H_

#include "rnnt_chunk_state.h"
#include "rnnt_kernel.h"

namespace rnnt {

// RnntRowStats: logits (.., V), row_labels (..) -> stats (.., 4).
template <typename T>
RNNT_FN void RunRowStats(TPipe* pipe, const RnntTiling& tiling, const Options& options,
                         GM_ADDR logits, GM_ADDR row_labels, GM_ADDR stats) {
  if (options.blank < 0) {  // no class is blank: no sample has a loss
    Filler<float> filler;
    filler.Init(pipe, tiling, kStatCount, stats);
    const int64_t first = Share(tiling.rows, GetBlockIdx(), GetBlockNum());
    filler.Rows(first, Share(tiling.rows, GetBlockIdx() + 1, GetBlockNum()) - first, true);
    return;
  }
  ChunkRows rows;
  rows.Init(pipe, tiling, row_labels);
  StatsToTensor sink;
  sink.Init(pipe, tiling, options.rest, stats);
  RowStats<T, ChunkRows, StatsToTensor> row_stats;
  row_stats.Init(pipe, &rows, &sink, options, logits);
  row_stats.Run();
}

// The statistics of all cells, from rows to diagonals.
template <class Sink>
class StatsFromTensor {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, Sink* sink, GM_ADDR stats) {
    batch_ = batch;
    sink_ = sink;
    reader_.Init(pipe, batch->tiling().rows, kStatCount, stats);
    pipe->InitBuffer(buffer_, kStatCount * kMaxRows * sizeof(float));
    pipe->InitBuffer(none_buffer_, kMaxRows * sizeof(float));
    Duplicate(buffer_.Get<float>(), 0.0f, kStatCount * kMaxRows);
    Fence();
  }

  RNNT_FN void Run() {
    Tiles tiles;
    tiles.Init(batch_, kMaxRows, kStatCount * sizeof(float));
    StoreTiles(&tiles, &reader_, this);
  }

  // What StoreTiles asks for.
  RNNT_FN void Store(const Tile& tile) {
    const int32_t pitch = tile.places;
    const LocalTensor<float> stats = buffer_.Get<float>();
    for (int32_t c = 0; c < kStatCount; ++c) reader_.Column(stats[c * pitch], c, tile.count);
    Fence();
    reader_.Release();
    const LocalTensor<float> gaps = stats[kBlankGap * pitch];
    CloseNoCells(stats[kRowSum * pitch], gaps, pitch);
    CloseLastRows(tile, gaps[pitch]);
    Fence();
    sink_->Store(tile, {stats, stats[kRowSum * pitch], gaps, pitch}, nullptr);
    Fence();
  }

 private:
  // No arc leaves a row whose row_sum is 0: the sum becomes 1, the gaps -inf.
  RNNT_FN void CloseNoCells(const LocalTensor<float>& row_sum, const LocalTensor<float>& gaps,
                            int32_t pitch) {
    const LocalTensor<float> none = none_buffer_.Get<float>();
    OneIfNotZero(none, row_sum, pitch);
    Muls(none, none, -1.0f, pitch);
    Fence();
    Adds(none, none, 1.0f, pitch);
    Fence();
    Add(row_sum, row_sum, none, pitch);
    for (int32_t i = 0; i < 2; ++i) {
      Fence();
      Muls(none, none, i == 0 ? -1e38f : 1e38f, pitch);
    }
    Fence();
    Add(gaps, gaps, none, pitch);
    Add(gaps[pitch], gaps[pitch], none, pitch);
    Fence();
  }

  Batch* batch_;
  Sink* sink_;
  RecordReader reader_;
  TBuf<TPosition::VECCALC> buffer_, none_buffer_;
};

// RnntLattice: stats of a batch, packed or padded -> loss (B,), coefficients.
RNNT_FN void RunLattice(TPipe* pipe, const Problem& problem, GM_ADDR stats, GM_ADDR loss,
                        GM_ADDR coefficients, GM_ADDR workspace) {
  Batch batch;
  Measure(pipe, problem, &batch);
  {
    batch.Plan(pipe);
    StatsToWorkspace sink;
    sink.Init(pipe, workspace, true);
    sink.SkipLabels(&batch);
    StatsFromTensor<StatsToWorkspace> source;
    source.Init(pipe, &batch, &sink, stats);
    source.Run();
  }
  RunLatticePhase<Lattice>(pipe, &batch, workspace);

  StateFromLattice state;
  WriteLosses(pipe, problem, &batch, workspace, loss, &state);
  StateWriter writer;
  writer.Init(pipe, &batch, &state, kOccupation, coefficients);
  writer.Run();
}

// RnntRowGrad: logits (.., V) and what the other two left -> dlogits.
template <typename T>
RNNT_FN void RunRowGrad(TPipe* pipe, const RnntTiling& tiling, const Options& options,
                        GM_ADDR logits, GM_ADDR row_labels, GM_ADDR stats, GM_ADDR coefficients,
                        GM_ADDR row_dloss, GM_ADDR dlogits) {
  ChunkRows rows;
  rows.Init(pipe, tiling, row_labels);
  StateFromChunk state;
  state.Init(pipe, tiling, stats, coefficients, row_dloss);
  RowGrad<T, ChunkRows, StateFromChunk> row_grad;
  row_grad.Init(pipe, &rows, options, &state, logits, nullptr, dlogits);
  row_grad.Run();
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_CHUNK_KERNEL_H_
