// SPDX-License-Identifier: Apache-2.0
// Phase lattice: log alpha and log beta of every sample, a diagonal at a time, each on a core of
// its own.
//
//   alpha(d+1)[w] = logadd(alpha(d)[w] + lp_blank(d)[w], alpha(d)[w+1] + lp_label(d)[w+1])
//   beta(d)[w]    = logadd(lp_blank(d)[w] + beta(d+1)[w], lp_label(d)[w] + beta(d+1)[w-1])
//
// with lanes w = U - u. alpha starts from cell (0, 0), beta from the cell (T, U) to which the last
// blank leads; alpha ends there, so -log P is known from both ends. One of the two arcs is a lane
// aside: a Gather with constant offsets shifts it.
//
// float32 alone would drift at long T, so every kRnntScaleGroup diagonals the integer next to the
// largest value moves from the values to `scale`, exactly. A stored value is relative to the scale
// of its group.
//
// Diagonals longer than a strip go strip by strip, from the small u to the large (alpha) or back
// (beta); a strip hands the lanes at its edge, the `carry`, to the next one.
#ifndef MINDSPORE_RNNT_LATTICE_H_
#define MINDSPORE_RNNT_LATTICE_H_

#include "rnnt_workspace.h"

namespace rnnt {

class Lattice {
 public:
  RNNT_FN void Init(TPipe* pipe, Batch* batch, GM_ADDR workspace) {
    batch_ = batch;
    workspace_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    batch->Plan(pipe);
    pipe->InitBuffer(lp_queue_, 2, 2 * kSlabLanes * sizeof(float));
    pipe->InitBuffer(out_queue_, 2, 2 * kSlabLanes * sizeof(float));
    pipe->InitBuffer(carry_in_queue_, 1, (kRnntScaleGroup + 1) * kBlockBytes);
    pipe->InitBuffer(carry_out_queue_, 1, kRnntScaleGroup * kBlockBytes);
    pipe->InitBuffer(small_queue_, 2, 2 * kBlockBytes);
    pipe->InitBuffer(buffer_, kBufferLanes * sizeof(float));
    CreateVecIndex(Offsets(), int32_t{0}, static_cast<uint32_t>(kRnntStripLanes));
    Fence();
    Muls(Offsets(), Offsets(), static_cast<int32_t>(sizeof(float)), kRnntStripLanes);
    Duplicate(Small(kLargest), 0.0f, kRepeatLanes);
    Fence();
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
        costs[count] = ahead.valid ? RnntLatticeCost(ahead.Diagonals(), ahead.U1) : 0;
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
  static constexpr int32_t kSlabLanes = 4096;  // lanes of one array in a block of diagonals

  // UB that lives through a task. `state` and `label` have a guard block on the side that a Gather
  // reaches beyond.
  static constexpr int32_t kState = kBlockLanes;
  static constexpr int32_t kBlank = kState + kRnntStripLanes;
  static constexpr int32_t kLabel = kBlank + kRnntStripLanes;
  static constexpr int32_t kShifted = kLabel + kRnntStripLanes + kBlockLanes;
  static constexpr int32_t kOffsets = kShifted + kRnntStripLanes;
  static constexpr int32_t kSmall = kOffsets + kRnntStripLanes;
  enum SmallVector { kScale, kLargest, kStep, kEighth, kPartial = kEighth + 2, kSmallCount };
  static constexpr int32_t kBufferLanes = kSmall + kSmallCount * kRepeatLanes;

  RNNT_FN LocalTensor<float> At(int32_t lane) { return buffer_.Get<float>()[lane]; }
  RNNT_FN LocalTensor<float> Small(SmallVector v) { return At(kSmall + v * kRepeatLanes); }
  RNNT_FN LocalTensor<int32_t> Offsets() { return At(kOffsets).ReinterpretCast<int32_t>(); }

  // A strip of a sample's diagonals, and the blocks it is worked on in.
  struct Work {
    Strip strip;
    int64_t diagonals;
    int32_t lanes;        // rounded up to whole blocks
    int32_t block;        // diagonals of a block; divides kRnntScaleGroup
    int64_t carry;        // offset of the carry of diagonal 0
    int64_t left_scales;  // scales of the strip before
    bool carry_in, carry_out;
  };

  template <bool kAlpha>
  RNNT_FN void RunTask(const Sample& sample) {
    const SampleSpace space(sample);
    const int64_t strips = RnntStrips(sample.U1);
    for (int64_t i = 0; i < strips; ++i) {
      const int64_t s = kAlpha ? strips - 1 - i : i;
      Work work;
      work.strip = space.StripOf(s * kRnntStripLanes);
      work.diagonals = sample.Diagonals();
      work.lanes = static_cast<int32_t>(RnntAlignUp(work.strip.lanes, kBlockLanes));
      work.block = kRnntScaleGroup;
      while (work.block * work.lanes > kSlabLanes) work.block /= 2;
      work.carry = space.Carry(0) + (kAlpha ? 0 : kBlockLanes);
      work.carry_in = i > 0;
      work.carry_out = i + 1 < strips;
      if (work.carry_in) {
        work.left_scales = space.StripOf((kAlpha ? s + 1 : s - 1) * kRnntStripLanes).scales;
        PipeBarrier<PIPE_ALL>();  // what the strip before left in GM is read now
      }
      const int64_t origin = kAlpha ? sample.U1 - 1 : 0;
      Start(i == 0 ? static_cast<int32_t>(origin - work.strip.first) : -1);
      RunStrip<kAlpha>(work);
    }
    SendEnd<kAlpha>(space);
  }

  // All lanes impossible, except that `origin` has probability 1.
  RNNT_FN void Start(int32_t origin) {
    Fence();
    Duplicate(At(0), kImpossible, kOffsets);
    Duplicate(Small(kScale), 0.0f, kBlockLanes);
    Fence();
    if (origin >= 0) {
      LaneMask lane(origin % kBlockLanes);
      Duplicate(At(kState + FloorToBlock(origin)), 0.0f, lane.bits, 1, 1, 8);
      Fence();
    }
  }

  template <bool kAlpha>
  RNNT_FN void RunStrip(const Work& work) {
    const int64_t blocks = (work.diagonals + work.block - 1) / work.block;
    LoadBlock(work, kAlpha ? 0 : (blocks - 1) * work.block);
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t first = (kAlpha ? i : blocks - 1 - i) * work.block;
      LocalTensor<float> lp = lp_queue_.DeQue<float>();
      if (i + 1 < blocks) LoadBlock(work, first + (kAlpha ? work.block : -work.block));
      const bool group_begins = kAlpha ? first % kRnntScaleGroup == 0
                                       : i == 0 || (first + work.block) % kRnntScaleGroup == 0;
      if (group_begins) SendScale<kAlpha>(work, first / kRnntScaleGroup);
      RunBlock<kAlpha>(work, first, lp);
      lp_queue_.FreeTensor(lp);
      const bool group_ends =
          kAlpha ? (first + work.block) % kRnntScaleGroup == 0 : first % kRnntScaleGroup == 0;
      if (group_ends && i + 1 < blocks) Renormalise(work);
    }
  }

