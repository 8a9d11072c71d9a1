// SPDX-License-Identifier: Apache-2.0
// Entries of the three phases alone, for losses whose logits exist only a chunk of rows at a time
// and for the family of losses that share the phases.
#include "../../ascendc_op/op_kernel/rnnt_params.h"
#include "entry.h"

namespace {

using rnnt::Tensor;

// Rows (.., V) and their labels (..), the inputs of RnntRowStats and RnntRowGrad.
rnnt::Rows RowsOf(const Tensor& logits, const Tensor& labels) {
  rnnt::Rows rows = {};
  rows.x = logits.data;
  rows.V = logits.LastAxis();
  rows.labels = labels.MustHaveShape(logits.Leading()).As<int32_t>();
  rows.count = labels.size();
  return rows;
}

}  // namespace

RNNT_ENTRY(RnntRowLabels, 5, 3, 4) {
  rnnt::Problem problem = rnnt::ProblemOf(tensors);
  problem.options.rest = tensors.At(4, "params").As<float>()[kRnntParamRest] != 0.0f;
  const rnnt::Shape cells = tensors.At(0, "logits").Leading();
  rnnt::RowLabels(problem,
                  {tensors.At(5, "row_labels").MustHaveShape(cells).As<int32_t>(),
                   tensors.At(6, "row_samples").MustHaveShape(cells).As<int32_t>(),
                   tensors.At(7, "least_loss").MustHaveShape({problem.shape.B}).As<float>()});
}

RNNT_ENTRY(RnntRowStats, 3, 1, 2) {
  const Tensor logits = tensors.At(0, "logits");
  rnnt::Rows rows = RowsOf(logits, tensors.At(1, "row_labels"));
  rows.stats = {rnnt::PerRow(logits, tensors.At(3, "stats"), rnnt::kStatsFloats),
                rnnt::kStatsFloats};
  rnnt::RowStats(rows, logits.row_dtype(), rnnt::RowOptionsOf(tensors.At(2, "params"), rows.V));
}

RNNT_ENTRY(RnntLattice, 4, 2, 3) {
  const rnnt::StatsBatch batch = rnnt::StatsBatchOf(tensors, 1);
  float* loss = tensors.At(4, "loss").MustHaveShape({batch.shape.B}).As<float>();
  rnnt::LatticeOfRows(batch, rnnt::OptionsOf(tensors.At(3, "params"), 0), loss,
                      rnnt::PerRow(tensors.At(0, "stats"), tensors.At(5, "coefficients"),
                                   rnnt::kCoefficientsFloats));
}

RNNT_ENTRY(RnntRowGrad, 6, 1, 5) {
  const Tensor logits = tensors.At(0, "logits");
  rnnt::Rows rows = RowsOf(logits, tensors.At(1, "row_labels"));
  rows.stats = {rnnt::PerRow(logits, tensors.At(2, "stats"), rnnt::kStatsFloats),
                rnnt::kStatsFloats};
  rows.coefficients = {
      rnnt::PerRow(logits, tensors.At(3, "coefficients"), rnnt::kCoefficientsFloats),
      rnnt::kCoefficientsFloats};
  rows.dloss = tensors.At(4, "row_dloss").MustHaveShape(logits.Leading()).As<float>();
  rows.dloss_stride = 1;
  rows.grad = rnnt::Like(logits, tensors.At(6, "dlogits"));
  rnnt::RowGrad(rows, logits.row_dtype(), rnnt::RowOptionsOf(tensors.At(5, "params"), rows.V));
}
