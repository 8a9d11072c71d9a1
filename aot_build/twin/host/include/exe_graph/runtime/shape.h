// SPDX-License-Identifier: Apache-2.0
// gert::Shape and gert::StorageShape.
#ifndef TWIN_HOST_SHAPE_H_
#define TWIN_HOST_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace gert {

struct Shape {
  static constexpr size_t kMaxDimNum = 25;
  static constexpr int64_t kInvalidDimValue = std::numeric_limits<int64_t>::min();

  Shape() : dim_num_(0), dims_{} {}
  Shape(const std::initializer_list<int64_t>& args) : Shape() {
    for (const int64_t value : args) AppendDim(value);
  }

  bool operator==(const Shape& other) const {
    if (dim_num_ != other.dim_num_) return false;
    for (size_t i = 0; i < dim_num_; ++i) {
      if (dims_[i] != other.dims_[i]) return false;
    }
    return true;
  }
  bool operator!=(const Shape& other) const { return !(*this == other); }

  // Product of the sizes; 1 for a scalar.
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (size_t i = 0; i < dim_num_; ++i) size *= dims_[i];
    return size;
  }
  bool IsScalar() const { return dim_num_ == 0; }
  void SetScalar() { dim_num_ = 0; }
  size_t GetDimNum() const { return dim_num_; }
  void SetDimNum(const size_t dim_num) { dim_num_ = dim_num; }
  int64_t GetDim(const size_t idx) const {
    return idx < kMaxDimNum ? dims_[idx] : kInvalidDimValue;
  }
  void SetDim(size_t idx, const int64_t dim_value) {
    if (idx < kMaxDimNum) dims_[idx] = dim_value;
  }
  const int64_t& operator[](const size_t idx) const { return dims_[idx]; }
  int64_t& operator[](const size_t idx) { return dims_[idx]; }
  Shape& AppendDim(const int64_t value) {
    if (dim_num_ < kMaxDimNum) dims_[dim_num_++] = value;
    return *this;
  }

 private:
  size_t dim_num_;
  int64_t dims_[kMaxDimNum];
};

struct StorageShape {
  StorageShape() {}
  StorageShape(const std::initializer_list<int64_t>& origin_shape,
               const std::initializer_list<int64_t>& storage_shape)
      : origin_shape_(origin_shape), storage_shape_(storage_shape) {}
  const Shape& GetOriginShape() const { return origin_shape_; }
  const Shape& GetStorageShape() const { return storage_shape_; }
  Shape& MutableOriginShape() { return origin_shape_; }
  Shape& MutableStorageShape() { return storage_shape_; }

 private:
  Shape origin_shape_;
  Shape storage_shape_;
};

}  // namespace gert

#endif  // TWIN_HOST_SHAPE_H_
