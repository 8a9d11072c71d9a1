// SPDX-License-Identifier: Apache-2.0
// What a launch costs: instructions, repeats, scalar accesses and cycles, per core and phase.
// A phase is the time between two SyncAlls; the kernel's phases are separated by them.
#ifndef TWIN_MODEL_COUNTERS_H_
#define TWIN_MODEL_COUNTERS_H_

#include <cstdint>

namespace twin {

// Instruction, and the cycles of one repeat (256 bytes) in units of 1/5 cycle.
// clang-format off
#define TWIN_OPS(X)                                                                        \
  X(Add, 5) X(Sub, 5) X(Mul, 5) X(Max, 5) X(Min, 5)                                        \
  X(Adds, 5) X(Muls, 5) X(Maxs, 5) X(Mins, 5)                                              \
  X(Exp, 10) X(Ln, 10) X(Abs, 5) X(Cast, 5)                                                \
  X(Duplicate, 5) X(CreateVecIndex, 5)                                                     \
  X(Brcb, 5) X(Gather, 64)                                                                 \
  X(WholeReduceMax, 35) X(WholeReduceSum, 35) X(BlockReduceMax, 5) X(BlockReduceSum, 5)
// clang-format on

enum class Op : int {
#define TWIN_OP_ENUM(name, cost) k##name,
  TWIN_OPS(TWIN_OP_ENUM)
#undef TWIN_OP_ENUM
      kCount
};

constexpr const char* kOpNames[] = {
#define TWIN_OP_NAME(name, cost) #name,
    TWIN_OPS(TWIN_OP_NAME)
#undef TWIN_OP_NAME
};

constexpr uint32_t kOpFifths[] = {
#define TWIN_OP_COST(name, cost) cost,
    TWIN_OPS(TWIN_OP_COST)
#undef TWIN_OP_COST
};

constexpr int kMaxPhases = 8;
constexpr int kOpCount = static_cast<int>(Op::kCount);

// Cycles: ascend_design's table, plus what a dependent instruction waits and what a scalar costs.
constexpr uint32_t kDependentIssueCycles = 20;
constexpr uint32_t kScalarUbCycles = 10;
constexpr uint32_t kScalarGmCycles = 400;
constexpr double kClockHz = 1.8e9;
constexpr double kBytesPerSecondOfAll = 1.6e12;  // HBM; 33 GB/s for each of 48 cores
constexpr double kBytesPerSecondOfOne = 58e9;    // what one core alone was seen to move

struct PhaseCounters {
  uint64_t calls[kOpCount] = {};
  uint64_t repeats[kOpCount] = {};
  uint64_t vector_fifths = 0;
  uint64_t dependent_issues = 0;
  uint64_t scalar_ub = 0;
  uint64_t scalar_gm = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t copies = 0;
};

struct Counters {
  PhaseCounters phase[kMaxPhases];
  int current = 0;
  bool dependent = false;  // a barrier or flag since the last vector instruction

  PhaseCounters& Now() { return phase[current]; }

  void Vector(Op op, uint64_t repeats) {
    PhaseCounters& now = Now();
    const int index = static_cast<int>(op);
    ++now.calls[index];
    now.repeats[index] += repeats;
    now.vector_fifths += repeats * kOpFifths[index];
    now.dependent_issues += dependent ? 1 : 0;
    dependent = false;
  }

  void NextPhase() {
    if (current + 1 < kMaxPhases) ++current;
  }
};

}  // namespace twin

#endif  // TWIN_MODEL_COUNTERS_H_
