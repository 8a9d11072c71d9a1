// SPDX-License-Identifier: Apache-2.0
// Options and shapes from the tensors of an entry.
#include "entry.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "../../ascendc_op/op_kernel/rnnt_params.h"

namespace rnnt {
namespace {

// NaN, a fraction or a value outside [-V, V) gives -1, which is no class: no sample has a loss.
int32_t BlankOf(float value, int64_t V) {
  if (!(value >= -static_cast<double>(V) && value < static_cast<double>(V))) return -1;
  const auto index = static_cast<int64_t>(value);
  if (static_cast<float>(index) != value) return -1;
  return static_cast<int32_t>(index < 0 ? index + V : index);
}

const float* ParamsOf(const Tensor& params) {
  return params.MustHaveShape({kRnntParamCount}).As<float>();
}

// Where no value can be computed: NaN, and -1 for integers.
void FillWithNaN(const Tensor& x) {
  const int64_t size = x.size();
  if (x.dtype == "float32") std::fill_n(static_cast<float*>(x.data), size, NAN);
  if (x.dtype == "float16") std::fill_n(static_cast<uint16_t*>(x.data), size, 0x7E00);
  if (x.dtype == "bfloat16") std::fill_n(static_cast<uint16_t*>(x.data), size, 0x7FC0);
  if (x.dtype == "int32") std::fill_n(static_cast<int32_t*>(x.data), size, -1);
}

}  // namespace

int RunEntry(const EntryInfo& entry, int count, void** data, int* ranks, int64_t** shapes,
             const char** dtypes) {
  const int expected = entry.inputs + entry.outputs;
  const Tensors tensors(entry.name, expected, count, data, ranks, shapes, dtypes);
  try {
    entry.body(tensors);
  } catch (const std::invalid_argument&) {
    throw;  // a wrong shape or dtype
  } catch (const std::exception& error) {
    if (entry.params >= 0 &&
        ParamsOf(tensors.At(entry.params, "params"))[kRnntParamMayThrow] != 0) {
      throw;
    }
    fprintf(stderr, "mindspore_rnnt: %s: %s; its outputs are NaN\n", entry.name, error.what());
    for (int i = entry.inputs; i < expected; ++i) FillWithNaN(tensors.At(i, "output"));
  }
  return 0;
}

Options OptionsOf(const Tensor& params, int64_t V) {
  const float* p = ParamsOf(params);
  const float clamp = p[kRnntParamClamp];
  return {BlankOf(p[kRnntParamBlank], V),       clamp > 0.0f ? clamp : INFINITY,
          p[kRnntParamFusedLogSoftmax] != 0.0f, 1.0f + p[kRnntParamFastEmitLambda],
          p[kRnntParamZeroInfinity] != 0.0f,    p[kRnntParamMayThrow] != 0.0f};
}

Options RowOptionsOf(const Tensor& params, int64_t V) {
  Options options = OptionsOf(params, V);
  const float temperature = ParamsOf(params)[kRnntParamTemperature];
  if (temperature != 0.0f) options.temperature = temperature > 0.0f ? temperature : NAN;
  options.rest = ParamsOf(params)[kRnntParamRest] != 0.0f;
  return options;
}

BatchShape ShapeOf(const Tensor& rows, int64_t B, int64_t max_u) {
  const int64_t* shape = rows.shape;
  if (rows.rank == 2) return {B, shape[0], shape[1], 0, 0, max_u};
  rows.MustHaveShape({B, -1, -1, -1});
  return {B, B * shape[1] * shape[2], shape[3], shape[1], shape[2], max_u};
}

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

StatsBatch StatsBatchOf(const Tensors& tensors, int lengths) {
  const Tensor stats = tensors.At(0, "stats");
  const Tensor logit_lengths = tensors.At(lengths, "logit_lengths").MustHaveShape({-1});
  const int64_t B = logit_lengths.shape[0];
  const Tensor target_lengths = tensors.At(lengths + 1, "target_lengths").MustHaveShape({B});
  const BatchShape shape = ShapeOf(stats, B, INT32_MAX);
  stats.MustHaveShape(stats.Leading(kStatsFloats));
  return {shape, stats.As<float>(), logit_lengths.As<int32_t>(), target_lengths.As<int32_t>()};
}

float* PerRow(const Tensor& rows, const Tensor& x, int64_t floats) {
  return x.MustHaveShape(rows.Leading(floats)).As<float>();
}

void* Like(const Tensor& logits, const Tensor& out) {
  if (out.dtype != logits.dtype) out.Refuse(logits.dtype + ", as the logits are", out.dtype);
  if (out.size() != logits.size()) {
    out.Refuse("of as many entries as the logits, " + std::to_string(logits.size()),
               std::to_string(out.size()));
  }
  return out.data;
}

}  // namespace rnnt
