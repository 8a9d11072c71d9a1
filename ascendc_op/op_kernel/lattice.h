// SPDX-License-Identifier: Apache-2.0
// Phase lattice: alpha and beta of every sample, a diagonal at a time, each on a core of its own.
//
// alpha starts from cell (0, 0), beta from the cell (T, U) to which the last blank leads; alpha
// ends there, so -log P is known from both ends. lattice_step.h has a step's arithmetic; this file
// has the tasks, and what comes from and goes to the workspace, slab by slab: the next slab
// is on its way while one is worked on.
//
// Diagonals longer than a strip go strip by strip, in the direction in which arcs move between
// lanes. A strip hands its edge, a block of lanes for each diagonal, to the next one: the `carry`.
#ifndef MINDSPORE_RNNT_LATTICE_H_
#define MINDSPORE_RNNT_LATTICE_H_

#include "lattice_step.h"
#include "rnnt_tasks.h"
#include "rnnt_workspace.h"

namespace rnnt {

class Lattice {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, GM_ADDR workspace) {
    batch_ = batch;
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    batch->Plan(pipe);
    step_.Init(pipe);
    pipe->InitBuffer(arc_queue_, 2, kArrays * kSlabLanes * sizeof(float));
    pipe->InitBuffer(out_queue_, 2, kArrays * kSlabLanes * sizeof(float));
    pipe->InitBuffer(carry_in_queue_, 1, kMaxSlab * 2 * kBlockBytes);
    pipe->InitBuffer(carry_out_queue_, 1, kMaxSlab * 2 * kBlockBytes);
    pipe->InitBuffer(end_queue_, 1, 2 * kBlockBytes);
  }

  RNNT_FN void Run() { RunTasks(batch_, this); }

  // What RunTasks asks for.
  RNNT_FN int64_t Cost(const Sample& sample) { return RnntLatticeCost(sample.T, sample.U1); }
  template <bool kAlpha>
  RNNT_FN void RunTask(const Sample& sample) {
    const SampleSpace space(sample);
    const int64_t strips = RnntStrips(sample.Lanes());
    StripTask task;
    task.diagonals = sample.Diagonals();
    task.by_frame = sample.ByFrame();
    task.by = kAlpha != task.by_frame ? 1 : -1;
    task.carry = space.Carry(0) + (kAlpha ? 0 : 2 * kBlockLanes);
    for (int64_t i = 0; i < strips; ++i) {
      const int64_t s = task.by > 0 ? strips - 1 - i : i;
      task.strip = space.StripOf(s * kRnntStripLanes);
      task.lanes = static_cast<int32_t>(RnntAlignUp(task.strip.lanes, kBlockLanes));
      task.slab = kMaxSlab;
      while (task.slab * task.lanes > kSlabLanes) task.slab /= 2;
      task.carry_in = i > 0;
      task.carry_out = i + 1 < strips;
      if (task.carry_in) PipeBarrier<PIPE_ALL>();  // what the strip before left in GM is read now
      const int64_t origin = kAlpha ? sample.FirstCellLane() : sample.EndLane();
      step_.Start(task.lanes, i == 0 ? static_cast<int32_t>(origin - task.strip.first) : -1);
      RunStrip<kAlpha>(task);
    }
    const int64_t end = kAlpha ? sample.EndLane() : sample.FirstCellLane();
    SendEnd<kAlpha>(space, static_cast<int32_t>(end - task.strip.first));
  }

 private:
  // A slab is the diagonals of a strip that are in UB at once.
  static constexpr int32_t kSlabLanes = 2048;  // lanes of one array of a slab
  static constexpr int32_t kMaxSlab = 16;      // diagonals
  static constexpr int32_t kArrays = 4;        // exponents, then mantissas: blank arc, label arc

  // Alpha or beta on a strip of a sample.
  struct StripTask {
    Strip strip;
    int64_t diagonals;
    int32_t lanes;  // of the strip, rounded up to whole blocks
    int32_t slab;   // diagonals of a slab
    int32_t by;     // lanes by which the source of the arc to the next lane is aside
    bool by_frame;  // the blank arc is the one that leads to the next lane
    bool carry_in, carry_out;
    int64_t carry;  // offset of the carry of diagonal 0
  };

