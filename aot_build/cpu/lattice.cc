// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "phases.h"
#include "threads.h"

namespace rnnt {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kSlack =
    8;  // lanes of the widest vector of doubles: it may run over either end of a sample's cells
constexpr int64_t kCellsPerTask = 4096;

enum class Outcome { kLoss, kImpossible, kNotANumber, kMismatch };

struct SampleResult {
  std::atomic<bool> usable{true};
  double from_front, from_end;
  Outcome outcome;
};

// The lattices of a batch's valid samples, laid out one behind the other.
class Lattices {
 public:
  explicit Lattices(const Batch& batch);
  const SampleLattice& operator[](int64_t b) const { return lattices_[b]; }
  // Valid samples, largest first.
  const std::vector<int64_t>& order() const { return order_; }

 private:
  std::vector<SampleLattice> lattices_;
  std::vector<int64_t> order_;
  std::vector<int64_t> starts_;
  std::unique_ptr<double[]> values_;
};

// A part of one sample: frames or diagonals [begin, end).
struct Part {
  int64_t b, begin, end;
};

std::vector<Part> Divide(const Lattices& lattices, const std::vector<int64_t>& samples,
                         bool by_diagonal);
Outcome Judge(const SampleResult& result);
float LossOf(const SampleResult& result, const Sample& sample, const Options& options);
void Spread(const Sample& sample, Coefficients value, Records<Coefficients> coefficients);
void ThrowMismatch(int64_t b, const SampleResult& result);

}  // namespace

void Lattice(const Batch& batch, Records<Stats> stats, const Options& options, float* loss,
             Records<Coefficients> coefficients) {
  const Level& level = CurrentLevel();
  const Lattices lattices(batch);
  const std::vector<int64_t>& order = lattices.order();
  std::vector<SampleResult> results(batch.size());
  int64_t cells = 0;
  for (const int64_t b : order) cells += batch[b].cells();

  const std::vector<Part> frames = Divide(lattices, order, false);
  ParallelFor(frames.size(), 4 * cells, [&](int64_t i) {
    const Part& part = frames[i];
    if (!level.arcs(lattices[part.b], stats, part.begin, part.end)) results[part.b].usable = false;
  });

  ParallelFor(2 * order.size(), 6 * cells, [&](int64_t i) {
    const int64_t b = order[i / 2];
    if (!results[b].usable) return;
    if (i % 2 == 0) {
      results[b].from_front = level.alpha(lattices[b]);
    } else {
      results[b].from_end = level.beta(lattices[b]);
    }
  });

  std::fill(loss, loss + batch.size(), NAN);
  std::vector<int64_t> with_loss;
  for (const int64_t b : order) {
    results[b].outcome = Judge(results[b]);
    loss[b] = LossOf(results[b], batch[b], options);
    if (results[b].outcome == Outcome::kLoss) {
      with_loss.push_back(b);
    } else {
      const float value = results[b].outcome == Outcome::kImpossible ? 0.0f : NAN;
      Spread(batch[b], {value, value, value}, coefficients);
    }
  }
  const std::vector<Part> diagonals = Divide(lattices, with_loss, true);
  ParallelFor(diagonals.size(), 4 * cells, [&](int64_t i) {
    const Part& part = diagonals[i];
    level.coefficients(lattices[part.b], results[part.b].from_front, options.label_weight,
                       part.begin, part.end, coefficients);
  });

  if (!options.may_throw) return;
  for (int64_t b = 0; b < batch.size(); ++b) {
    if (batch[b].valid && results[b].outcome == Outcome::kMismatch) ThrowMismatch(b, results[b]);
  }
}

