// SPDX-License-Identifier: Apache-2.0
// Phase lattice: log alpha and log beta of every sample, a diagonal at a time, each on a core of
// its own.
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
#include "rnnt_workspace.h"

namespace rnnt {

class Lattice {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, GM_ADDR workspace) {
    batch_ = batch;
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    batch->Plan(pipe);
    state_.Init(pipe);
    pipe->InitBuffer(lp_queue_, 2, 2 * kSlabLanes * sizeof(float));
    pipe->InitBuffer(out_queue_, 2, 2 * kSlabLanes * sizeof(float));
    pipe->InitBuffer(carry_in_queue_, 1, (kRnntScaleGroup + 1) * kBlockBytes);
    pipe->InitBuffer(carry_out_queue_, 1, kRnntScaleGroup * kBlockBytes);
    pipe->InitBuffer(small_queue_, 2, 2 * kBlockBytes);
  }

  // Walks the samples twice: for the sizes, then for this core's share.
  RNNT_FN void Run() {
    const int32_t cores = static_cast<int32_t>(GetBlockNum());
    uint64_t loads[kRnntMaxCores];
    for (int32_t core = 0; core < cores; ++core) loads[core] = static_cast<uint64_t>(core);
    Sample sample = batch_->Begin();
    for (int32_t count = kRnntPlaceSamples; count == kRnntPlaceSamples;) {
      int64_t costs[kRnntPlaceSamples];
      uint8_t core_of_task[2 * kRnntPlaceSamples];
      Sample ahead = sample;
      for (count = 0; count < kRnntPlaceSamples && batch_->Next(&ahead); ++count) {
        costs[count] = ahead.valid ? RnntLatticeCost(ahead.T, ahead.U1) : 0;
      }
      RnntPlaceTasks(costs, count, loads, cores, core_of_task);
      for (int32_t i = 0; i < count; ++i) {
        batch_->Next(&sample);
        if (!sample.valid) continue;
        if (core_of_task[2 * i] == GetBlockIdx()) RunTask<true>(sample);
        if (core_of_task[2 * i + 1] == GetBlockIdx()) RunTask<false>(sample);
      }
    }
  }

 private:
  // A slab is the diagonals of a strip that are in UB at once.
  static constexpr int32_t kSlabLanes = 4096;  // lanes of one array of a slab

  // Alpha or beta on a strip of a sample.
  struct StripTask {
    Strip strip;
    int64_t diagonals;
    int32_t lanes;  // of the strip, rounded up to whole blocks
    int32_t slab;   // diagonals of a slab; divides kRnntScaleGroup
    int32_t by;     // lanes by which the source of the arc to the next lane is aside
    bool by_frame;  // the blank arc is the one that moves
    bool carry_in, carry_out;
    int64_t carry;             // offset of the carry of diagonal 0
    int64_t neighbour_scales;  // scales of the strip before
  };

  template <bool kAlpha>
  RNNT_FN void RunTask(const Sample& sample) {
    const SampleSpace space(sample);
    const int64_t strips = RnntStrips(sample.Lanes());
    StripTask task;
    task.diagonals = sample.Diagonals();
    task.by_frame = sample.ByFrame();
    task.by = kAlpha != task.by_frame ? 1 : -1;
    task.carry = space.Carry(0) + (kAlpha ? 0 : kBlockLanes);
    for (int64_t i = 0; i < strips; ++i) {
      const int64_t s = task.by > 0 ? strips - 1 - i : i;
      task.strip = space.StripOf(s * kRnntStripLanes);
      // With T as lanes, a lane more: T, to which the last blank leads.
      task.lanes = static_cast<int32_t>(
          RnntAlignUp(task.strip.lanes + (task.by_frame ? 1 : 0), kBlockLanes));
      task.slab = kRnntScaleGroup;
      while (task.slab * task.lanes > kSlabLanes) task.slab /= 2;
      task.carry_in = i > 0;
      task.carry_out = i + 1 < strips;
      if (task.carry_in) {
        task.neighbour_scales = space.StripOf((s + task.by) * kRnntStripLanes).scales;
        PipeBarrier<PIPE_ALL>();  // what the strip before left in GM is read now
      }
      state_.Start(task.lanes, i == 0 ? Origin<kAlpha>(sample, task) : -1);
      RunStrip<kAlpha>(task);
    }
    SendEnd<kAlpha>(space, task);
  }

  // The lane of (0, 0) or of (T, U), in the first strip that is worked on.
  template <bool kAlpha>
  RNNT_FN int32_t Origin(const Sample& sample, const StripTask& task) {
    if (task.by_frame) return kAlpha ? 0 : static_cast<int32_t>(sample.T);
    return kAlpha ? static_cast<int32_t>(sample.U1 - 1 - task.strip.first) : 0;
  }

