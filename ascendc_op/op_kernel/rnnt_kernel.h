// SPDX-License-Identifier: Apache-2.0
// The phases in order, as the operators compose them. Every core runs all of it: none may
// return before a SyncAll.
//
//   row_stats   | SyncAll |   lattice   | SyncAll |   losses, and row_grad or the state
//
// Each phase plans UB anew. TPipe::Reset is no barrier: what pipes still do with the old plan ends
// first.
#ifndef MINDSPORE_RNNT_RNNT_KERNEL_H_
#define MINDSPORE_RNNT_RNNT_KERNEL_H_

#include "lattice.h"
#include "row_grad.h"
#include "row_stats.h"
#include "scale_grad.h"
#include "state_writer.h"

namespace rnnt {

// What the operators on a whole batch are given.
struct Problem {
  RnntTiling tiling;
  Options options;
  GM_ADDR logits;
  GM_ADDR targets;
  GM_ADDR logit_lengths;
  GM_ADDR target_lengths;
};

RNNT_FN void EndPlan(TPipe* pipe) {
  PipeBarrier<PIPE_ALL>();
  pipe->Reset();
}

RNNT_FN void Measure(TPipe* pipe, const Problem& problem, Batch* batch) {
  batch->Init(problem.tiling, problem.logit_lengths, problem.target_lengths,
              problem.options.blank >= 0);
  batch->Plan(pipe);
  batch->Measure();
  EndPlan(pipe);
}

template <class Lattice>
RNNT_FN void RunLatticePhase(TPipe* pipe, Batch* batch, GM_ADDR workspace) {
  EndPlan(pipe);
  SyncAll<true>();
  {
    Lattice lattice;
    lattice.Init(pipe, batch, workspace);
    lattice.Run();
  }
  EndPlan(pipe);
  SyncAll<true>();
}

// A new plan of UB, with what the lattice left: the losses are written, `state` gives the rest.
RNNT_FN void WriteLosses(TPipe* pipe, const Problem& problem, Batch* batch, GM_ADDR workspace,
                         GM_ADDR loss, StateFromLattice* state) {
  batch->Plan(pipe);
  state->Init(pipe, problem.options, workspace);
  state->outcomes().WriteLosses(batch, loss);
}

// What RnntFused and RnntForward have in common: row_stats, lattice, losses.
template <typename T>
RNNT_FN void RunLosses(TPipe* pipe, const Problem& problem, Batch* batch, GM_ADDR workspace,
                       GM_ADDR loss, StateFromLattice* state) {
  Measure(pipe, problem, batch);
  {
    batch->Plan(pipe);
    BatchRows rows;
    rows.Init(pipe, batch, problem.targets);
    StatsToWorkspace sink;
    sink.Init(pipe, workspace, !problem.options.fused_log_softmax);
    sink.CheckLabels(batch, &rows.labels(), problem.options.blank);
    RowStats<T, BatchRows, StatsToWorkspace> row_stats;
    row_stats.Init(pipe, &rows, &sink, problem.options, problem.logits);
    row_stats.Run();
  }
  RunLatticePhase<Lattice>(pipe, batch, workspace);
  WriteLosses(pipe, problem, batch, workspace, loss, state);
}

// RnntLossFused, RnntFused: loss and gradient.
template <typename T>
RNNT_FN void RunFused(TPipe* pipe, const Problem& problem, GM_ADDR loss, GM_ADDR grad,
                      GM_ADDR workspace) {
  Batch batch;
  StateFromLattice state_of_rows;
  RunLosses<T>(pipe, problem, &batch, workspace, loss, &state_of_rows);
  BatchRows rows;
  rows.Init(pipe, &batch, problem.targets);
  RowGrad<T, BatchRows, StateFromLattice> row_grad;
  row_grad.Init(pipe, &rows, problem.options, &state_of_rows, problem.logits, nullptr, grad);
  row_grad.Run();
}

// RnntForward: loss and state.
template <typename T>
RNNT_FN void RunForward(TPipe* pipe, const Problem& problem, GM_ADDR loss, GM_ADDR state,
                        GM_ADDR workspace) {
  Batch batch;
  StateFromLattice state_of_rows;
  RunLosses<T>(pipe, problem, &batch, workspace, loss, &state_of_rows);
  StateWriter writer;
  writer.Init(pipe, &batch, &state_of_rows, kStateRowMax, state);
  writer.Run();
}

// RnntBackward: the gradient from the state.
template <typename T>
RNNT_FN void RunBackward(TPipe* pipe, const Problem& problem, GM_ADDR state, GM_ADDR dloss,
                         GM_ADDR dlogits) {
  Batch batch;
  Measure(pipe, problem, &batch);

  batch.Plan(pipe);
  StateFromTensor state_of_rows;
  state_of_rows.Init(pipe, problem.tiling, state);
  BatchRows rows;
  rows.Init(pipe, &batch, problem.targets);
  RowGrad<T, BatchRows, StateFromTensor> row_grad;
  row_grad.Init(pipe, &rows, problem.options, &state_of_rows, problem.logits, dloss, dlogits);
  row_grad.Run();
}

// RnntScaleGrad: the fused gradient times dloss. There are no targets and no options.
template <typename T>
RNNT_FN void RunScaleGrad(TPipe* pipe, const Problem& problem, GM_ADDR dloss, GM_ADDR dlogits) {
  Batch batch;
  Measure(pipe, problem, &batch);

  batch.Plan(pipe);
  ScaleGrad<T> scale_grad;
  scale_grad.Init(pipe, &batch, problem.logits, dloss, dlogits);
  scale_grad.Run();
}

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_KERNEL_H_
