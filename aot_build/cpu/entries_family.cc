// SPDX-License-Identifier: Apache-2.0
// Entries of the family of losses: operators on stats beside the lattice of the loss, and phases 1
// and 3 of other heads and joiners.
#include "../../ascendc_op/op_kernel/rnnt_params.h"
#include "entry.h"

using rnnt::Tensor;

namespace {

// Rows (.., D) of a duration head and their labels (..).
rnnt::DurationRows DurationsOf(const Tensor& logits, const Tensor& labels) {
  rnnt::DurationRows rows = {};
  rows.x = logits.data;
  rows.D = logits.LastAxis();
  rows.labels = labels.MustHaveShape(logits.Leading()).As<int32_t>();
  rows.count = labels.size();
  return rows;
}

// Tensors 0 to 3, `stats` and `params` of an operator on the simple joiner.
rnnt::SimpleJoiner SimpleJoinerOf(const rnnt::Tensors& tensors, const Tensor& stats,
                                  const Tensor& params) {
  const Tensor am = tensors.At(0, "am").MustHaveShape({-1, -1, -1});
  const int64_t B = am.shape[0], T = am.shape[1], V = am.shape[2];
  const Tensor lm = tensors.At(1, "lm").MustHaveShape({B, -1, V});
  const int64_t U1 = lm.shape[1];
  return {B,
          T,
          U1,
          V,
          am.As<float>(),
          lm.As<float>(),
          tensors.At(2, "am_labels").MustHaveShape({B, T}).As<int32_t>(),
          tensors.At(3, "lm_labels").MustHaveShape({B, U1}).As<int32_t>(),
          rnnt::OptionsOf(params, V).blank,
          {stats.MustHaveShape({B, T, U1, rnnt::kStatsFloats}).As<float>(), rnnt::kStatsFloats}};
}

}  // namespace

RNNT_ENTRY(RnntTdtLattice, 6, 3, 5) {
  const rnnt::StatsBatch batch = rnnt::StatsBatchOf(tensors, 2);
  const Tensor stats = tensors.At(0, "stats"), params = tensors.At(5, "params");
  const Tensor durations = tensors.At(4, "durations").MustHaveShape({-1});
  rnnt::TdtInput input = {};
  input.D = durations.shape[0];
  input.durations = durations.As<int32_t>();
  input.duration_log_probs = rnnt::PerRow(stats, tensors.At(1, "duration_log_probs"), input.D);
  const rnnt::Options options = rnnt::OptionsOf(params, 0);
  input.sigma = params.As<float>()[kRnntParamSigma];
  const rnnt::TdtPosteriors posteriors = {
      {rnnt::PerRow(stats, tensors.At(7, "coefficients"), rnnt::kCoefficientsFloats),
       rnnt::kCoefficientsFloats},
      rnnt::PerRow(stats, tensors.At(8, "duration_posteriors"), input.D)};
  float* loss = tensors.At(6, "loss").MustHaveShape({batch.shape.B}).As<float>();
  rnnt::TdtRows(batch, input, options, loss, posteriors);
}

RNNT_ENTRY(RnntDurationLogProbs, 2, 1, -1) {
  const Tensor logits = tensors.At(0, "duration_logits");
  rnnt::DurationRows rows = DurationsOf(logits, tensors.At(1, "row_labels"));
  rows.log_probs = rnnt::PerRow(logits, tensors.At(2, "duration_log_probs"), rows.D);
  rnnt::DurationLogProbs(rows, logits.row_dtype());
}

RNNT_ENTRY(RnntDurationGrad, 6, 1, 5) {
  const Tensor logits = tensors.At(0, "duration_logits");
  rnnt::DurationRows rows = DurationsOf(logits, tensors.At(1, "row_labels"));
  rows.coefficients = {
      rnnt::PerRow(logits, tensors.At(2, "coefficients"), rnnt::kCoefficientsFloats),
      rnnt::kCoefficientsFloats};
  rows.posteriors = rnnt::PerRow(logits, tensors.At(3, "duration_posteriors"), rows.D);
  rows.dloss = tensors.At(4, "row_dloss").MustHaveShape(logits.Leading()).As<float>();
  rows.clamp = rnnt::OptionsOf(tensors.At(5, "params"), 0).clamp;
  rows.grad = rnnt::Like(logits, tensors.At(6, "dlogits"));
  rnnt::DurationGrad(rows, logits.row_dtype());
}

