// SPDX-License-Identifier: Apache-2.0
// Phase lattice with durations: alpha and beta of every sample, a diagonal at a time, each on a core
// of its own. tdt_step.h has a step's arithmetic; this file has the tasks, and what comes from and
// goes to the workspace, slab by slab.
//
// Alpha walks the strips from the last lane, that of u = 0, to the first, beta the other way round:
// label arcs lead from strip to strip in that order. A strip hands the lane at its edge to the next
// one, for each of the T frames that the lane has: the carry. Row j of a strip is its j-th diagonal;
// row K lies behind its cells.
#ifndef MINDSPORE_RNNT_TDT_LATTICE_H_
#define MINDSPORE_RNNT_TDT_LATTICE_H_

#include "rnnt_tasks.h"
#include "tdt_step.h"

namespace rnnt {

class TdtLattice {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, GM_ADDR workspace) {
    batch_ = batch;
    arrays_ = RnntTdtArrays(batch->durations().count);
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    batch->Plan(pipe);
    step_.Init(pipe, &batch->durations());
    pipe->InitBuffer(arc_queue_, 2, kRnntTdtArcFloats * sizeof(float));
    pipe->InitBuffer(out_queue_, 2, kRnntTdtOutFloats * sizeof(float));
    pipe->InitBuffer(carry_in_queue_, 1, kMaxSlab * 2 * kBlockBytes);
    pipe->InitBuffer(carry_out_queue_, 1, kMaxSlab * 2 * kBlockBytes);
    pipe->InitBuffer(end_queue_, 1, kEndBlocks * kBlockBytes);
  }

  RNNT_FN void Run() { RunTasks(batch_, this); }

  // What RunTasks asks for.
  RNNT_FN int64_t Cost(const Sample& sample) {
    return RnntTdtCost(sample.T, sample.U1, batch_->durations().count, sample.strip_lanes);
  }
  template <bool kAlpha>
  RNNT_FN void RunTask(const Sample& sample) {
    const TdtSpace space(sample, batch_->durations().count);
    const int64_t strips = space.strips();
    StripTask task;
    step_.Begin(sample);
    for (int64_t i = 0; i < strips; ++i) {
      const int64_t s = kAlpha ? strips - 1 - i : i;
      task.strip = space.StripOf(s * sample.strip_lanes);
      const TdtStrip& strip = task.strip;
      step_.Start(static_cast<int32_t>(strip.lanes), kAlpha ? 1 : -1);
      task.rows = strip.count + 1;
      task.lanes = step_.lanes();
      task.slab = static_cast<int32_t>(
          RnntMin(kMaxSlab, RnntMin(kRnntTdtArcFloats / (2 * arrays_ * task.lanes),
                                    kRnntTdtOutFloats / (4 * task.lanes))));
      task.frames = sample.T;
      task.starts = i == 0;
      task.ends = i + 1 == strips;
      task.carry_in = space.Carry(kAlpha, kAlpha ? s + 1 : s - 1);
      task.carry_out = space.Carry(kAlpha, s);
      if (!task.starts) PipeBarrier<PIPE_ALL>();  // what the strip before left in GM is read now
      if (kAlpha && task.starts) {
        step_.SetOne(step_.Blank(0), static_cast<int32_t>(strip.lanes) - 1);
      }
      RunStrip<kAlpha>(task);
      if (kAlpha) step_.EndLookForNaN();
    }
    SendEnd<kAlpha>(sample, task);
  }

 private:
  static constexpr int32_t kMaxSlab = 16;    // diagonals that are in UB at once
  static constexpr int32_t kEndBlocks = 18;  // exponent and mantissa of P; 8 blocks of each

  // Alpha or beta on a strip of a sample.
  struct StripTask {
    TdtStrip strip;
    int64_t rows;   // K + 1
    int32_t lanes;  // of the strip, rounded up to whole blocks
    int32_t slab;   // rows of a slab
    int64_t frames;
    bool starts, ends;            // the sample's first and last strip
    int64_t carry_in, carry_out;  // offsets in the workspace
  };