  template <bool kAlpha>
  RNNT_FN void RunStrip(const StripTask& task) {
    const int64_t slabs = (task.diagonals + task.slab - 1) / task.slab;
    LoadSlab(task, kAlpha ? 0 : (slabs - 1) * task.slab);
    for (int64_t i = 0; i < slabs; ++i) {
      const int64_t first = (kAlpha ? i : slabs - 1 - i) * task.slab, end = first + task.slab;
      LocalTensor<float> lp = lp_queue_.DeQue<float>();
      if (i + 1 < slabs) LoadSlab(task, kAlpha ? end : first - task.slab);
      const int64_t entered = kAlpha ? first : end, left = kAlpha ? end : first;
      if (i == 0 || entered % kRnntScaleGroup == 0)
        SendScale<kAlpha>(task, first / kRnntScaleGroup);
      RunSlab<kAlpha>(task, first, lp);
      lp_queue_.FreeTensor(lp);
      if (i + 1 < slabs && left % kRnntScaleGroup == 0) state_.Renormalise();
    }
  }

  RNNT_FN int32_t Rows(const StripTask& task, int64_t first) {
    return static_cast<int32_t>(RnntMin(task.slab, task.diagonals - first));
  }

  // lp_blank, then lp_label, of a slab; rows are filled up with lanes of log 0.
  RNNT_FN void LoadSlab(const StripTask& task, int64_t first) {
    const int64_t W = task.strip.lanes;
    const DataCopyExtParams copy(static_cast<uint16_t>(Rows(task, first)),
                                 static_cast<uint32_t>(W * sizeof(float)),
                                 static_cast<uint32_t>((kStatCount - 1) * W * sizeof(float)), 0, 0);
    const DataCopyPadExtParams<float> padding(true, 0, static_cast<uint8_t>(task.lanes - W),
                                              kLogZero);
    const LocalTensor<float> lp = lp_queue_.AllocTensor<float>();
    const int64_t at = task.strip.stats + first * kStatCount * W;
    DataCopyPad(lp, workspace_[static_cast<uint64_t>(at + kLpBlank * W)], copy, padding);
    DataCopyPad(lp[kSlabLanes], workspace_[static_cast<uint64_t>(at + kLpLabel * W)], copy,
                padding);
    lp_queue_.EnQue(lp);
  }

  template <bool kAlpha>
  RNNT_FN void RunSlab(const StripTask& task, int64_t first, const LocalTensor<float>& lp) {
    const int32_t rows = Rows(task, first);
    LocalTensor<float> carry_in, carry_out;
    if (task.carry_in) carry_in = ReceiveCarry<kAlpha>(task, first, rows);
    if (task.carry_out) carry_out = carry_out_queue_.AllocTensor<float>();
    const LocalTensor<float> out = out_queue_.AllocTensor<float>();
    for (int32_t i = 0; i < rows; ++i) {
      const int32_t r = kAlpha ? i : rows - 1 - i, at = r * task.lanes;
      if (task.carry_in) SetGuard<kAlpha>(task, carry_in[r * kBlockLanes]);
      const LocalTensor<float> blank = lp[at], label = lp[kSlabLanes + at];
      const LocalTensor<float>& same_lane = task.by_frame ? label : blank;
      const LocalTensor<float>& next_lane = task.by_frame ? blank : label;
      if (kAlpha) state_.AlphaArcs(same_lane, next_lane, out[at]);
      Fence();
      if (task.carry_out) CopyEdge<kAlpha>(task, carry_out[r * kBlockLanes]);
      if (kAlpha) {
        state_.AlphaSum(task.by);
      } else {
        const LocalTensor<float> out_blank = out[at], out_label = out[kSlabLanes + at];
        state_.BetaArcs(same_lane, next_lane, task.by, task.by_frame ? out_label : out_blank,
                        task.by_frame ? out_blank : out_label);
      }
    }
    if (task.carry_in) carry_in_queue_.FreeTensor(carry_in);
    if (task.carry_out) SendCarry(task, first, rows, carry_out);
    SendSlab<kAlpha>(task, first, rows, out);
  }

  template <bool kAlpha>
  RNNT_FN void SetGuard(const StripTask& task, const LocalTensor<float>& carry) {
    Adds(kAlpha ? state_.MovedGuard(task.by) : state_.StateGuard(task.by), carry, 0.0f,
         kBlockLanes);
  }
  template <bool kAlpha>
  RNNT_FN void CopyEdge(const StripTask& task, const LocalTensor<float>& carry) {
    Adds(carry, kAlpha ? state_.MovedEdge(task.by) : state_.StateEdge(task.by), 0.0f, kBlockLanes);
  }