RNNT_ENTRY(RnntSimpleStats, 5, 1, 4) {
  rnnt::SimpleStats(SimpleJoinerOf(tensors, tensors.At(5, "stats"), tensors.At(4, "params")));
}

RNNT_ENTRY(RnntSimpleGrad, 8, 2, 7) {
  const Tensor stats = tensors.At(4, "stats");
  const rnnt::SimpleJoiner joiner = SimpleJoinerOf(tensors, stats, tensors.At(7, "params"));
  const auto gradient = [&](int i, const char* name, int64_t rows) {
    return tensors.At(i, name).MustHaveShape({joiner.B, rows, joiner.V}).As<float>();
  };
  const rnnt::SimpleGradients gradients = {
      {rnnt::PerRow(stats, tensors.At(5, "coefficients"), rnnt::kCoefficientsFloats),
       rnnt::kCoefficientsFloats},
      tensors.At(6, "dloss").MustHaveShape({joiner.B}).As<float>(),
      gradient(8, "dam", joiner.max_t),
      gradient(9, "dlm", joiner.max_u1)};
  rnnt::SimpleGrad(joiner, gradients);
}

RNNT_ENTRY(RnntDistillation, 6, 2, 5) {
  const Tensor stats = tensors.At(0, "stats");
  const Tensor row_labels = tensors.At(2, "row_labels").MustHaveShape(stats.Leading());
  const Tensor row_samples = tensors.At(3, "row_samples").MustHaveShape(stats.Leading());
  const Tensor least_loss = tensors.At(4, "least_loss").MustHaveShape({-1});
  const int64_t B = least_loss.shape[0];
  const auto stats_of = [&](int i, const char* name) -> rnnt::Records<rnnt::Stats> {
    return {rnnt::PerRow(stats, tensors.At(i, name), rnnt::kStatsFloats), rnnt::kStatsFloats};
  };
  rnnt::DistillationInput input = {B,
                                   row_labels.size(),
                                   stats_of(0, "stats"),
                                   stats_of(1, "teacher_stats"),
                                   row_labels.As<int32_t>(),
                                   row_samples.As<int32_t>(),
                                   least_loss.As<float>()};
  const rnnt::Options options = rnnt::RowOptionsOf(tensors.At(5, "params"), 0);
  rnnt::Distil(input, options.temperature, tensors.At(6, "loss").MustHaveShape({B}).As<float>(),
               {rnnt::PerRow(stats, tensors.At(7, "coefficients"), rnnt::kCoefficientsFloats),
                rnnt::kCoefficientsFloats});
}

RNNT_ENTRY(RnntArcPosteriors, 5, 3, 4) {
  const rnnt::StatsBatch batch = rnnt::StatsBatchOf(tensors, 1);
  const Tensor stats = tensors.At(0, "stats");
  const int64_t B = batch.shape.B;
  const auto per_row = [&](int i, const char* name) {
    return tensors.At(i, name).MustHaveShape(stats.Leading()).As<float>();
  };
  const rnnt::ArcPosteriorsOut out = {stats.size() / rnnt::kStatsFloats,
                                      tensors.At(3, "least_loss").MustHaveShape({B}).As<float>(),
                                      tensors.At(5, "loss").MustHaveShape({B}).As<float>(),
                                      per_row(6, "post_blank"), per_row(7, "post_label")};
  rnnt::ArcPosteriors(batch, rnnt::OptionsOf(tensors.At(4, "params"), 0), out);
}

RNNT_ENTRY(RnntAlign, 6, 3, 5) {
  const rnnt::StatsBatch batch = rnnt::StatsBatchOf(tensors, 1);
  const Tensor targets = tensors.At(3, "targets").MustHaveShape({batch.shape.B, -1});
  const int64_t B = batch.shape.B, max_u = targets.shape[1];
  rnnt::OptionsOf(tensors.At(5, "params"), 0);
  const rnnt::Alignment alignment = {
      max_u, tensors.At(4, "least_loss").MustHaveShape({B}).As<float>(),
      tensors.At(6, "frames").MustHaveShape({B, max_u}).As<int32_t>(),
      tensors.At(7, "log_probs").MustHaveShape({B, max_u}).As<float>(),
      tensors.At(8, "path_log_prob").MustHaveShape({B}).As<float>()};
  rnnt::AlignRows(batch, alignment);
}