namespace {

Lattices::Lattices(const Batch& batch) : lattices_(batch.size()) {
  int64_t cells = 0, diagonals = 0;
  for (int64_t b = 0; b < batch.size(); ++b) {
    if (!batch[b].valid) continue;
    order_.push_back(b);
    cells += batch[b].cells() + batch[b].T + batch[b].U + 3 + 2 * kSlack;
    diagonals += batch[b].T + batch[b].U + 1;
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int64_t a, int64_t b) { return batch[a].cells() > batch[b].cells(); });
  starts_.resize(diagonals);
  values_.reset(new double[4 * cells]);

  int64_t* start = starts_.data();
  double* values = values_.get();
  for (const int64_t b : order_) {
    const Sample& s = batch[b];
    SampleLattice& lattice = lattices_[b];
    lattice = {s.T,
               s.U,
               start,
               values,
               values + cells,
               values + 2 * cells,
               values + 3 * cells,
               s.row_base,
               s.row_stride};
    const auto set_guard = [&](int64_t cell) {
      lattice.blank[cell] = lattice.label[cell] = lattice.alpha[cell] = lattice.beta[cell] =
          -kInfinity;
    };
    int64_t cell = kSlack;
    for (int64_t d = 0; d < lattice.diagonals(); ++d) {
      set_guard(cell++);
      start[d] = cell - lattice.low(d);
      cell += lattice.high(d) - lattice.low(d) + 1;
    }
    set_guard(cell++);
    start[lattice.diagonals()] = cell - s.U;
    lattice.beta[cell++] = 0.0;
    set_guard(cell++);
    start += lattice.diagonals() + 1;
    values += cell + kSlack;
  }
}

std::vector<Part> Divide(const Lattices& lattices, const std::vector<int64_t>& samples,
                         bool by_diagonal) {
  std::vector<Part> parts;
  for (const int64_t b : samples) {
    const SampleLattice& lattice = lattices[b];
    const int64_t count = by_diagonal ? lattice.diagonals() : lattice.T;
    const int64_t step =
        std::max<int64_t>(1, kCellsPerTask * count / (lattice.T * (lattice.U + 1)));
    for (int64_t begin = 0; begin < count; begin += step) {
      parts.push_back({b, begin, std::min(begin + step, count)});
    }
  }
  return parts;
}

// Both ends must tell the same loss. They add the same numbers in another order, so the difference
// is bounded by rounding: relative to the loss, for long utterances.
Outcome Judge(const SampleResult& result) {
  if (!result.usable) return Outcome::kNotANumber;
  const double front = result.from_front, end = result.from_end;
  if (front == -kInfinity && end == -kInfinity) return Outcome::kImpossible;
  return std::abs(front - end) <= 1e-6 + 1e-9 * std::abs(front) ? Outcome::kLoss
                                                                : Outcome::kMismatch;
}

float LossOf(const SampleResult& result, const Sample& sample, const Options& options) {
  switch (result.outcome) {
    case Outcome::kLoss: {
      const double loss = 0.0 - result.from_front;
      // Probabilities of paths that exclude each other: a sum beyond 1 is rounding.
      const bool at_most_one = options.fused_log_softmax && !sample.blank_in_labels;
      return static_cast<float>(at_most_one ? std::max(loss, 0.0) : loss);
    }
    case Outcome::kImpossible:
      return options.zero_infinity ? 0.0f : INFINITY;
    default:
      return NAN;
  }
}

// The same coefficients for every cell of a sample.
void Spread(const Sample& sample, Coefficients value, Records<Coefficients> coefficients) {
  for (int64_t t = 0; t < sample.T; ++t) {
    const int64_t row = sample.row_base + t * sample.row_stride;
    for (int64_t u = 0; u <= sample.U; ++u) coefficients[row + u] = value;
  }
}

void ThrowMismatch(int64_t b, const SampleResult& result) {
  throw std::runtime_error(
      "For 'rnnt_loss', the loss of sample " + std::to_string(b) + " is " +
      std::to_string(-result.from_front) + " from the front of the lattice, but " +
      std::to_string(-result.from_end) + " from its end; are its logits of a usable magnitude?");
}

}  // namespace
}  // namespace rnnt
