// SPDX-License-Identifier: Apache-2.0
// RnntTdtLattice: the phase lattice with durations, between row_stats and row_grad.
//
//   arcs of all cells | SyncAll | lattice | SyncAll | losses and posteriors
#ifndef MINDSPORE_RNNT_TDT_KERNEL_H_
#define MINDSPORE_RNNT_TDT_KERNEL_H_

#include "rnnt_chunk_kernel.h"
#include "tdt_arcs.h"
#include "tdt_lattice.h"
#include "tdt_posteriors.h"

namespace rnnt {

// The tensors of RnntTdtLattice beside lengths and params.
struct TdtTensors {
  GM_ADDR stats;
  GM_ADDR duration_log_probs;
  GM_ADDR durations;
  GM_ADDR loss;
  GM_ADDR coefficients;
  GM_ADDR duration_posteriors;
};

// tiling.V durations; false if one is negative.
RNNT_FN bool LoadDurations(TPipe* pipe, const RnntTiling& tiling, GM_ADDR durations,
                           RnntDurations* out) {
  GlobalTensor<int32_t> source;
  source.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(durations),
                         static_cast<uint64_t>(tiling.V));
  TBuf<TPosition::VECIN> buffer;
  pipe->InitBuffer(buffer, kRnntTdtMaxDurations * sizeof(int32_t));
  const LocalTensor<int32_t> values = buffer.Get<int32_t>();
  DataCopyPad(values, source,
              DataCopyExtParams(1, static_cast<uint32_t>(tiling.V * sizeof(int32_t)), 0, 0, 0),
              DataCopyPadExtParams<int32_t>(false, 0, 0, 0));
  Order<HardEvent::MTE2_S>();
  bool good = true;
  out->count = tiling.V;
  for (int32_t i = 0; i < tiling.V; ++i) {
    out->frames[i] = values.GetValue(static_cast<uint32_t>(i));
    good = good && out->frames[i] >= 0;
  }
  EndPlan(pipe);
  return good;
}

RNNT_FN void RunTdtLattice(TPipe* pipe, Problem problem, float sigma, const TdtTensors& tensors,
                           GM_ADDR workspace) {
  const int32_t D = problem.tiling.V;
  RnntDurations durations;
  const bool good = LoadDurations(pipe, problem.tiling, tensors.durations, &durations);
  problem.options.blank = good ? 0 : -1;  // the statistics know which class was blank
  Batch batch;
  batch.UseDurations(&durations);
  Measure(pipe, problem, &batch);
  {
    batch.Plan(pipe);
    StatsToWorkspace header;
    header.Init(pipe, workspace, true);
    header.SkipLabels(&batch);
    TdtTokenArcs sink;
    sink.Init(pipe, workspace, D, sigma);
    StatsFromTensor<TdtTokenArcs> source;
    source.Init(pipe, &batch, &sink, tensors.stats);
    source.Run();
  }
  EndPlan(pipe);
  {
    batch.Plan(pipe);
    TdtDurationArcs arcs;
    arcs.Init(pipe, &batch, workspace, D, tensors.duration_log_probs);
    arcs.Run();
  }
  RunLatticePhase<TdtLattice>(pipe, &batch, workspace);

  batch.Plan(pipe);
  TdtPosteriors posteriors;
  posteriors.Init(pipe, &batch, problem.options, workspace, tensors.coefficients,
                  tensors.duration_posteriors);
  posteriors.outcomes().WriteLosses(&batch, tensors.loss);
  posteriors.Run();
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_TDT_KERNEL_H_
