// SPDX-License-Identifier: Apache-2.0
// The arguments of MindSpore's AOT entries, checked: a wrong number, dtype, rank or size throws
// with the tensor's name.
#ifndef MINDSPORE_RNNT_CPU_TENSORS_H_
#define MINDSPORE_RNNT_CPU_TENSORS_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "dtype.h"

namespace rnnt {

struct Tensor {
  std::string name;
  void* data;
  const int64_t* shape;
  int rank;
  std::string dtype;

  int64_t size() const;
  DType row_dtype() const;  // float32, float16 or bfloat16
  template <class T>
  T* As() const;  // float or int32_t, which it must hold

  // An axis of -1 may have any size.
  const Tensor& MustHaveShape(std::initializer_list<int64_t> expected) const;
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