  template <bool kAlpha>
  RNNT_FN void RunStrip(const StripTask& task) {
    const int64_t slabs = (task.diagonals + task.slab - 1) / task.slab;
    LoadSlab(task, kAlpha ? 0 : (slabs - 1) * task.slab);
    for (int64_t i = 0; i < slabs; ++i) {
      const int64_t first = (kAlpha ? i : slabs - 1 - i) * task.slab;
      LocalTensor<float> arcs = arc_queue_.DeQue<float>();
      if (i + 1 < slabs) LoadSlab(task, kAlpha ? first + task.slab : first - task.slab);
      RunSlab<kAlpha>(task, first, arcs);
      arc_queue_.FreeTensor(arcs);
    }
  }

  RNNT_FN int32_t Rows(const StripTask& task, int64_t first) {
    return static_cast<int32_t>(RnntMin(task.slab, task.diagonals - first));
  }

  // The arcs of a slab; rows are filled up with lanes of probability 0.
  RNNT_FN void LoadSlab(const StripTask& task, int64_t first) {
    const int64_t W = task.strip.lanes;
    const DataCopyExtParams copy(
        static_cast<uint16_t>(Rows(task, first)), static_cast<uint32_t>(W * sizeof(float)),
        static_cast<uint32_t>((kCellStats - 1) * W * sizeof(float)),
        static_cast<uint32_t>((kArrays - 1) * task.lanes / kBlockLanes), 0);
    const LocalTensor<float> arcs = arc_queue_.AllocTensor<float>();
    const int64_t at = task.strip.stats + (first * kCellStats + kBlankExponent) * W;
    for (int32_t array = 0; array < kArrays; ++array) {
      const DataCopyPadExtParams<float> padding(true, 0, static_cast<uint8_t>(task.lanes - W),
                                                array < 2 ? kLogZero : 1.0f);
      DataCopyPad(arcs[array * task.lanes], workspace_[static_cast<uint64_t>(at + array * W)], copy,
                  padding);
    }
    arc_queue_.EnQue(arcs);
  }

  // Of row r of a slab.
  RNNT_FN Arcs ArcsAt(const StripTask& task, const LocalTensor<float>& slab, int32_t r) {
    return {slab[r * kArrays * task.lanes], task.lanes, task.by_frame};
  }
  RNNT_FN Scaled AlphaAt(const StripTask& task, const LocalTensor<float>& slab, int32_t r) {
    return {slab[2 * r * task.lanes], slab[(2 * r + 1) * task.lanes]};
  }

  template <bool kAlpha>
  RNNT_FN void RunSlab(const StripTask& task, int64_t first, const LocalTensor<float>& arcs) {
    const int32_t rows = Rows(task, first);
    LocalTensor<float> carry_in, carry_out;
    if (task.carry_in) carry_in = ReceiveCarry(task, first, rows);
    if (task.carry_out) carry_out = carry_out_queue_.AllocTensor<float>();
    const LocalTensor<float> out = out_queue_.AllocTensor<float>();
    if (kAlpha) step_.Copy(AlphaAt(task, out, 0), step_.alpha());
    for (int32_t i = 0; i < rows; ++i) {
      const int32_t r = kAlpha ? i : rows - 1 - i;
      const Arcs row_arcs = ArcsAt(task, arcs, r);
      if (task.carry_in) CopyScaled(step_.Guard(task.by), BlockPair(carry_in, r), kBlockLanes);
      Fence();
      if (kAlpha) {
        step_.AlphaArcs(AlphaAt(task, out, r), row_arcs);
        Fence();
      }
      if (task.carry_out) CopyScaled(BlockPair(carry_out, r), step_.Edge(task.by), kBlockLanes);
      const bool normalise = (first + r) % LatticeStep::kNormaliseDiagonals == 0;
      if (kAlpha) {
        const Scaled next = i + 1 < rows ? AlphaAt(task, out, r + 1) : step_.alpha();
        step_.AlphaSum(task.by, next);
        if (normalise) step_.Normalise(next);
      } else {
        step_.BetaStep(row_arcs, task.by, ArcsAt(task, out, r));
        if (normalise) step_.Normalise(step_.beta());
      }
    }
    if (task.carry_in) carry_in_queue_.FreeTensor(carry_in);
    if (task.carry_out) SendCarry(task, first, rows, carry_out);
    SendSlab<kAlpha>(task, first, rows, out);
  }