  RNNT_FN int32_t Rows(const Work& work, int64_t first) {
    return static_cast<int32_t>(RnntMin(work.block, work.diagonals - first));
  }

  // lp_blank, then lp_label, of a block of diagonals; a row's last block is filled up with
  // impossible lanes.
  RNNT_FN void LoadBlock(const Work& work, int64_t first) {
    const int64_t W = work.strip.lanes;
    const DataCopyExtParams copy(static_cast<uint16_t>(Rows(work, first)),
                                 static_cast<uint32_t>(W * sizeof(float)),
                                 static_cast<uint32_t>((kStatCount - 1) * W * sizeof(float)), 0, 0);
    const DataCopyPadExtParams<float> padding(true, 0, static_cast<uint8_t>(work.lanes - W),
                                              kImpossible);
    const LocalTensor<float> lp = lp_queue_.AllocTensor<float>();
    const int64_t at = work.strip.stats + first * kStatCount * W;
    DataCopyPad(lp, workspace_[static_cast<uint64_t>(at + kLpBlank * W)], copy, padding);
    DataCopyPad(lp[kSlabLanes], workspace_[static_cast<uint64_t>(at + kLpLabel * W)], copy,
                padding);
    lp_queue_.EnQue(lp);
  }

  template <bool kAlpha>
  RNNT_FN void RunBlock(const Work& work, int64_t first, const LocalTensor<float>& lp) {
    const int32_t rows = Rows(work, first);
    LocalTensor<float> carry_in, carry_out;
    if (work.carry_in) carry_in = ReceiveCarry<kAlpha>(work, first, rows);
    if (work.carry_out) carry_out = carry_out_queue_.AllocTensor<float>();
    const LocalTensor<float> out = out_queue_.AllocTensor<float>();
    for (int32_t i = 0; i < rows; ++i) {
      const int32_t r = kAlpha ? i : rows - 1 - i, at = r * work.lanes;
      Step<kAlpha>(work, lp[at], lp[kSlabLanes + at], out[at], out[kSlabLanes + at],
                   work.carry_in ? carry_in[r * kBlockLanes] : carry_in,
                   work.carry_out ? carry_out[r * kBlockLanes] : carry_out);
    }
    if (work.carry_in) carry_in_queue_.FreeTensor(carry_in);
    if (work.carry_out) SendCarry(work, first, rows, carry_out);
    SendBlock<kAlpha>(work, first, rows, out);
  }

