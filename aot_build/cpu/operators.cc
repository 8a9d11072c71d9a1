// SPDX-License-Identifier: Apache-2.0
// MindSpore's entries (ops.Custom, func_type="aot"): they check the tensors and call the driver.
// Tensors are inputs, then outputs. A wrong shape or dtype throws. A wrong value does not; the one
// exception is that log P from alpha and log P from beta differ (params: may_throw).
#include <cmath>

#include "../../ascendc_op/op_kernel/rnnt_params.h"
#include "driver.h"
#include "tensors.h"

#define RNNT_ENTRY(op)                                      \
  extern "C" __attribute__((visibility("default"))) int op( \
      int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void*, void*)

namespace rnnt {
namespace {

// NaN or a value outside [-V, V) gives -1, which is no class: then no sample has a loss.
int32_t BlankOf(float value, int64_t V) {
  if (!(value >= -static_cast<double>(V) && value < static_cast<double>(V))) return -1;
  return static_cast<int32_t>(value < 0 ? value + static_cast<double>(V) : value);
}

Options OptionsOf(const Tensor& params, int64_t V) {
  const float* p = params.MustHaveShape({kRnntParamCount}).As<float>();
  const float clamp = p[kRnntParamClamp];
  return {BlankOf(p[kRnntParamBlank], V),       clamp > 0.0f ? clamp : INFINITY,
          p[kRnntParamFusedLogSoftmax] != 0.0f, 1.0f + p[kRnntParamFastEmitLambda],
          p[kRnntParamZeroInfinity] != 0.0f,    p[kRnntParamMayThrow] != 0.0f};
}

// Packed (N, V), or padded (B, max_t, max_u1, V).
BatchShape ShapeOf(const Tensor& logits, int64_t B, int64_t max_u) {
  if (logits.rank == 2) return {B, logits.shape[0], logits.shape[1], 0, 0, max_u};
  logits.MustHaveShape({B, -1, -1, -1});
  const int64_t* shape = logits.shape;
  return {B, B * shape[1] * shape[2], shape[3], shape[1], shape[2], max_u};
}

// The inputs that RnntFused, RnntForward and RnntBackward have in common.
Problem ProblemOf(const Tensors& tensors) {
  const Tensor logits = tensors.At(0, "logits"), targets = tensors.At(1, "targets");
  const Tensor logit_lengths = tensors.At(2, "logit_lengths").MustHaveShape({-1});
  const int64_t B = logit_lengths.shape[0];
  const Tensor target_lengths = tensors.At(3, "target_lengths").MustHaveShape({B});
  const BatchShape shape = ShapeOf(logits, B, targets.MustHaveShape({B, -1}).shape[1]);
  return {{logits.data, logits.row_dtype()},
          shape,
          targets.As<int32_t>(),
          logit_lengths.As<int32_t>(),
          target_lengths.As<int32_t>(),
          OptionsOf(tensors.At(4, "params"), shape.V)};
}

// An output in the shape and dtype of the logits.
void* Like(const Tensor& logits, const Tensor& out) {
  if (out.dtype != logits.dtype) out.Refuse(logits.dtype + ", as the logits are", out.dtype);
  if (out.size() != logits.size()) {
    out.Refuse("of as many entries as the logits, " + std::to_string(logits.size()),
               std::to_string(out.size()));
  }
  return out.data;
}

// The inputs of RnntRowStats and RnntRowGrad: rows (n, V) and their labels (n,).
Rows RowsOf(const Tensor& logits, const Tensor& labels) {
  const int64_t n = logits.MustHaveShape({-1, -1}).shape[0];
  Rows rows = {};
  rows.x = logits.data;
  rows.count = n;
  rows.V = logits.shape[1];
  rows.labels = labels.MustHaveShape({n}).As<int32_t>();
  return rows;
}

}  // namespace
}  // namespace rnnt

using rnnt::Tensors;

RNNT_ENTRY(RnntFused) {
  const Tensors tensors("RnntFused", 7, nparam, params, ndims, shapes, dtypes);
  const rnnt::Problem problem = rnnt::ProblemOf(tensors);
  float* loss = tensors.At(5, "loss").MustHaveShape({problem.shape.B}).As<float>();
  rnnt::Fused(problem, loss, rnnt::Like(tensors.At(0, "logits"), tensors.At(6, "grad")));
  return 0;
}

