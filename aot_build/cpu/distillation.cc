// SPDX-License-Identifier: Apache-2.0
// Distillation in place of phase 2: the divergence of each row, summed over a sample. Memory: 8 bytes
// a row.
#include <cmath>
#include <vector>

#include "phases.h"
#include "threads.h"

namespace rnnt {

void Distil(const DistillationInput& input, double temperature, float* loss,
            Records<Coefficients> coefficients) {
  const Level& level = CurrentLevel();
  std::vector<double> divergence(input.rows), sums(input.B);
  ParallelRows(input.rows, 400, [&](int64_t begin, int64_t end) {
    level.divergence({input.teacher.From(begin), input.student.From(begin),
                      input.row_labels + begin, end - begin, temperature, &divergence[begin],
                      coefficients.From(begin)});
  });
  const auto is_cell = [&](int64_t row) {
    const int32_t b = input.row_samples[row];
    return input.row_labels[row] != kNoCell && b >= 0 && b < input.B;
  };
  for (int64_t row = 0; row < input.rows; ++row) {  // in this order, whatever the threads
    if (is_cell(row)) sums[input.row_samples[row]] += divergence[row];
  }
  // The value of all coefficients of a sample, where it is not each row's own.
  std::vector<float> instead(input.B);
  for (int64_t b = 0; b < input.B; ++b) {
    const bool refused = std::isnan(input.least_loss[b]);
    loss[b] = refused ? NAN : static_cast<float>(sums[b]);
    instead[b] = std::isnan(sums[b]) && !refused ? NAN : 0.0f;
  }
  ParallelRows(input.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int32_t b = input.row_samples[row];
      if (!is_cell(row)) {
        coefficients[row] = {};
      } else if (!std::isfinite(loss[b])) {
        coefficients[row] = {instead[b], instead[b], instead[b]};
      }
    }
  });
}

}  // namespace rnnt