  // One diagonal. `out` gets alpha, or the two arcs of beta.
  template <bool kAlpha>
  RNNT_FN void Step(const Work& work, const LocalTensor<float>& lp_blank,
                    const LocalTensor<float>& lp_label, const LocalTensor<float>& out,
                    const LocalTensor<float>& out_label, const LocalTensor<float>& carry_in,
                    const LocalTensor<float>& carry_out) {
    const LocalTensor<float> state = At(kState), shifted = At(kShifted);
    const int32_t n = work.lanes;
    if (kAlpha) {
      const LocalTensor<float> blank = At(kBlank), label = At(kLabel);
      Adds(out, state, 0.0f, n);
      Add(blank, state, lp_blank, n);
      Add(label, state, lp_label, n);
      if (work.carry_in) Adds(label[n], carry_in, 0.0f, kBlockLanes);
      Fence();
      if (work.carry_out) Adds(carry_out, label, 0.0f, kBlockLanes);
      Shift(shifted, label, 1, n);
      Fence();
      LogAdd(state, blank, shifted, n);
    } else {
      const LocalTensor<float> guard = At(kState - kBlockLanes);
      if (work.carry_in) Adds(guard, carry_in, 0.0f, kBlockLanes);
      if (work.carry_out) Adds(carry_out, state[n - kBlockLanes], 0.0f, kBlockLanes);
      Fence();
      Add(out, state, lp_blank, n);
      Shift(shifted, guard, kBlockLanes - 1, n);
      Fence();
      Add(out_label, shifted, lp_label, n);
      Fence();
      LogAdd(state, out, out_label, n);
    }
  }

  // dst[w] = src[w + by].
  RNNT_FN void Shift(const LocalTensor<float>& dst, const LocalTensor<float>& src, int32_t by,
                     int32_t n) {
    Gather(dst, src, Offsets().ReinterpretCast<uint32_t>(),
           static_cast<uint32_t>(by * sizeof(float)), static_cast<uint32_t>(n));
  }

  // dst = log(exp(a) + exp(b)) = max + log(1 + exp(min - max)).
  RNNT_FN void LogAdd(const LocalTensor<float>& dst, const LocalTensor<float>& a,
                      const LocalTensor<float>& b, int32_t n) {
    const LocalTensor<float> rest = At(kLabel);  // of no use to either direction by now
    Max(dst, a, b, n);
    Min(rest, a, b, n);
    Fence();
    Sub(rest, rest, dst, n);
    Fence();
    Exp(rest, rest, n);
    Fence();
    Adds(rest, rest, 1.0f, n);
    Fence();
    Ln(rest, rest, n);
    Fence();
    Add(dst, dst, rest, n);
    Fence();
  }

  // Moves the integer next to the largest value to the scale, unless nothing is possible yet.
  RNNT_FN void Renormalise(const Work& work) {
    const LocalTensor<float> state = At(kState), step = Small(kStep), scale = Small(kScale);
    const LocalTensor<float> integer = Small(kEighth);
    FoldLargest(work);
    Cast(integer, step, RoundMode::CAST_RINT, static_cast<uint32_t>(kBlockLanes));
    Fence();
    // 1 for a value that is possible, 0 for one that is not.
    Adds(step, step, -0.1f * kImpossible, kBlockLanes);
    Fence();
    Muls(step, step, 1e-28f, kBlockLanes);
    Fence();
    Maxs(step, step, 0.0f, kBlockLanes);
    Fence();
    Mins(step, step, 1.0f, kBlockLanes);
    Fence();
    Mul(step, step, integer, kBlockLanes);
    Fence();
    Add(scale, scale, step, kBlockLanes);
    WithRowValue<Minus>(state, state, step, 1, WholeRepeats(work));
    Fence();
    Maxs(state, state, kImpossible, WholeRepeats(work));
    Fence();
  }

  // kLargest[0] and all of kStep's first block: the largest value of the state.
  RNNT_FN void FoldLargest(const Work& work) {
    FoldRows<Largest>(Small(kLargest), At(kState), 1, WholeRepeats(work), Small(kEighth),
                      Small(kPartial));
    Fence();
    ToBlocks(Small(kStep), Small(kLargest), 1);
    Fence();
  }

  // The state's lanes behind the last block stay impossible.
  RNNT_FN int32_t WholeRepeats(const Work& work) {
    return static_cast<int32_t>(RnntAlignUp(work.lanes, kRepeatLanes));
  }

