// SPDX-License-Identifier: Apache-2.0
// Each operator of the loss as its phases.
#include "driver.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "threads.h"

namespace rnnt {
namespace {

Batch BatchOf(const Problem& p) {
  Batch batch(p.shape, p.logit_lengths, p.target_lengths);
  batch.SetLabels(p.targets, p.options.blank);
  return batch;
}

Records<Stats> StatsIn(float* state) { return {state, kStateFloats}; }

Records<Coefficients> CoefficientsIn(float* state) {
  return {state + kStateCoefficients, kStateFloats};
}

// Zeros in the rows of x (rows, floats) that are no cell of a valid sample.
void ClearPadding(const Batch& batch, int64_t floats, float* x) {
  ParallelRows(batch.rows(), 1, [&](int64_t begin, int64_t end) {
    batch.ForEachRun(begin, end, [&](int64_t b, int64_t, int64_t row, int64_t count) {
      if (b < 0) std::fill_n(x + row * floats, count * floats, 0.0f);
    });
  });
}

}  // namespace

void Fused(const Problem& p, float* loss, void* grad) {
  const Batch batch = BatchOf(p);
  const std::unique_ptr<float[]> state(new float[batch.rows() * kStateFloats]);
  RowStats(batch, p.logits, p.options, StatsIn(state.get()));
  Lattice(batch, StatsIn(state.get()), p.options, loss, CoefficientsIn(state.get()));
  RowGrad(batch, p.logits, p.options, StatsIn(state.get()), CoefficientsIn(state.get()), nullptr,
          grad);
}

void Forward(const Problem& p, float* loss, float* state) {
  const Batch batch = BatchOf(p);
  RowStats(batch, p.logits, p.options, StatsIn(state));
  Lattice(batch, StatsIn(state), p.options, loss, CoefficientsIn(state));
}

void Backward(const Problem& p, float* state, const float* dloss, void* dlogits) {
  RowGrad(BatchOf(p), p.logits, p.options, StatsIn(state), CoefficientsIn(state), dloss, dlogits);
}

void ScaleGrad(Logits grad, const BatchShape& shape, const int32_t* logit_lengths,
               const int32_t* target_lengths, const float* dloss, void* dlogits) {
  const Batch batch(shape, logit_lengths, target_lengths);
  const auto kernel = CurrentLevel().scale[grad.dtype];
  const int64_t row_bytes = batch.V() * SizeOf(grad.dtype);
  const bool stream = batch.rows() * row_bytes >= kStreamBytes;
  ParallelRows(batch.rows(), batch.V(), [&](int64_t begin, int64_t end) {
    batch.ForEachRun(begin, end, [&](int64_t b, int64_t, int64_t row, int64_t count) {
      const int64_t offset = row * row_bytes;
      kernel(static_cast<const char*>(grad.data) + offset, b < 0 ? 0.0f : dloss[b],
             static_cast<char*>(dlogits) + offset, count * batch.V(), stream);
    });
  });
}

void LatticeOfRows(const StatsBatch& input, const Options& options, float* loss,
                   float* coefficients) {
  const Batch batch(input.shape, input.logit_lengths, input.target_lengths);
  LatticeOfBatch(batch, input.stats, options, loss, coefficients);
}

void LatticeOfBatch(const Batch& batch, float* stats, const Options& options, float* loss,
                    float* coefficients) {
  Lattice(batch, {stats, kStatsFloats}, options, loss, {coefficients, kCoefficientsFloats});
  ClearPadding(batch, kCoefficientsFloats, coefficients);
}

void TdtRows(const StatsBatch& input, TdtInput durations, const Options& options, float* loss,
             const TdtPosteriors& posteriors) {
  Batch batch(input.shape, input.logit_lengths, input.target_lengths);
  const int32_t* all = durations.durations;
  if (std::any_of(all, all + durations.D, [](int32_t d) { return d < 0; })) batch.Invalidate();
  durations.stats = {input.stats, kStatsFloats};
  LatticeOfTdt(batch, durations, options, loss, posteriors);
  ClearPadding(batch, kCoefficientsFloats, posteriors.coefficients.data);
  ClearPadding(batch, durations.D, posteriors.durations);
}

void AlignRows(StatsBatch input, Alignment alignment) {
  input.shape.max_u = alignment.max_u;
  Batch batch(input.shape, input.logit_lengths, input.target_lengths);
  for (int64_t b = 0; b < batch.size(); ++b) {
    if (std::isnan(alignment.least_loss[b])) batch.Invalidate(b);
  }
  Align(batch, {input.stats, kStatsFloats}, input.target_lengths, alignment);
}

}  // namespace rnnt
