// SPDX-License-Identifier: Apache-2.0
// Checks of the tensors of an entry, with their messages.
#include "tensors.h"

#include <stdexcept>

namespace rnnt {
namespace {

std::string ShapeText(const int64_t* shape, size_t rank) {
  std::string text = "(";
  for (size_t i = 0; i < rank; ++i) {
    text += (i > 0 ? ", " : "") + (shape[i] < 0 ? std::string("any") : std::to_string(shape[i]));
  }
  return text + (rank == 1 ? ",)" : ")");
}

}  // namespace

void Tensor::Refuse(const std::string& expected, const std::string& got) const {
  throw std::invalid_argument("For 'rnnt_loss', the '" + name + "' must be " + expected +
                              ", but got " + got + ".");
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

const Tensor& Tensor::MustHaveShape(std::initializer_list<int64_t> expected) const {
  bool same = static_cast<size_t>(rank) == expected.size();
  for (int i = 0; same && i < rank; ++i) {
    const int64_t size = expected.begin()[i];
    same = size == -1 || size == shape[i];
  }
  if (!same) {
    Refuse("of shape " + ShapeText(expected.begin(), expected.size()),
           "shape " + ShapeText(shape, rank));
  }
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
  return {name, data_[i], shapes_[i], ranks_[i], dtypes_[i]};
}

}  // namespace rnnt