  // The frame that row j has in the edge lane of the strip before, or for the strip behind.
  template <bool kAlpha>
  RNNT_FN int64_t FrameIn(const StripTask& task, int64_t j) {
    return kAlpha ? j : j - task.strip.lanes;
  }
  template <bool kAlpha>
  RNNT_FN int64_t FrameOut(const StripTask& task, int64_t j) {
    return FrameIn<!kAlpha>(task, j);
  }
  RNNT_FN bool IsFrame(const StripTask& task, int64_t t) { return t >= 0 && t < task.frames; }

  RNNT_FN int32_t Rows(const StripTask& task, int64_t first) {
    return static_cast<int32_t>(RnntMin(task.slab, task.rows - first));
  }
  // Without row K, which has no cell.
  RNNT_FN int32_t RowsOfCells(const StripTask& task, int64_t first) {
    return static_cast<int32_t>(RnntMin(task.slab, task.rows - 1 - first));
  }

  template <bool kAlpha>
  RNNT_FN void RunStrip(const StripTask& task) {
    const int64_t slabs = (task.rows + task.slab - 1) / task.slab;
    LoadSlab(task, kAlpha ? 0 : (slabs - 1) * task.slab);
    for (int64_t i = 0; i < slabs; ++i) {
      const int64_t first = (kAlpha ? i : slabs - 1 - i) * task.slab;
      LocalTensor<float> arcs = arc_queue_.DeQue<float>();
      if (i + 1 < slabs) LoadSlab(task, kAlpha ? first + task.slab : first - task.slab);
      RunSlab<kAlpha>(task, first, arcs);
      arc_queue_.FreeTensor(arcs);
    }
  }

  // The arcs of a slab, exponents before mantissas; rows are filled up with lanes of probability 0.
  RNNT_FN void LoadSlab(const StripTask& task, int64_t first) {
    const LocalTensor<float> arcs = arc_queue_.AllocTensor<float>();
    const int32_t count = RowsOfCells(task, first) * arrays_;
    const int64_t at = first * arrays_ * task.strip.lanes;
    const DataCopyExtParams copy(static_cast<uint16_t>(count),
                                 static_cast<uint32_t>(task.strip.lanes * sizeof(float)), 0, 0, 0);
    const uint8_t filled = static_cast<uint8_t>(task.lanes - task.strip.lanes);
    if (count > 0) {
      DataCopyPad(arcs, workspace_[static_cast<uint64_t>(task.strip.exponents + at)], copy,
                  DataCopyPadExtParams<float>(true, 0, filled, kLogZero));
      DataCopyPad(arcs[kRnntTdtArcFloats / 2],
                  workspace_[static_cast<uint64_t>(task.strip.mantissas + at)], copy,
                  DataCopyPadExtParams<float>(true, 0, filled, 1.0f));
    }
    arc_queue_.EnQue(arcs);
  }