  RNNT_FN Scaled BlockPair(const LocalTensor<float>& carry, int32_t row) {
    return {carry[row * 2 * kBlockLanes], carry[(row * 2 + 1) * kBlockLanes]};
  }

  // alpha of a slab, or the arcs times beta.
  template <bool kAlpha>
  RNNT_FN void SendSlab(const StripTask& task, int64_t first, int32_t rows,
                        const LocalTensor<float>& rows_out) {
    out_queue_.EnQue(rows_out);
    LocalTensor<float> out = out_queue_.DeQue<float>();
    const int64_t W = task.strip.lanes;
    const int32_t arrays = kAlpha ? 2 : kArrays;
    const int64_t at = (kAlpha ? task.strip.alpha : task.strip.arcs) + first * arrays * W;
    DataCopyPad(workspace_[static_cast<uint64_t>(at)], out,
                DataCopyExtParams(static_cast<uint16_t>(rows * arrays),
                                  static_cast<uint32_t>(W * sizeof(float)), 0, 0, 0));
    out_queue_.FreeTensor(out);
  }

  // P, from alpha or from beta: its exponent and the logarithm of its mantissa.
  template <bool kAlpha>
  RNNT_FN void SendEnd(const SampleSpace& space, int32_t lane) {
    const Scaled last = (kAlpha ? step_.alpha() : step_.beta()).From(FloorToBlock(lane));
    LocalTensor<float> end = end_queue_.AllocTensor<float>();
    Adds(end, last.exponent, 0.0f, kBlockLanes);
    Ln(end[kBlockLanes], last.mantissa, kBlockLanes);
    end_queue_.EnQue(end);
    end = end_queue_.DeQue<float>();
    const int64_t at = space.Header(kAlpha ? kAlphaExponent : kBetaExponent);
    DataCopy(workspace_[static_cast<uint64_t>(at)], end, 2 * kBlockLanes);
    end_queue_.FreeTensor(end);
  }

  // The edge of the strip before.
  RNNT_FN LocalTensor<float> ReceiveCarry(const StripTask& task, int64_t first, int32_t rows) {
    const LocalTensor<float> carry = carry_in_queue_.AllocTensor<float>();
    DataCopyPad(carry, workspace_[static_cast<uint64_t>(task.carry + first * kRnntCarryFloats)],
                DataCopyExtParams(static_cast<uint16_t>(rows), kCarryBytes,
                                  kRnntCarryFloats * sizeof(float) - kCarryBytes, 0, 0),
                DataCopyPadExtParams<float>(false, 0, 0, 0.0f));
    carry_in_queue_.EnQue(carry);
    return carry_in_queue_.DeQue<float>();
  }

  RNNT_FN void SendCarry(const StripTask& task, int64_t first, int32_t rows,
                         const LocalTensor<float>& edge) {
    carry_out_queue_.EnQue(edge);
    LocalTensor<float> out = carry_out_queue_.DeQue<float>();
    DataCopyPad(workspace_[static_cast<uint64_t>(task.carry + first * kRnntCarryFloats)], out,
                DataCopyExtParams(static_cast<uint16_t>(rows), kCarryBytes, 0,
                                  kRnntCarryFloats * sizeof(float) - kCarryBytes, 0));
    carry_out_queue_.FreeTensor(out);
  }

  static constexpr uint32_t kCarryBytes =
      2 * kBlockBytes;  // a block of exponents, one of mantissas

  Batch* batch_;
  GlobalTensor<float> workspace_;
  LatticeStep step_;
  TQue<TPosition::VECIN, 1> arc_queue_, carry_in_queue_;
  TQue<TPosition::VECOUT, 1> out_queue_, end_queue_, carry_out_queue_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_LATTICE_H_
