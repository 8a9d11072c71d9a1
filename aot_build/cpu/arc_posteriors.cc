// SPDX-License-Identifier: Apache-2.0
// The posteriors of a batch's arcs as two arrays, (rows,) each: columns 1 and 2 of the lattice's
// coefficients.
#include <algorithm>
#include <cmath>
#include <memory>

#include "driver.h"
#include "threads.h"

namespace rnnt {

namespace {

constexpr int64_t kRowsOfTask = 16384;

}  // namespace

void ArcPosteriors(const StatsBatch& input, const Options& options, const ArcPosteriorsOut& out) {
  Batch batch(input.shape, input.logit_lengths, input.target_lengths);
  for (int64_t b = 0; b < batch.size(); ++b) {
    if (std::isnan(out.least_loss[b])) batch.Invalidate(b);
  }
  const std::unique_ptr<float[]> coefficients(new float[out.rows * kCoefficientsFloats]);
  LatticeOfBatch(batch, input.stats, options, out.loss, coefficients.get());
  for (int64_t b = 0; b < batch.size(); ++b) {  // NaN stays NaN
    if (out.loss[b] < out.least_loss[b]) out.loss[b] = out.least_loss[b];
  }
  const int64_t tasks = (out.rows + kRowsOfTask - 1) / kRowsOfTask;
  ParallelFor(tasks, out.rows, [&](int64_t task) {
    const int64_t end = std::min(out.rows, (task + 1) * kRowsOfTask);
    const float* of_row = coefficients.get() + task * kRowsOfTask * kCoefficientsFloats;
    for (int64_t row = task * kRowsOfTask; row < end; ++row, of_row += kCoefficientsFloats) {
      out.blank[row] = of_row[1];
      out.label[row] = of_row[2];
    }
  });
}

}  // namespace rnnt