  template <bool kAlpha>
  RNNT_FN void RunSlab(const StripTask& task, int64_t first, const LocalTensor<float>& arcs) {
    const int32_t rows = Rows(task, first);
    LocalTensor<float> carry_in, carry_out;
    if (!task.starts) carry_in = ReceiveCarry<kAlpha>(task, first, rows);
    if (!task.ends) carry_out = carry_out_queue_.AllocTensor<float>();
    const LocalTensor<float> out = out_queue_.AllocTensor<float>();
    for (int32_t i = 0; i < rows; ++i) {
      const int32_t r = kAlpha ? i : rows - 1 - i;
      const int64_t j = first + r;
      const bool cells = j + 1 < task.rows;
      const Scaled row_arcs =
          Scaled{arcs, arcs[kRnntTdtArcFloats / 2]}.From(r * arrays_ * task.lanes);
      if (!kAlpha && cells) step_.Beta(j, row_arcs);
      const Scaled guard = step_.Guard(kAlpha ? step_.Label(j) : step_.Blank(j));
      if (!task.starts) SetGuard(guard, carry_in, r, IsFrame(task, FrameIn<kAlpha>(task, j)));
      Fence();
      const bool hands_on = !task.ends && IsFrame(task, FrameOut<kAlpha>(task, j));
      if (kAlpha) {
        if (hands_on) CopyScaled(BlockPair(carry_out, r), step_.Label(j), kBlockLanes);
        if (cells) AlphaRow(j, row_arcs, {out[2 * r * task.lanes], out[(2 * r + 1) * task.lanes]});
      } else {
        if (hands_on) step_.LastLane(BlockPair(carry_out, r), step_.Blank(j));
        BetaRow(task, j, out[4 * r * task.lanes]);
      }
    }
    if (!task.starts) carry_in_queue_.FreeTensor(carry_in);
    if (!task.ends) SendCarry<kAlpha>(task, first, rows, carry_out);
    SendSlab<kAlpha>(task, first, out);
  }

  RNNT_FN void AlphaRow(int64_t j, const Scaled& arcs, const Scaled& out) {
    step_.LookForNaN(arcs.mantissa);
    step_.Alpha(j, out);
    step_.PushAlpha(j, out, arcs);
  }

  // Beta of row j is in its slot; label arcs find it moved by a lane. They do not lead to (T, U).
  RNNT_FN void BetaRow(const StripTask& task, int64_t j, const LocalTensor<float>& out) {
    const Scaled beta = step_.Blank(j), moved = step_.Label(j);
    step_.Shift(moved, beta);
    Fence();
    if (task.starts && j + 1 == task.rows) step_.SetOne(beta, 0);
    CopyScaled({out, out[task.lanes]}, beta, task.lanes);
    CopyScaled({out[2 * task.lanes], out[3 * task.lanes]}, moved, task.lanes);
    Fence();
  }

  RNNT_FN void SetGuard(const Scaled& guard, const LocalTensor<float>& carry, int32_t row,
                        bool there) {
    if (there) {
      CopyScaled(guard, BlockPair(carry, row), kBlockLanes);
      return;
    }
    Duplicate(guard.exponent, kLogZero, kBlockLanes);
    Duplicate(guard.mantissa, 1.0f, kBlockLanes);
  }

  RNNT_FN Scaled BlockPair(const LocalTensor<float>& carry, int32_t row) {
    return {carry[row * kBlockLanes], carry[(kMaxSlab + row) * kBlockLanes]};
  }

  // alpha of a slab; or beta, and beta of the lane before.
  template <bool kAlpha>
  RNNT_FN void SendSlab(const StripTask& task, int64_t first, const LocalTensor<float>& rows_out) {
    out_queue_.EnQue(rows_out);
    LocalTensor<float> out = out_queue_.DeQue<float>();
    const int32_t arrays = kAlpha ? 2 : 4;
    const int32_t count = arrays * (kAlpha ? RowsOfCells(task, first) : Rows(task, first));
    const int64_t at = kAlpha ? task.strip.alpha : task.strip.beta;
    if (count > 0) {
      DataCopyPad(
          workspace_[static_cast<uint64_t>(at + first * arrays * task.strip.lanes)], out,
          DataCopyExtParams(static_cast<uint16_t>(count),
                            static_cast<uint32_t>(task.strip.lanes * sizeof(float)), 0, 0, 0));
    }
    out_queue_.FreeTensor(out);
  }

  // The rows of a slab that have a frame in a carry: the first, its frame, and how many.
  struct CarryRows {
    int32_t row;
    int64_t frame;
    int32_t count;
  };
  RNNT_FN CarryRows RowsOfCarry(const StripTask& task, int64_t frame, int32_t rows) {
    const int64_t begin = RnntMax(0, frame), end = RnntMin(task.frames, frame + rows);
    return {static_cast<int32_t>(begin - frame), begin,
            static_cast<int32_t>(RnntMax(0, end - begin))};
  }

