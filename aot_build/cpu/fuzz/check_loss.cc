// SPDX-License-Identifier: Apache-2.0
// All forms of the loss, with any options and with logits that are not finite, against the oracle.
#include <algorithm>
#include <cmath>
#include <functional>
#include <future>

#include "checks.h"
#include "operators.h"

namespace fuzz {
namespace {

struct Options {
  float clamp, fastemit;
  bool log_softmax, zero_infinity;
  Floats dloss;  // (B,); a factor of another size than 1 would round twice in the fused form
};

Options RandomOptions(Problem& p, Random& random) {
  Options o = {random.Of({-1.0f, -1.0f, 0.05f, 0.5f}), random.Of({0.0f, 0.0f, 0.25f}),
               random.Below(4) > 0, random.Coin(), Floats(p.B)};
  for (float& d : o.dloss) d = random.Of({1.0f, 1.0f, -1.0f, 0.0f});
  const auto flag = [](bool on) { return on ? 1.0f : 0.0f; };
  p.params = {p.params[0], o.clamp, flag(o.log_softmax), o.fastemit, flag(o.zero_infinity), 0,
              0,           0};
  return o;
}

// In a part of the problems some classes of used rows are impossible, or no numbers.
void SpoilLogits(Problem& p, const Ints& labels, Random& random) {
  const float spoilt = random.Of<float>({0.0f, 0.0f, -INFINITY, NAN, INFINITY});
  if (spoilt == 0.0f) return;
  for (int64_t row = 0; row < p.rows(); ++row) {
    if (labels[row] == -2 || random.Below(8) > 0) continue;
    p.logits[row * p.V + random.Below(p.V)] = spoilt;
  }
}

// Equal, or both no number.
bool Same(const Floats& a, const Floats& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

// Whether an entry that the loss reads makes it no number.
bool HasNoLoss(const Problem& p, const Options& o, int64_t row, int32_t label) {
  const float* x = p.LogitsOf(row);
  const auto bad = [](float v) { return std::isnan(v) || v == INFINITY; };
  if (!o.log_softmax) return bad(x[p.blank]) || (label >= 0 && bad(x[label]));
  const bool empty = std::all_of(x, x + p.V, [](float v) { return v == -INFINITY; });
  return empty || std::any_of(x, x + p.V, bad);
}

class Sample {
 public:
  Sample(const Problem& p, const Options& o, const Ints& labels, int64_t b)
      : p_(p),
        o_(o),
        labels_(labels),
        b_(b),
        lattice_{p.logit_lengths[b], p.target_lengths[b], {}, {}, {}, {}} {
    for (int64_t t = 0; t < lattice_.T; ++t) {
      for (int64_t u = 0; u <= lattice_.U; ++u) AddRow(p.Row(b, t, u));
    }
    post_ = PlainPosteriors(lattice_);
  }

  void Check(const Result& got) const {
    const double loss = got.loss[b_];
    if (has_no_loss_) {
      Require(std::isnan(loss), "a loss of what is no number");
    } else if (post_.loss == INFINITY) {
      Near(loss, o_.zero_infinity ? 0.0 : INFINITY, 0.0, "loss of an impossible sample");
    } else {
      Near(loss, post_.loss, 3e-7 * std::max(1.0, std::abs(post_.loss)), "loss");
    }
    for (size_t cell = 0; cell < rows_.size(); ++cell) CheckRow(got, cell);
  }

 private:
  void AddRow(int64_t row) {
    rows_.push_back(row);
    has_no_loss_ = has_no_loss_ || HasNoLoss(p_, o_, row, labels_[row]);
    const float* x = p_.LogitsOf(row);
    const Doubles log_probs = o_.log_softmax ? PlainLogSoftmax(x, p_.V) : Doubles(x, x + p_.V);
    lattice_.blank.push_back(log_probs[p_.blank]);
    lattice_.label.push_back(labels_[row] >= 0 ? log_probs[labels_[row]] : -INFINITY);
  }

  void CheckRow(const Result& got, size_t cell) const {
    const float* grad = &got.grad[rows_[cell] * p_.V];
    const bool dropped = o_.dloss[b_] == 0.0f || (post_.loss == INFINITY && !has_no_loss_);
    if (has_no_loss_ && !dropped) {
      Require(!o_.log_softmax || std::all_of(grad, grad + p_.V, [](float g) { return g != g; }),
              "a gradient of what is no number");
      return;
    }
    const int32_t label = labels_[rows_[cell]];
    const double of_blank = dropped ? 0.0 : post_.blank[cell];
    const double of_label = dropped ? 0.0 : post_.label[cell] * (1.0 + o_.fastemit);
    const Doubles log_probs = PlainLogSoftmax(p_.LogitsOf(rows_[cell]), p_.V);
    for (int64_t k = 0; k < p_.V; ++k) {
      double g = 0.0;
      if (o_.log_softmax && !dropped) g = std::exp(log_probs[k]) * (of_blank + of_label);
      if (k == p_.blank) g -= of_blank;
      if (k == label) g -= of_label;
      if (o_.clamp > 0.0f) g = std::min<double>(o_.clamp, std::max<double>(-o_.clamp, g));
      Near(grad[k], dropped ? 0.0 : g * o_.dloss[b_], LimitOf(p_.dtype) * (1.0 + o_.fastemit),
           "gradient");
    }
  }

  const Problem& p_;
  const Options& o_;
  const Ints& labels_;
  int64_t b_;
  Lattice lattice_;
  std::vector<int64_t> rows_;
  bool has_no_loss_ = false;
  Posteriors post_;
};

}  // namespace

void CheckLoss(Problem p, Random& random) {
  const Options options = RandomOptions(p, random);
  const Ints labels = p.RowLabels();
  SpoilLogits(p, labels, random);
  Floats row_dloss(p.rows(), 1.0f);
  for (int64_t b = 0; b < p.B; ++b) {
    for (int64_t t = 0; t < p.logit_lengths[b]; ++t) {
      for (int64_t u = 0; u <= p.target_lengths[b]; ++u) {
        row_dloss[p.Row(b, t, u)] = options.dloss[b];
      }
    }
  }
  // A second thread calls at the same time, as a data-parallel host may.
  auto other = std::async(std::launch::async, RunFused, std::cref(p), std::cref(options.dloss));
  const Result fused = RunFused(p, options.dloss), of_other_thread = other.get();
  const Result two_op = RunTwoOp(p, options.dloss);
  const Result phases = RunPhases(p, labels, RunRowStats(p, labels), row_dloss);
  Require(Same(fused.loss, of_other_thread.loss), "loss of a second thread");
  Require(Same(fused.grad, of_other_thread.grad), "gradient of a second thread");
  Require(Same(fused.loss, two_op.loss), "loss of RnntForward");
  Require(Same(fused.loss, phases.loss), "loss of the phases");
  Require(Same(fused.grad, two_op.grad), "gradient of RnntBackward");
  Require(Same(fused.grad, phases.grad), "gradient of the phases");
  for (int64_t b = 0; b < p.B; ++b) Sample(p, options, labels, b).Check(fused);
  for (int64_t row = 0; row < p.rows(); ++row) {
    const auto begin = fused.grad.begin() + row * p.V;
    const bool zero = std::all_of(begin, begin + p.V, [](float g) { return g == 0.0f; });
    Require(labels[row] != -2 || zero, "a gradient in padding");
  }
}

}  // namespace fuzz
