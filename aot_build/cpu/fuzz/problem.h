// SPDX-License-Identifier: Apache-2.0
// Random batches: legal ones, which the oracle knows, and illegal ones.
#ifndef MINDSPORE_RNNT_CPU_FUZZ_PROBLEM_H_
#define MINDSPORE_RNNT_CPU_FUZZ_PROBLEM_H_

#include <random>
#include <string>

#include "call.h"
#include "plain.h"

namespace fuzz {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  template <class Value>
  Value Of(std::initializer_list<Value> values) {
    return values.begin()[Below(static_cast<int64_t>(values.size()))];
  }
  bool Coin() { return Below(2) == 1; }
  // An int32 that may be out of every range.
  int32_t Odd() { return Of<int32_t>({INT32_MIN, -3, -2, -1, 0, 1, 2, 3, 4, 5, 9, 64, INT32_MAX}); }

 private:
  std::mt19937 engine_;
};

struct Problem {
  bool padded;
  int64_t B, V, max_t, max_u;
  std::string dtype;
  Ints logit_lengths, target_lengths, targets;
  int32_t blank;
  Floats params;
  Floats logits;  // exact in dtype
  Shape cells;    // the shape of the rows: (N,) or (B, max_t, max_u + 1)
  bool at_end;    // where the guard page of each tensor is

  int64_t rows() const { return SizeOf(cells); }
  // `cells` with a last axis.
  Shape Of(int64_t last) const;
  int64_t Row(int64_t b, int64_t t, int64_t u) const;
  const float* LogitsOf(int64_t row) const { return &logits[row * V]; }
  // The label of each row, -1 without a label arc and -2 without a cell. Of legal problems.
  Ints RowLabels() const;
  // Of sample b, from the logits. Of legal problems.
  Lattice LatticeOf(int64_t b) const;
};

Problem LegalProblem(Random& random);
Problem IllegalProblem(Random& random);

}  // namespace fuzz

#endif  // MINDSPORE_RNNT_CPU_FUZZ_PROBLEM_H_
