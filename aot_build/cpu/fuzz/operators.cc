// SPDX-License-Identifier: Apache-2.0
// Operands of each operator in order.
#include "operators.h"

namespace fuzz {
namespace {

Call& AddBatch(Call& call, const Problem& p) {
  return call.Rows(p.logits, p.Of(p.V), p.dtype)
      .In(p.targets, {p.B, p.max_u})
      .In(p.logit_lengths, {p.B})
      .In(p.target_lengths, {p.B})
      .In(p.params, {8});
}

}  // namespace

Result RunFused(const Problem& p, const Floats& dloss) {
  Call fused("RnntFused", RnntFused, p.at_end);
  AddBatch(fused, p).Out({p.B}).Out(p.Of(p.V), p.dtype);
  Require(fused.Run(), "RnntFused refuses its shapes");
  Call scale("RnntScaleGrad", RnntScaleGrad, p.at_end);
  scale.Rows(fused.FloatsOf(1), p.Of(p.V), p.dtype).In(p.logit_lengths, {p.B});
  scale.In(p.target_lengths, {p.B}).In(dloss, {p.B}).Out(p.Of(p.V), p.dtype);
  Require(scale.Run(), "RnntScaleGrad refuses its shapes");
  return {fused.FloatsOf(0), scale.FloatsOf(0)};
}

Result RunTwoOp(const Problem& p, const Floats& dloss) {
  Call forward("RnntForward", RnntForward, p.at_end);
  AddBatch(forward, p).Out({p.B}).OutOfCells({p.rows(), 5});
  Require(forward.Run(), "RnntForward refuses its shapes");
  Call backward("RnntBackward", RnntBackward, p.at_end);
  AddBatch(backward, p).In(forward.FloatsOf(1), {p.rows(), 5}).In(dloss, {p.B});
  backward.Out(p.Of(p.V), p.dtype);
  Require(backward.Run(), "RnntBackward refuses its shapes");
  return {forward.FloatsOf(0), backward.FloatsOf(0)};
}

Floats RunRowStats(const Problem& p, const Ints& row_labels) {
  Call stats("RnntRowStats", RnntRowStats, p.at_end);
  stats.Rows(p.logits, p.Of(p.V), p.dtype).In(row_labels, p.cells).In(p.params, {8});
  stats.Out(p.Of(4));
  Require(stats.Run(), "RnntRowStats refuses its shapes");
  return stats.FloatsOf(0);
}

Result RunPhases(const Problem& p, const Ints& row_labels, const Floats& stats,
                 const Floats& row_dloss) {
  Call lattice("RnntLattice", RnntLattice, p.at_end);
  lattice.In(stats, p.Of(4)).In(p.logit_lengths, {p.B}).In(p.target_lengths, {p.B});
  lattice.In(p.params, {8}).Out({p.B}).Out(p.Of(3));
  Require(lattice.Run(), "RnntLattice refuses its shapes");
  return {lattice.FloatsOf(0), RunRowGrad(p, row_labels, stats, lattice.FloatsOf(1), row_dloss)};
}

Floats RunRowGrad(const Problem& p, const Ints& row_labels, const Floats& stats,
                  const Floats& coefficients, const Floats& row_dloss) {
  Call grad("RnntRowGrad", RnntRowGrad, p.at_end);
  grad.Rows(p.logits, p.Of(p.V), p.dtype).In(row_labels, p.cells).In(stats, p.Of(4));
  grad.In(coefficients, p.Of(3)).In(row_dloss, p.cells).In(p.params, {8});
  grad.Out(p.Of(p.V), p.dtype);
  Require(grad.Run(), "RnntRowGrad refuses its shapes");
  return grad.FloatsOf(0);
}

RowLabels RunRowLabels(const Problem& p) {
  Call labels("RnntRowLabels", RnntRowLabels, p.at_end);
  AddBatch(labels, p).Out(p.cells, "int32").Out(p.cells, "int32").Out({p.B});
  Require(labels.Run(), "RnntRowLabels refuses its shapes");
  return {labels.IntsOf(0), labels.IntsOf(1), labels.FloatsOf(2)};
}

Distillation RunDistillation(const Problem& p, const Floats& stats, const Floats& teacher_stats,
                             const RowLabels& rows) {
  Call distillation("RnntDistillation", RnntDistillation, p.at_end);
  distillation.In(stats, p.Of(4)).In(teacher_stats, p.Of(4)).In(rows.labels, p.cells);
  distillation.In(rows.samples, p.cells).In(rows.least_loss, {p.B}).In(p.params, {8});
  distillation.Out({p.B}).Out(p.Of(3));
  Require(distillation.Run(), "RnntDistillation refuses its shapes");
  return {distillation.FloatsOf(0), distillation.FloatsOf(1)};
}

ArcPosteriors RunArcPosteriors(const Problem& p, const Floats& stats, const Floats& least_loss) {
  Call arcs("RnntArcPosteriors", RnntArcPosteriors, p.at_end);
  arcs.In(stats, p.Of(4)).In(p.logit_lengths, {p.B}).In(p.target_lengths, {p.B});
  arcs.In(least_loss, {p.B}).In(p.params, {8});
  arcs.Out({p.B}).Out(p.cells).Out(p.cells);
  Require(arcs.Run(), "RnntArcPosteriors refuses its shapes");
  return {arcs.FloatsOf(0), arcs.FloatsOf(1), arcs.FloatsOf(2)};
}

Alignment RunAlign(const Problem& p, const Floats& stats, const Floats& least_loss) {
  Call align("RnntAlign", RnntAlign, p.at_end);
  align.In(stats, p.Of(4)).In(p.logit_lengths, {p.B}).In(p.target_lengths, {p.B});
  align.In(p.targets, {p.B, p.max_u}).In(least_loss, {p.B}).In(p.params, {8});
  align.Out({p.B, p.max_u}, "int32").Out({p.B, p.max_u}).Out({p.B});
  Require(align.Run(), "RnntAlign refuses its shapes");
  return {align.IntsOf(0), align.FloatsOf(1), align.FloatsOf(2)};
}

Tdt RunTdt(const Problem& p, const Floats& stats, const Floats& log_probs, const Ints& durations) {
  const auto D = static_cast<int64_t>(durations.size());
  Floats params = p.params;
  params[6] = 0.0f;  // sigma
  Call tdt("RnntTdtLattice", RnntTdtLattice, p.at_end);
  tdt.In(stats, p.Of(4)).In(log_probs, p.Of(D)).In(p.logit_lengths, {p.B});
  tdt.In(p.target_lengths, {p.B}).In(durations, {D}).In(params, {8});
  tdt.Out({p.B}).Out(p.Of(3)).Out(p.Of(D));
  Require(tdt.Run(), "RnntTdtLattice refuses its shapes");
  return {tdt.FloatsOf(0), tdt.FloatsOf(1), tdt.FloatsOf(2)};
}

Floats RunDurationLogProbs(const DurationHead& head) {
  const int64_t n = head.rows(), D = head.D;
  Call log_probs("RnntDurationLogProbs", RnntDurationLogProbs, head.at_end);
  log_probs.Rows(head.logits, {n, D}, head.dtype).In(head.row_labels, {n}).Out({n, D});
  Require(log_probs.Run(), "RnntDurationLogProbs refuses its shapes");
  return log_probs.FloatsOf(0);
}

Floats RunDurationGrad(const DurationHead& head) {
  const int64_t n = head.rows(), D = head.D;
  Call grad("RnntDurationGrad", RnntDurationGrad, head.at_end);
  grad.Rows(head.logits, {n, D}, head.dtype).In(head.row_labels, {n});
  grad.In(head.coefficients, {n, 3}).In(head.posteriors, {n, D}).In(head.dloss, {n});
  grad.In(head.params, {8}).Out({n, D}, head.dtype);
  Require(grad.Run(), "RnntDurationGrad refuses its shapes");
  return grad.FloatsOf(0);
}

namespace {

Call& AddSimple(Call& call, const SimpleJoiner& j) {
  return call.In(j.am, {j.B, j.T, j.V})
      .In(j.lm, {j.B, j.U1, j.V})
      .In(j.am_labels, {j.B, j.T})
      .In(j.lm_labels, {j.B, j.U1});
}

}  // namespace

Floats RunSimpleStats(const SimpleJoiner& j) {
  Call stats("RnntSimpleStats", RnntSimpleStats, j.at_end);
  AddSimple(stats, j).In(j.params, {8}).Out({j.B, j.T, j.U1, 4});
  Require(stats.Run(), "RnntSimpleStats refuses its shapes");
  return stats.FloatsOf(0);
}

SimpleGradients RunSimpleGrad(const SimpleJoiner& j, const Floats& stats) {
  Call grad("RnntSimpleGrad", RnntSimpleGrad, j.at_end);
  AddSimple(grad, j).In(stats, {j.B, j.T, j.U1, 4}).In(j.coefficients, {j.B, j.T, j.U1, 3});
  grad.In(j.dloss, {j.B}).In(j.params, {8}).Out({j.B, j.T, j.V}).Out({j.B, j.U1, j.V});
  Require(grad.Run(), "RnntSimpleGrad refuses its shapes");
  return {grad.FloatsOf(0), grad.FloatsOf(1)};
}

}  // namespace fuzz
