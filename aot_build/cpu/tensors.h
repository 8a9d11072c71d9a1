// SPDX-License-Identifier: Apache-2.0
// The arguments of MindSpore's AOT entries, checked: a wrong number, dtype, rank or size throws
// with the names of the operator and the tensor.
#ifndef MINDSPORE_RNNT_CPU_TENSORS_H_
#define MINDSPORE_RNNT_CPU_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dtype.h"

namespace rnnt {

using Shape = std::vector<int64_t>;

struct Tensor {
  const char* op;
  std::string name;
  void* data;
  const int64_t* shape;
  int rank;
  std::string dtype;

  int64_t size() const;
  DType row_dtype() const;  // float32, float16 or bfloat16
  template <class T>
  T* As() const;  // float or int32_t, which it must hold

  // The last axis of a tensor that must have one.
  int64_t LastAxis() const;
  // The shape without its last axis, and the same with `last` for it.
  Shape Leading() const;
  Shape Leading(int64_t last) const;

  // An axis of -1 may have any size.
  const Tensor& MustHaveShape(const Shape& expected) const;
  [[noreturn]] void Refuse(const std::string& expected, const std::string& got) const;
};

class Tensors {
 public:
  Tensors(const char* op, int expected, int count, void** data, int* ranks, int64_t** shapes,
          const char** dtypes);
  // The i-th tensor; messages call it `name`.
  Tensor At(int i, const char* name) const;

 private:
  const char* op_;
  void** data_;
  int* ranks_;
  int64_t** shapes_;
  const char** dtypes_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_CPU_TENSORS_H_
