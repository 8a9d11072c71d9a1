// SPDX-License-Identifier: Apache-2.0
// Qualifiers, scalar types and enums of AscendC.
#ifndef TWIN_ASCENDC_TYPES_H_
#define TWIN_ASCENDC_TYPES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#define __NPU_ARCH__ 2201
#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define GM_ADDR __gm__ uint8_t*

// IEEE binary16. The device's `half` is a built-in type that converts to and from float.
struct half {
  uint16_t bits;
  half() = default;
  half(float value) : bits(FromFloat(value)) {}  // NOLINT(runtime/explicit)
  operator float() const { return ToFloat(bits); }

  static float ToFloat(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t magnitude = h & 0x7FFFu;
    uint32_t word;
    if (magnitude >= 0x7C00u) {
      word = sign | 0x7F800000u | (magnitude & 0x3FFu) << 13;
    } else if (magnitude >= 0x0400u) {
      word = sign | ((magnitude << 13) + 0x38000000u);
    } else {
      const float value = static_cast<float>(magnitude) * 5.9604644775390625e-8f;  // 2^-24
      std::memcpy(&word, &value, sizeof(word));
      word |= sign;
    }
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }

  // Round to nearest, ties to even. Overflow saturates as Cast does in non-saturation mode: inf.
  static uint16_t FromFloat(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof(word));
    const uint16_t sign = static_cast<uint16_t>(word >> 16 & 0x8000u);
    word &= 0x7FFFFFFFu;
    if (word > 0x7F800000u) return sign | 0x7E00u;
    if (word >= 0x477FF000u) return sign | 0x7C00u;
    if (word < 0x38800000u) {  // subnormal half: let the float adder round at 2^-24
      float magnitude;
      std::memcpy(&magnitude, &word, sizeof(magnitude));
      magnitude += 0.5f;
      uint32_t rounded;
      std::memcpy(&rounded, &magnitude, sizeof(rounded));
      return static_cast<uint16_t>(sign | (rounded - 0x3F000000u));
    }
    word += 0xC8000FFFu + (word >> 13 & 1u);
    return static_cast<uint16_t>(sign | word >> 13);
  }
};

// The upper half of a float. No arithmetic and no implicit conversion, as on the device.
struct bfloat16_t {
  uint16_t bits;

  static float ToFloat(uint16_t b) {
    const uint32_t word = static_cast<uint32_t>(b) << 16;
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }

  static uint16_t FromFloat(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof(word));
    if ((word & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>(word >> 16 | 0x40u);
    return static_cast<uint16_t>((word + 0x7FFFu + (word >> 16 & 1u)) >> 16);
  }
};

enum pipe_t { PIPE_S = 0, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL };
enum event_t {
  EVENT_ID0 = 0,
  EVENT_ID1,
  EVENT_ID2,
  EVENT_ID3,
  EVENT_ID4,
  EVENT_ID5,
  EVENT_ID6,
  EVENT_ID7
};

// clang-format off
enum KernelMetaType {
  KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_MIX_AIC_1_0,
  KERNEL_TYPE_MIX_AIC_1_1, KERNEL_TYPE_MIX_AIC_1_2, KERNEL_TYPE_AICORE, KERNEL_TYPE_VECTORCORE,
  KERNEL_TYPE_MIX_AICORE, KERNEL_TYPE_MIX_VECTOR_CORE, KERNEL_TYPE_MAX
};
// clang-format on

namespace AscendC {

using ::bfloat16_t;
using ::half;
using TEventID = int8_t;

enum class TPosition : uint8_t {
  GM,
  A1,
  A2,
  B1,
  B2,
  C1,
  C2,
  CO1,
  CO2,
  VECIN,
  VECOUT,
  VECCALC,
  LCM = VECCALC
};
using QuePosition = TPosition;

// Only the pairs that a vector core has, numbered as model/events.h numbers them.
enum class HardEvent : uint8_t {
  MTE2_V,
  V_MTE2,
  MTE3_V,
  V_MTE3,
  V_V,
  MTE3_MTE2,
  MTE2_MTE3,
  S_V,
  V_S,
  S_MTE2,
  MTE2_S,
  S_MTE3,
  MTE3_S,
  MAX
};

enum class RoundMode : uint8_t {
  CAST_NONE = 0,
  CAST_RINT,
  CAST_FLOOR,
  CAST_CEIL,
  CAST_ROUND,
  CAST_TRUNC,
  CAST_ODD
};
enum class ReduceOrder : uint8_t {
  ORDER_VALUE_INDEX = 0,
  ORDER_INDEX_VALUE,
  ORDER_ONLY_VALUE,
  ORDER_ONLY_INDEX
};

}  // namespace AscendC

#endif  // TWIN_ASCENDC_TYPES_H_