  // The edge of the strip before.
  template <bool kAlpha>
  RNNT_FN LocalTensor<float> ReceiveCarry(const StripTask& task, int64_t first, int32_t rows) {
    const LocalTensor<float> carry = carry_in_queue_.AllocTensor<float>();
    const CarryRows part = RowsOfCarry(task, FrameIn<kAlpha>(task, first), rows);
    const int64_t at = task.carry_in + part.frame;
    const DataCopyExtParams copy(static_cast<uint16_t>(part.count), sizeof(float), 0, 0, 0);
    const DataCopyPadExtParams<float> padding(true, 0, kBlockLanes - 1, 0.0f);
    if (part.count > 0) {
      const Scaled blocks = BlockPair(carry, part.row);
      DataCopyPad(blocks.exponent, workspace_[static_cast<uint64_t>(at)], copy, padding);
      DataCopyPad(blocks.mantissa, workspace_[static_cast<uint64_t>(at + task.frames)], copy,
                  padding);
    }
    carry_in_queue_.EnQue(carry);
    return carry_in_queue_.DeQue<float>();
  }

  template <bool kAlpha>
  RNNT_FN void SendCarry(const StripTask& task, int64_t first, int32_t rows,
                         const LocalTensor<float>& edge) {
    carry_out_queue_.EnQue(edge);
    LocalTensor<float> out = carry_out_queue_.DeQue<float>();
    const CarryRows part = RowsOfCarry(task, FrameOut<kAlpha>(task, first), rows);
    const int64_t at = task.carry_out + part.frame;
    const DataCopyExtParams copy(static_cast<uint16_t>(part.count), sizeof(float), 0, 0, 0);
    if (part.count > 0) {
      const Scaled blocks = BlockPair(out, part.row);
      DataCopyPad(workspace_[static_cast<uint64_t>(at)], blocks.exponent, copy);
      DataCopyPad(workspace_[static_cast<uint64_t>(at + task.frames)], blocks.mantissa, copy);
    }
    carry_out_queue_.FreeTensor(out);
  }

  // P, from alpha or from beta: its exponent and the logarithm of its mantissa, in all lanes.
  template <bool kAlpha>
  RNNT_FN void SendEnd(const Sample& sample, const StripTask& task) {
    LocalTensor<float> end = end_queue_.AllocTensor<float>();
    const Scaled last = {end[16 * kBlockLanes], end[17 * kBlockLanes]};
    if (kAlpha) {
      CopyScaled(last, step_.Blank(task.rows - 1), kBlockLanes);
      Fence();
      Ln(last.mantissa, last.mantissa, kBlockLanes);
      Fence();
      Add(last.mantissa, last.mantissa, step_.NaN(), 1);
    } else {
      step_.LastLane(last, step_.Blank(0));
      Fence();
      Ln(last.mantissa, last.mantissa, kBlockLanes);
    }
    Fence();
    ToBlocks(end, last.exponent, 2 * kBlockLanes);
    Fence();
    Adds(end[kBlockLanes], end[kBlockLanes * kBlockLanes], 0.0f, kBlockLanes);
    Fence();
    end_queue_.EnQue(end);
    end = end_queue_.DeQue<float>();
    const int64_t at = SampleSpace(sample).Header(kAlpha ? kAlphaExponent : kBetaExponent);
    DataCopy(workspace_[static_cast<uint64_t>(at)], end, 2 * kBlockLanes);
    end_queue_.FreeTensor(end);
  }

  Batch* batch_;
  int32_t arrays_;
  GlobalTensor<float> workspace_;
  TdtStep step_;
  TQue<TPosition::VECIN, 1> arc_queue_, carry_in_queue_;
  TQue<TPosition::VECOUT, 1> out_queue_, carry_out_queue_, end_queue_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_TDT_LATTICE_H_