  template <bool kAlpha>
  RNNT_FN void SendBlock(const Work& work, int64_t first, int32_t rows,
                         const LocalTensor<float>& rows_out) {
    out_queue_.EnQue(rows_out);
    LocalTensor<float> out = out_queue_.DeQue<float>();
    const int64_t W = work.strip.lanes;
    const uint32_t bytes = static_cast<uint32_t>(W * sizeof(float));
    const DataCopyExtParams copy(static_cast<uint16_t>(rows), bytes, 0, kAlpha ? 0 : bytes, 0);
    if (kAlpha) {
      DataCopyPad(workspace_[static_cast<uint64_t>(work.strip.alpha + first * W)], out, copy);
    } else {
      const uint64_t at = static_cast<uint64_t>(work.strip.arcs + first * 2 * W);
      DataCopyPad(workspace_[at], out, copy);
      DataCopyPad(workspace_[at + static_cast<uint64_t>(W)], out[kSlabLanes], copy);
    }
    out_queue_.FreeTensor(out);
  }

  template <bool kAlpha>
  RNNT_FN void SendScale(const Work& work, int64_t group) {
    LocalTensor<float> scale = small_queue_.AllocTensor<float>();
    Adds(scale, Small(kScale), 0.0f, kBlockLanes);
    small_queue_.EnQue(scale);
    scale = small_queue_.DeQue<float>();
    const int64_t at = work.strip.scales + group * kRnntScaleFloats + (kAlpha ? 0 : kBlockLanes);
    DataCopy(workspace_[static_cast<uint64_t>(at)], scale, kBlockLanes);
    small_queue_.FreeTensor(scale);
  }

  // The state of the last strip holds log P: alpha in lane 0, beta as the only possible value.
  template <bool kAlpha>
  RNNT_FN void SendEnd(const SampleSpace& space) {
    LocalTensor<float> end = small_queue_.AllocTensor<float>();
    if (kAlpha) {
      Adds(end, At(kState), 0.0f, kBlockLanes);
    } else {
      Work work;
      work.lanes = kRnntStripLanes;
      FoldLargest(work);
      Adds(end, Small(kStep), 0.0f, kBlockLanes);
    }
    Adds(end[kBlockLanes], Small(kScale), 0.0f, kBlockLanes);
    small_queue_.EnQue(end);
    end = small_queue_.DeQue<float>();
    const int64_t at = space.Header(kAlpha ? kAlphaEnd : kBetaEnd);
    DataCopy(workspace_[static_cast<uint64_t>(at)], end, 2 * kBlockLanes);
    small_queue_.FreeTensor(end);
  }

  // The edge of the strip before, relative to this strip's scale.
  template <bool kAlpha>
  RNNT_FN LocalTensor<float> ReceiveCarry(const Work& work, int64_t first, int32_t rows) {
    LocalTensor<float> carry = carry_in_queue_.AllocTensor<float>();
    const LocalTensor<float> step = carry[kRnntScaleGroup * kBlockLanes];
    const DataCopyPadExtParams<float> no_padding(false, 0, 0, 0.0f);
    DataCopyPad(carry, workspace_[static_cast<uint64_t>(work.carry + first * kRnntCarryFloats)],
                DataCopyExtParams(static_cast<uint16_t>(rows), kBlockBytes,
                                  kRnntCarryFloats * sizeof(float) - kBlockBytes, 0, 0),
                no_padding);
    const int64_t scale =
        work.left_scales + first / kRnntScaleGroup * kRnntScaleFloats + (kAlpha ? 0 : kBlockLanes);
    DataCopy(step, workspace_[static_cast<uint64_t>(scale)], kBlockLanes);
    carry_in_queue_.EnQue(carry);
    carry = carry_in_queue_.DeQue<float>();
    Sub(step, step, Small(kScale), kBlockLanes);
    Fence();
    const uint64_t lanes = kBlockLanes;
    Add(carry, carry, step, lanes, static_cast<uint8_t>(rows), Strides(1, 1, 1, 1, 0));
    Fence();
    return carry;
  }

  RNNT_FN void SendCarry(const Work& work, int64_t first, int32_t rows,
                         const LocalTensor<float>& edge) {
    carry_out_queue_.EnQue(edge);
    LocalTensor<float> out = carry_out_queue_.DeQue<float>();
    DataCopyPad(workspace_[static_cast<uint64_t>(work.carry + first * kRnntCarryFloats)], out,
                DataCopyExtParams(static_cast<uint16_t>(rows), kBlockBytes, 0,
                                  kRnntCarryFloats * sizeof(float) - kBlockBytes, 0));
    carry_out_queue_.FreeTensor(out);
  }

  Batch* batch_;
  GlobalTensor<float> workspace_;
  TQue<TPosition::VECIN, 1> lp_queue_, carry_in_queue_;
  TQue<TPosition::VECOUT, 1> out_queue_, small_queue_, carry_out_queue_;
  TBuf<TPosition::VECCALC> buffer_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_LATTICE_H_
