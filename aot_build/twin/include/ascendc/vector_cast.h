// SPDX-License-Identifier: Apache-2.0
// Cast: the pairs of types and the rounding modes that Atlas A2 has and the kernel needs.
#ifndef TWIN_ASCENDC_VECTOR_CAST_H_
#define TWIN_ASCENDC_VECTOR_CAST_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ascendc/lanes.h"
#include "ascendc/params.h"
#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "model/rules.h"

namespace twin {

using AscendC::RoundMode;

inline float RoundFloat(float value, RoundMode mode) {
  switch (mode) {
    case RoundMode::CAST_FLOOR:
      return std::floor(value);
    case RoundMode::CAST_CEIL:
      return std::ceil(value);
    case RoundMode::CAST_ROUND:
      return std::round(value);
    case RoundMode::CAST_TRUNC:
      return std::trunc(value);
    default:
      return std::nearbyint(value);
  }
}

// One pair of types: whether a rounding mode exists for it, and the conversion of a lane.
template <typename D, typename S>
struct Conversion;

template <>
struct Conversion<float, ::half> {
  static bool Has(RoundMode mode) { return mode == RoundMode::CAST_NONE; }
  static float Of(::half value, RoundMode) { return value; }
};
template <>
struct Conversion<float, ::bfloat16_t> {
  static bool Has(RoundMode mode) { return mode == RoundMode::CAST_NONE; }
  static float Of(::bfloat16_t value, RoundMode) { return ::bfloat16_t::ToFloat(value.bits); }
};
// Only the rounding to nearest is modelled for the narrow types; NONE is the same for half.
template <>
struct Conversion<::half, float> {
  static bool Has(RoundMode mode) {
    return mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
  }
  static ::half Of(float value, RoundMode) { return ::half(Saturate(value, 65504.0f)); }
};
template <>
struct Conversion<::bfloat16_t, float> {
  static bool Has(RoundMode mode) { return mode == RoundMode::CAST_RINT; }
  static ::bfloat16_t Of(float value, RoundMode) {
    return {::bfloat16_t::FromFloat(Saturate(value, 3.3895314e38f))};
  }
};
template <>
struct Conversion<float, float> {
  static bool Has(RoundMode mode) {
    return mode != RoundMode::CAST_NONE && mode != RoundMode::CAST_ODD;
  }
  static float Of(float value, RoundMode mode) { return RoundFloat(value, mode); }
};
template <>
struct Conversion<int32_t, float> {
  static bool Has(RoundMode mode) {
    return mode != RoundMode::CAST_NONE && mode != RoundMode::CAST_ODD;
  }
  static int32_t Of(float value, RoundMode mode) {
    if (value != value) return 0;
    const float rounded = RoundFloat(value, mode);
    if (rounded >= 2147483648.0f) return std::numeric_limits<int32_t>::max();
    if (rounded < -2147483648.0f) return std::numeric_limits<int32_t>::min();
    return static_cast<int32_t>(rounded);
  }
};
template <>
struct Conversion<float, int32_t> {
  static bool Has(RoundMode mode) {
    return mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
  }
  static float Of(int32_t value, RoundMode) { return static_cast<float>(value); }
};
template <>
struct Conversion<int32_t, int64_t> {
  static bool Has(RoundMode mode) { return mode == RoundMode::CAST_NONE; }
  static int32_t Of(int64_t value, RoundMode) {
    if (value > std::numeric_limits<int32_t>::max()) return std::numeric_limits<int32_t>::max();
    if (value < std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::min();
    return static_cast<int32_t>(value);
  }
};

template <typename D, typename S>
void CastLanes(const Lanes& lanes, const AscendC::LocalTensor<D>& dst,
               const AscendC::LocalTensor<S>& src, RoundMode mode,
               const AscendC::UnaryRepeatParams& params) {
  if (!Conversion<D, S>::Has(mode)) {
    Report(Fault::kDataType, "Cast", "roundMode", "mode %d does not exist for this pair of types",
           static_cast<int>(mode));
    return;
  }
  const View d = MakeView("dst", dst, params.dstBlkStride, params.dstRepStride);
  const View s = MakeView("src", src, params.srcBlkStride, params.srcRepStride);
  const Stamp stamp = g_core->clocks.Issue(kPipeV);
  g_core->counters.Vector(Op::kCast, lanes.repeats);
  if (!TouchView("Cast", s, lanes, false, stamp) || !TouchView("Cast", d, lanes, true, stamp)) {
    return;
  }
  CheckOverlap("Cast", d, s, lanes, false);
  uint8_t* ub = g_core->ub;
  Execute(kPipeV, [=] {
    MapUnary<D, S>(ub, lanes, d, s, [mode](S value) { return Conversion<D, S>::Of(value, mode); });
  });
}

template <typename D, typename S>
constexpr uint32_t WiderOf() {
  return sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S);
}

}  // namespace twin

namespace AscendC {

template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
          const uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
  twin::Lanes lanes;
  if (!twin::LanesOfBits<isSetMask>("Cast", twin::WiderOf<T, U>(), mask, repeatTime, &lanes))
    return;
  twin::CastLanes(lanes, dst, src, roundMode, repeatParams);
}

template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
          const uint64_t mask, const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {
  twin::Lanes lanes;
  if (!twin::LanesOfMask<isSetMask>("Cast", twin::WiderOf<T, U>(), mask, repeatTime, &lanes))
    return;
  twin::CastLanes(lanes, dst, src, roundMode, repeatParams);
}

template <typename T, typename U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode,
          const uint32_t count) {
  constexpr uint32_t kWide = twin::WiderOf<T, U>();
  twin::Lanes lanes;
  if (!twin::LanesOfCount("Cast", kWide, count, &lanes)) return;
  twin::CastLanes(lanes, dst, src, roundMode,
                  UnaryRepeatParams(1, 1, 8 * sizeof(T) / kWide, 8 * sizeof(U) / kWide));
}

}  // namespace AscendC

#endif  // TWIN_ASCENDC_VECTOR_CAST_H_
