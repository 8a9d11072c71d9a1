// SPDX-License-Identifier: Apache-2.0
// A call of an operator as MindSpore makes it, on guarded memory. A violated guard ends the process;
// everything else that is wrong is a Failure.
#ifndef MINDSPORE_RNNT_CPU_FUZZ_CALL_H_
#define MINDSPORE_RNNT_CPU_FUZZ_CALL_H_

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "guarded.h"

extern "C" {
using Entry = int(int count, void** data, int* ranks, int64_t** shapes, const char** dtypes, void*,
                  void*);
Entry RnntFused, RnntScaleGrad, RnntForward, RnntBackward, RnntRowStats, RnntLattice, RnntRowGrad,
    RnntArcPosteriors, RnntAlign, RnntTdtLattice, RnntRowLabels, RnntDistillation,
    RnntDurationLogProbs, RnntDurationGrad, RnntSimpleStats, RnntSimpleGrad;
const char* MindsporeRnntCpuLevels();
int MindsporeRnntSelectCpuLevel(const char* level);
void MindsporeRnntSetThreads(int threads);
}

namespace fuzz {

using Shape = std::vector<int64_t>;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void Require(bool condition, const std::string& what) {
  if (!condition) throw Failure(what);
}

int64_t SizeOf(const Shape& shape);

class Call {
 public:
  explicit Call(const char* name, Entry* entry, bool at_end)
      : name_(name), entry_(entry), at_end_(at_end) {}

  // Values of rows are stored as `dtype`, which must hold them exactly.
  Call& Rows(const Floats& values, const Shape& shape, const std::string& dtype);
  Call& In(const Floats& values, const Shape& shape) { return Rows(values, shape, "float32"); }
  Call& In(const Ints& values, const Shape& shape);
  // Outputs are made in order. They hold a value before the call that may not be in them after it.
  Call& Out(const Shape& shape, const std::string& dtype = "float32");
  // An output that padding leaves as it is.
  Call& OutOfCells(const Shape& shape);

  // True; false if the operator refuses a shape. Checks the canaries, and the outputs if true.
  bool Run();

  Floats FloatsOf(int output) const;  // from any dtype of rows
  Ints IntsOf(int output) const;

 private:
  struct Argument {
    std::unique_ptr<Guarded> memory;
    Shape shape;
    std::string dtype;
    bool all_written = true;
  };

  void* Add(const Shape& shape, const std::string& dtype);
  const Argument& Output(int output) const { return arguments_[inputs_ + output]; }
  void CheckOutputs() const;

  std::string name_;
  Entry* entry_;
  bool at_end_;
  size_t inputs_ = 0;
  std::vector<Argument> arguments_;
};

}  // namespace fuzz

#endif  // MINDSPORE_RNNT_CPU_FUZZ_CALL_H_