  // alpha of a slab, or the two arcs of beta, blank first.
  template <bool kAlpha>
  RNNT_FN void SendSlab(const StripTask& task, int64_t first, int32_t rows,
                        const LocalTensor<float>& rows_out) {
    out_queue_.EnQue(rows_out);
    LocalTensor<float> out = out_queue_.DeQue<float>();
    const int64_t W = task.strip.lanes;
    const uint32_t bytes = static_cast<uint32_t>(W * sizeof(float));
    const uint32_t ub_gap =
        static_cast<uint32_t>((task.lanes - RnntAlignUp(W, kBlockLanes)) / kBlockLanes);
    const DataCopyExtParams copy(static_cast<uint16_t>(rows), bytes, ub_gap, kAlpha ? 0 : bytes, 0);
    if (kAlpha) {
      DataCopyPad(workspace_[static_cast<uint64_t>(task.strip.alpha + first * W)], out, copy);
    } else {
      const uint64_t at = static_cast<uint64_t>(task.strip.arcs + first * 2 * W);
      DataCopyPad(workspace_[at], out, copy);
      DataCopyPad(workspace_[at + static_cast<uint64_t>(W)], out[kSlabLanes], copy);
    }
    out_queue_.FreeTensor(out);
  }

  template <bool kAlpha>
  RNNT_FN void SendScale(const StripTask& task, int64_t group) {
    const int64_t at = task.strip.scales + group * kRnntScaleFloats + (kAlpha ? 0 : kBlockLanes);
    const LocalTensor<float> scale = small_queue_.AllocTensor<float>();
    Adds(scale, state_.scale(), 0.0f, kBlockLanes);
    SendSmall(at, scale, kBlockLanes);
  }

  // log P and its scale. The last state of alpha on lanes w = U - u has it in lane 0; else it is
  // the only possible value.
  template <bool kAlpha>
  RNNT_FN void SendEnd(const SampleSpace& space, const StripTask& task) {
    const LocalTensor<float> end = small_queue_.AllocTensor<float>();
    if (kAlpha && !task.by_frame) {
      Adds(end, state_.state(), 0.0f, kBlockLanes);
    } else {
      state_.FindLargest();
      Adds(end, state_.largest(), 0.0f, kBlockLanes);
    }
    Adds(end[kBlockLanes], state_.scale(), 0.0f, kBlockLanes);
    SendSmall(space.Header(kAlpha ? kLogPAlpha : kLogPBeta), end, 2 * kBlockLanes);
  }

  RNNT_FN void SendSmall(int64_t at, const LocalTensor<float>& values, uint32_t count) {
    small_queue_.EnQue(values);
    LocalTensor<float> out = small_queue_.DeQue<float>();
    DataCopy(workspace_[static_cast<uint64_t>(at)], out, count);
    small_queue_.FreeTensor(out);
  }

  // The edge of the strip before, relative to this strip's scale.
  template <bool kAlpha>
  RNNT_FN LocalTensor<float> ReceiveCarry(const StripTask& task, int64_t first, int32_t rows) {
    LocalTensor<float> carry = carry_in_queue_.AllocTensor<float>();
    const LocalTensor<float> step = carry[kRnntScaleGroup * kBlockLanes];
    DataCopyPad(carry, workspace_[static_cast<uint64_t>(task.carry + first * kRnntCarryFloats)],
                DataCopyExtParams(static_cast<uint16_t>(rows), kBlockBytes,
                                  kRnntCarryFloats * sizeof(float) - kBlockBytes, 0, 0),
                DataCopyPadExtParams<float>(false, 0, 0, 0.0f));
    const int64_t scale = task.neighbour_scales + first / kRnntScaleGroup * kRnntScaleFloats +
                          (kAlpha ? 0 : kBlockLanes);
    DataCopy(step, workspace_[static_cast<uint64_t>(scale)], kBlockLanes);
    carry_in_queue_.EnQue(carry);
    carry = carry_in_queue_.DeQue<float>();
    Sub(step, step, state_.scale(), kBlockLanes);
    Fence();
    Add(carry, carry, step, static_cast<uint64_t>(kBlockLanes), static_cast<uint8_t>(rows),
        Strides(1, 1, 1, 1, 0));
    Fence();
    return carry;
  }

  RNNT_FN void SendCarry(const StripTask& task, int64_t first, int32_t rows,
                         const LocalTensor<float>& edge) {
    carry_out_queue_.EnQue(edge);
    LocalTensor<float> out = carry_out_queue_.DeQue<float>();
    DataCopyPad(workspace_[static_cast<uint64_t>(task.carry + first * kRnntCarryFloats)], out,
                DataCopyExtParams(static_cast<uint16_t>(rows), kBlockBytes, 0,
                                  kRnntCarryFloats * sizeof(float) - kBlockBytes, 0));
    carry_out_queue_.FreeTensor(out);
  }

  Batch* batch_;
  GlobalTensor<float> workspace_;
  LatticeStep state_;
  TQue<TPosition::VECIN, 1> lp_queue_, carry_in_queue_;
  TQue<TPosition::VECOUT, 1> out_queue_, small_queue_, carry_out_queue_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_LATTICE_H_
