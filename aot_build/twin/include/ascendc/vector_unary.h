// SPDX-License-Identifier: Apache-2.0
// dst = f(src): Exp, Ln, Abs. Their accuracy on the device is not published, so both transcendental
// functions can be made to be off by a few units in the last place.
#ifndef TWIN_ASCENDC_VECTOR_UNARY_H_
#define TWIN_ASCENDC_VECTOR_UNARY_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ascendc/lanes.h"
#include "ascendc/params.h"
#include "ascendc/tensor.h"
#include "ascendc/vector_binary.h"

namespace twin {

template <typename T>
constexpr bool kFloating = std::is_same<T, float>::value || std::is_same<T, ::half>::value;

// Moves a finite result by -noise .. noise ulp, by a hash of its bits: the same in every run.
inline float Perturb(float value, int noise) {
  if (noise == 0 || !std::isfinite(value) || value == 0.0f) return value;
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint32_t hash = (bits ^ bits >> 15) * 0x2C1B3C6Du >> 8;
  bits += hash % static_cast<uint32_t>(2 * noise + 1) - static_cast<uint32_t>(noise);
  float moved;
  std::memcpy(&moved, &bits, sizeof(moved));
  return std::isfinite(moved) ? moved : value;
}

}  // namespace twin

namespace AscendC {

#define TWIN_UNARY(Name, EXPRESSION)                                                         \
  template <typename T, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[],           \
            const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {               \
    static_assert(twin::kFloating<T>, "data_type: " #Name " works on half and float");       \
    twin::Lanes lanes;                                                                       \
    if (!twin::LanesOfBits<isSetMask>(#Name, sizeof(T), mask, repeatTime, &lanes)) return;   \
    const int noise = static_cast<int>(twin::g_rules.ulp_noise);                             \
    twin::BinaryScalar(twin::Op::k##Name, lanes, dst, src, repeatParams, [noise](T a) -> T { \
      (void)noise;                                                                           \
      return EXPRESSION;                                                                     \
    });                                                                                      \
  }                                                                                          \
  template <typename T, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,             \
            const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {               \
    static_assert(twin::kFloating<T>, "data_type: " #Name " works on half and float");       \
    twin::Lanes lanes;                                                                       \
    if (!twin::LanesOfMask<isSetMask>(#Name, sizeof(T), mask, repeatTime, &lanes)) return;   \
    const int noise = static_cast<int>(twin::g_rules.ulp_noise);                             \
    twin::BinaryScalar(twin::Op::k##Name, lanes, dst, src, repeatParams, [noise](T a) -> T { \
      (void)noise;                                                                           \
      return EXPRESSION;                                                                     \
    });                                                                                      \
  }                                                                                          \
  template <typename T>                                                                      \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count) {    \
    static_assert(twin::kFloating<T>, "data_type: " #Name " works on half and float");       \
    twin::Lanes lanes;                                                                       \
    if (!twin::LanesOfCount(#Name, sizeof(T), count, &lanes)) return;                        \
    const int noise = static_cast<int>(twin::g_rules.ulp_noise);                             \
    twin::BinaryScalar(twin::Op::k##Name, lanes, dst, src, UnaryRepeatParams(),              \
                       [noise](T a) -> T {                                                   \
                         (void)noise;                                                        \
                         return EXPRESSION;                                                  \
                       });                                                                   \
  }

TWIN_UNARY(Exp, static_cast<T>(twin::Perturb(twin::ExpOf(static_cast<float>(a)), noise)))
TWIN_UNARY(Ln, static_cast<T>(twin::Perturb(twin::LnOf(static_cast<float>(a)), noise)))
TWIN_UNARY(Abs, static_cast<T>(std::fabs(static_cast<float>(a))))
#undef TWIN_UNARY

}  // namespace AscendC

#endif  // TWIN_ASCENDC_VECTOR_UNARY_H_
