// SPDX-License-Identifier: Apache-2.0
// Arguments in guarded memory, in all dtypes.
#include "call.h"

#include <algorithm>
#include <cmath>

namespace fuzz {
namespace {

// What outputs hold before the call: a NaN that no arithmetic makes, in each dtype.
constexpr uint32_t kUnwritten32 = 0x7FD1A7E5;
constexpr uint16_t kUnwritten16 = 0x7FD1;

int64_t BytesOf(const std::string& dtype) {
  return dtype == "float16" || dtype == "bfloat16" ? 2 : 4;
}

uint16_t ToBits(float x, const std::string& dtype) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(x));
  if (dtype == "bfloat16") return static_cast<uint16_t>(bits >> 16);
  const uint32_t sign = bits >> 16 & 0x8000;
  if (std::isnan(x)) return 0x7E00;
  if (std::isinf(x)) return static_cast<uint16_t>(sign | 0x7C00);
  const float size = std::abs(x);
  const uint32_t denormal = static_cast<uint32_t>(size * 0x1p24f);
  const uint32_t normal = ((bits & 0x7FFFFFFF) - (112u << 23)) >> 13;
  return static_cast<uint16_t>(sign | (size < 0x1p-14f ? denormal : normal));
}

float FromBits(uint16_t bits, const std::string& dtype) {
  if (dtype == "bfloat16") {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float x;
    memcpy(&x, &wide, sizeof(x));
    return x;
  }
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double x = std::ldexp(exponent > 0 ? 1024 + mantissa : mantissa, std::max(exponent, 1) - 25);
  if (exponent == 31) x = mantissa > 0 ? NAN : INFINITY;
  return static_cast<float>((bits & 0x8000) != 0 ? -x : x);
}

}  // namespace

int64_t SizeOf(const Shape& shape) {
  int64_t size = 1;
  for (const int64_t axis : shape) size *= axis;
  return size;
}

void* Call::Add(const Shape& shape, const std::string& dtype) {
  const int64_t bytes = SizeOf(shape) * BytesOf(dtype);
  arguments_.push_back({std::make_unique<Guarded>(bytes, at_end_), shape, dtype, true});
  return arguments_.back().memory->data();
}

Call& Call::Rows(const Floats& values, const Shape& shape, const std::string& dtype) {
  void* data = Add(shape, dtype);
  if (dtype == "float32") {
    std::copy(values.begin(), values.end(), static_cast<float*>(data));
  } else {
    std::transform(values.begin(), values.end(), static_cast<uint16_t*>(data),
                   [&](float x) { return ToBits(x, dtype); });
  }
  arguments_.back().memory->MakeReadOnly();
  ++inputs_;
  return *this;
}

Call& Call::In(const Ints& values, const Shape& shape) {
  std::copy(values.begin(), values.end(), static_cast<int32_t*>(Add(shape, "int32")));
  arguments_.back().memory->MakeReadOnly();
  ++inputs_;
  return *this;
}

Call& Call::Out(const Shape& shape, const std::string& dtype) {
  void* data = Add(shape, dtype);
  if (BytesOf(dtype) == 2) {
    std::fill_n(static_cast<uint16_t*>(data), SizeOf(shape), kUnwritten16);
  } else {
    std::fill_n(static_cast<uint32_t*>(data), SizeOf(shape), kUnwritten32);
  }
  return *this;
}

Call& Call::OutOfCells(const Shape& shape) {
  Out(shape);
  arguments_.back().all_written = false;
  return *this;
}

bool Call::Run() {
  std::vector<void*> data;
  std::vector<int> ranks;
  std::vector<int64_t*> shapes;
  std::vector<const char*> dtypes;
  for (Argument& a : arguments_) {
    data.push_back(a.memory->data());
    ranks.push_back(static_cast<int>(a.shape.size()));
    shapes.push_back(a.shape.data());
    dtypes.push_back(a.dtype.c_str());
  }
  bool accepted = true;
  try {
    entry_(static_cast<int>(data.size()), data.data(), ranks.data(), shapes.data(), dtypes.data(),
           nullptr, nullptr);
  } catch (const std::invalid_argument&) {
    accepted = false;
  }
  for (const Argument& a : arguments_) {
    Require(a.memory->CanariesLive(), name_ + " writes beside a tensor");
  }
  if (accepted) CheckOutputs();
  return accepted;
}

void Call::CheckOutputs() const {
  for (size_t i = inputs_; i < arguments_.size(); ++i) {
    const Argument& a = arguments_[i];
    if (!a.all_written) continue;
    for (int64_t k = 0; k < SizeOf(a.shape); ++k) {
      const bool written = BytesOf(a.dtype) == 2
                               ? static_cast<const uint16_t*>(a.memory->data())[k] != kUnwritten16
                               : static_cast<const uint32_t*>(a.memory->data())[k] != kUnwritten32;
      Require(written, name_ + " leaves an output unwritten");
    }
  }
}

Floats Call::FloatsOf(int output) const {
  const Argument& a = Output(output);
  Floats values(SizeOf(a.shape));
  if (a.dtype == "float32") {
    std::copy_n(static_cast<const float*>(a.memory->data()), values.size(), values.begin());
  } else {
    std::transform(static_cast<const uint16_t*>(a.memory->data()),
                   static_cast<const uint16_t*>(a.memory->data()) + values.size(), values.begin(),
                   [&](uint16_t bits) { return FromBits(bits, a.dtype); });
  }
  return values;
}

Ints Call::IntsOf(int output) const {
  const Argument& a = Output(output);
  const auto* data = static_cast<const int32_t*>(a.memory->data());
  return Ints(data, data + SizeOf(a.shape));
}

}  // namespace fuzz