RNNT_ENTRY(RnntScaleGrad) {
  const Tensors tensors("RnntScaleGrad", 5, nparam, params, ndims, shapes, dtypes);
  const rnnt::Tensor grad = tensors.At(0, "grad");
  const rnnt::Tensor logit_lengths = tensors.At(1, "logit_lengths").MustHaveShape({-1});
  const int64_t B = logit_lengths.shape[0];
  const rnnt::Tensor target_lengths = tensors.At(2, "target_lengths").MustHaveShape({B});
  const rnnt::Tensor dloss = tensors.At(3, "dloss").MustHaveShape({B});
  rnnt::ScaleGrad({grad.data, grad.row_dtype()}, rnnt::ShapeOf(grad, B, INT32_MAX),
                  logit_lengths.As<int32_t>(), target_lengths.As<int32_t>(), dloss.As<float>(),
                  rnnt::Like(grad, tensors.At(4, "dlogits")));
  return 0;
}

RNNT_ENTRY(RnntForward) {
  const Tensors tensors("RnntForward", 7, nparam, params, ndims, shapes, dtypes);
  const rnnt::Problem problem = rnnt::ProblemOf(tensors);
  float* loss = tensors.At(5, "loss").MustHaveShape({problem.shape.B}).As<float>();
  const rnnt::Tensor state =
      tensors.At(6, "state").MustHaveShape({problem.shape.rows, rnnt::kStateFloats});
  rnnt::Forward(problem, loss, state.As<float>());
  return 0;
}

RNNT_ENTRY(RnntBackward) {
  const Tensors tensors("RnntBackward", 8, nparam, params, ndims, shapes, dtypes);
  const rnnt::Problem problem = rnnt::ProblemOf(tensors);
  const rnnt::Tensor state =
      tensors.At(5, "state").MustHaveShape({problem.shape.rows, rnnt::kStateFloats});
  const rnnt::Tensor dloss = tensors.At(6, "dloss").MustHaveShape({problem.shape.B});
  rnnt::Backward(problem, state.As<float>(), dloss.As<float>(),
                 rnnt::Like(tensors.At(0, "logits"), tensors.At(7, "dlogits")));
  return 0;
}

RNNT_ENTRY(RnntRowStats) {
  const Tensors tensors("RnntRowStats", 4, nparam, params, ndims, shapes, dtypes);
  const rnnt::Tensor logits = tensors.At(0, "logits");
  rnnt::Rows rows = rnnt::RowsOf(logits, tensors.At(1, "row_labels"));
  const rnnt::Tensor stats = tensors.At(3, "stats").MustHaveShape({rows.count, rnnt::kStatsFloats});
  rows.stats = {stats.As<float>(), rnnt::kStatsFloats};
  rnnt::RowStats(rows, logits.row_dtype(), rnnt::OptionsOf(tensors.At(2, "params"), rows.V));
  return 0;
}

RNNT_ENTRY(RnntLattice) {
  const Tensors tensors("RnntLattice", 6, nparam, params, ndims, shapes, dtypes);
  const rnnt::Tensor stats = tensors.At(0, "stats").MustHaveShape({-1, rnnt::kStatsFloats});
  const rnnt::Tensor logit_lengths = tensors.At(1, "logit_lengths").MustHaveShape({-1});
  const int64_t B = logit_lengths.shape[0], N = stats.shape[0];
  const rnnt::Tensor target_lengths = tensors.At(2, "target_lengths").MustHaveShape({B});
  float* loss = tensors.At(4, "loss").MustHaveShape({B}).As<float>();
  const rnnt::Tensor coefficients =
      tensors.At(5, "coefficients").MustHaveShape({N, rnnt::kCoefficientsFloats});
  rnnt::LatticeOfRows({B, N, 0, 0, 0, INT32_MAX}, stats.As<float>(), logit_lengths.As<int32_t>(),
                      target_lengths.As<int32_t>(), rnnt::OptionsOf(tensors.At(3, "params"), 0),
                      loss, coefficients.As<float>());
  return 0;
}

RNNT_ENTRY(RnntRowGrad) {
  const Tensors tensors("RnntRowGrad", 7, nparam, params, ndims, shapes, dtypes);
  const rnnt::Tensor logits = tensors.At(0, "logits");
  rnnt::Rows rows = rnnt::RowsOf(logits, tensors.At(1, "row_labels"));
  const int64_t n = rows.count;
  rows.stats = {tensors.At(2, "stats").MustHaveShape({n, rnnt::kStatsFloats}).As<float>(),
                rnnt::kStatsFloats};
  rows.coefficients = {
      tensors.At(3, "coefficients").MustHaveShape({n, rnnt::kCoefficientsFloats}).As<float>(),
      rnnt::kCoefficientsFloats};
  rows.dloss = tensors.At(4, "row_dloss").MustHaveShape({n}).As<float>();
  rows.dloss_stride = 1;
  rows.grad = rnnt::Like(logits, tensors.At(6, "dlogits"));
  rnnt::RowGrad(rows, logits.row_dtype(), rnnt::OptionsOf(tensors.At(5, "params"), rows.V));
  return 0;
}
