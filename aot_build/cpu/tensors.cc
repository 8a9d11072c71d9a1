// SPDX-License-Identifier: Apache-2.0
// Checks of the tensors of an entry, with their messages.
#include "tensors.h"

#include <algorithm>
#include <stdexcept>

namespace rnnt {
namespace {

std::string Text(const Shape& shape) {
  const size_t rank = shape.size();
  std::string text = "(";
  for (size_t i = 0; i < rank; ++i) {
    text += (i > 0 ? ", " : "") + (shape[i] < 0 ? std::string("any") : std::to_string(shape[i]));
  }
  return text + (rank == 1 ? ",)" : ")");
}

}  // namespace

void Tensor::Refuse(const std::string& expected, const std::string& got) const {
  throw std::invalid_argument("For '" + std::string(op) + "', the '" + name + "' must be " +
                              expected + ", but got " + got + ".");
}

int64_t Tensor::size() const {
  int64_t size = 1;
  for (int i = 0; i < rank; ++i) size *= shape[i];
  return size;
}

DType Tensor::row_dtype() const {
  if (dtype == "float32") return kFloat32;
  if (dtype == "float16") return kFloat16;
  if (dtype == "bfloat16") return kBFloat16;
  Refuse("float32, float16 or bfloat16", dtype);
}

template <>
float* Tensor::As<float>() const {
  if (dtype != "float32") Refuse("float32", dtype);
  return static_cast<float*>(data);
}

template <>
int32_t* Tensor::As<int32_t>() const {
  if (dtype != "int32") Refuse("int32", dtype);
  return static_cast<int32_t*>(data);
}

int64_t Tensor::LastAxis() const {
  if (rank < 1) Refuse("of one axis or more", "shape ()");
  return shape[rank - 1];
}

Shape Tensor::Leading() const { return Shape(shape, shape + std::max(rank - 1, 0)); }

Shape Tensor::Leading(int64_t last) const {
  Shape result = Leading();
  result.push_back(last);
  return result;
}

const Tensor& Tensor::MustHaveShape(const Shape& expected) const {
  const Shape got(shape, shape + rank);
  bool same = got.size() == expected.size();
  for (size_t i = 0; same && i < got.size(); ++i) {
    same = expected[i] == -1 || expected[i] == got[i];
  }
  if (!same) Refuse("of shape " + Text(expected), "shape " + Text(got));
  return *this;
}

Tensors::Tensors(const char* op, int expected, int count, void** data, int* ranks, int64_t** shapes,
                 const char** dtypes)
    : op_(op), data_(data), ranks_(ranks), shapes_(shapes), dtypes_(dtypes) {
  if (count != expected) {
    throw std::invalid_argument("For '" + std::string(op_) + "', the number of tensors must be " +
                                std::to_string(expected) + ", but got " + std::to_string(count) +
                                ".");
  }
}

Tensor Tensors::At(int i, const char* name) const {
  return {op_, name, data_[i], shapes_[i], ranks_[i], dtypes_[i]};
}

}  // namespace rnnt
