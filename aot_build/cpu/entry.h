// SPDX-License-Identifier: Apache-2.0
// What all entries share. MindSpore (ops.Custom, func_type="aot") calls them with tensors only:
// inputs, then outputs. A wrong shape or dtype throws; a wrong value does not. What goes wrong while
// an entry runs (no memory, an unknown MINDSPORE_RNNT_CPU, log P from alpha unlike log P from beta)
// throws if params.may_throw. Else, as an exception would end a compiled graph for good, the outputs
// are NaN: of all samples or, for log P, of the sample.
#ifndef MINDSPORE_RNNT_CPU_ENTRY_H_
#define MINDSPORE_RNNT_CPU_ENTRY_H_

#include "batch.h"
#include "driver.h"
#include "options.h"
#include "tensors.h"

// Defines the entry of operator `op` around a body that uses `tensors`. `params` is the index of the
// tensor of that name, or -1.
#define RNNT_ENTRY(op, inputs, outputs, params)                                                  \
  static void op##Body(const rnnt::Tensors& tensors);                                            \
  extern "C" __attribute__((visibility("default"))) int op(                                      \
      int count, void** data, int* ranks, int64_t** shapes, const char** dtypes, void*, void*) { \
    return rnnt::RunEntry({#op, inputs, outputs, params, op##Body}, count, data, ranks, shapes,  \
                          dtypes);                                                               \
  }                                                                                              \
  static void op##Body(const rnnt::Tensors& tensors)

namespace rnnt {

struct EntryInfo {
  const char* name;
  int inputs, outputs, params;
  void (*body)(const Tensors& tensors);
};

int RunEntry(const EntryInfo& entry, int count, void** data, int* ranks, int64_t** shapes,
             const char** dtypes);

// Of an operator on a batch; V is the number of classes.
Options OptionsOf(const Tensor& params, int64_t V);
// Of an operator on rows: temperature and rest, too.
Options RowOptionsOf(const Tensor& params, int64_t V);

// The rows of packed (N, V) or padded (B, max_t, max_u1, V) tensors.
BatchShape ShapeOf(const Tensor& rows, int64_t B, int64_t max_u);

// Tensors 0 to 4, the inputs that all operators on a batch of logits begin with.
Problem ProblemOf(const Tensors& tensors);

// Tensor 0 of an operator on stats, packed or padded, and its logit_lengths and target_lengths, of
// which the first is tensor `lengths`. Any number of labels is accepted.
StatsBatch StatsBatchOf(const Tensors& tensors, int lengths);

// The data of a float32 tensor with the leading shape of `rows` and `floats` values for each row.
float* PerRow(const Tensor& rows, const Tensor& x, int64_t floats);

// The data of an output with the size and dtype of the logits.
void* Like(const Tensor& logits, const Tensor& out);

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_ENTRY_H_
