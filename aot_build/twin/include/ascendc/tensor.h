// SPDX-License-Identifier: Apache-2.0
// LocalTensor (a window of UB) and GlobalTensor (a window of GM), and their scalar accesses.
#ifndef TWIN_ASCENDC_TENSOR_H_
#define TWIN_ASCENDC_TENSOR_H_

#include <cstdint>
#include <cstring>

#include "ascendc/types.h"
#include "model/core.h"
#include "model/memory.h"
#include "model/plan.h"

namespace AscendC {

template <typename T>
class LocalTensor {
 public:
  using PrimType = T;
  LocalTensor() {}

  T GetValue(const uint32_t index) const {
    T value;
    twin::ScalarUb("GetValue", TwinAddress() + index * sizeof(T), sizeof(T), Offset(index), false,
                   &value);
    return value;
  }

  template <typename S>
  void SetValue(const uint32_t index, const S value) const {
    T converted = static_cast<T>(value);
    twin::ScalarUb("SetValue", TwinAddress() + index * sizeof(T), sizeof(T), Offset(index), true,
                   &converted);
  }

  LocalTensor operator[](const uint32_t offset) const {
    LocalTensor result = *this;
    result.address_ += offset * static_cast<uint32_t>(sizeof(T));
    result.bytes_ = Offset(offset);
    return result;
  }

  template <typename U>
  LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> result;
    result.Bind(buffer_, plan_, position_, address_, bytes_);
    return result;
  }

  // The twin's own view; kernels have no use for it.
  void Bind(int buffer, int plan, TPosition position, uint32_t address, uint32_t bytes) {
    buffer_ = buffer;
    plan_ = plan;
    position_ = position;
    address_ = address;
    bytes_ = bytes;
  }
  int TwinBuffer() const { return buffer_; }
  TPosition TwinPosition() const { return position_; }
  uint32_t TwinAddress() const {
    twin::CheckTensor(buffer_, plan_);
    return address_;
  }
  uint32_t TwinBytes() const { return bytes_; }

 private:
  // What is left of the window behind element `index`.
  uint32_t Offset(uint32_t index) const {
    const uint64_t skipped = static_cast<uint64_t>(index) * sizeof(T);
    return skipped > bytes_ ? 0 : static_cast<uint32_t>(bytes_ - skipped);
  }

  int buffer_ = -1;
  int plan_ = 0;
  TPosition position_ = TPosition::GM;
  uint32_t address_ = 0;
  uint32_t bytes_ = 0;
};

template <typename T>
class GlobalTensor {
 public:
  using PrimType = T;
  GlobalTensor() {}

  void SetGlobalBuffer(__gm__ T* buffer, uint64_t bufferSize) {
    place_ = twin::FindGm(buffer);
    limit_ = place_.offset + bufferSize * sizeof(T);
  }

  // Without a size only the tensor itself bounds the accesses.
  void SetGlobalBuffer(__gm__ T* buffer) {
    place_ = twin::FindGm(buffer);
    limit_ = ~0ull;
  }

  T GetValue(const uint64_t offset) const {
    T value{};
    const twin::GmPlace place{place_.tensor, place_.offset + offset * sizeof(T)};
    twin::ScalarGmRead(place, sizeof(T), limit_, &value);
    return value;
  }

  GlobalTensor operator[](const uint64_t offset) const {
    GlobalTensor result = *this;
    result.place_.offset += offset * sizeof(T);
    return result;
  }

  const twin::GmPlace& TwinPlace() const { return place_; }
  uint64_t TwinLimit() const { return limit_; }

 private:
  twin::GmPlace place_;
  uint64_t limit_ = 0;
};

}  // namespace AscendC

#endif  // TWIN_ASCENDC_TENSOR_H_
