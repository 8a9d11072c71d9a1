// SPDX-License-Identifier: Apache-2.0
// dst = src0 op src1 and dst = src op scalar.
#ifndef TWIN_ASCENDC_VECTOR_BINARY_H_
#define TWIN_ASCENDC_VECTOR_BINARY_H_

#include <cstdint>
#include <type_traits>

#include "ascendc/lanes.h"
#include "ascendc/params.h"
#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "model/rules.h"

namespace twin {

// The types that Atlas A2 computes with; bfloat16 has to be cast to float first.
template <typename T>
constexpr bool kArithmetic = std::is_same<T, float>::value || std::is_same<T, ::half>::value ||
                             std::is_same<T, int32_t>::value || std::is_same<T, int16_t>::value;

// `lanes` must be valid; f computes one lane.
template <typename T, typename F>
void Binary(Op op, const Lanes& lanes, const AscendC::LocalTensor<T>& dst,
            const AscendC::LocalTensor<T>& src0, const AscendC::LocalTensor<T>& src1,
            const AscendC::BinaryRepeatParams& params, F f) {
  const char* api = kOpNames[static_cast<int>(op)];
  const View d = MakeView("dst", dst, params.dstBlkStride, params.dstRepStride);
  const View a = MakeView("src0", src0, params.src0BlkStride, params.src0RepStride);
  const View b = MakeView("src1", src1, params.src1BlkStride, params.src1RepStride);
  const Stamp stamp = g_core->clocks.Issue(kPipeV);
  g_core->counters.Vector(op, lanes.repeats);
  const bool reads =
      TouchView(api, a, lanes, false, stamp) && TouchView(api, b, lanes, false, stamp);
  if (!reads || !TouchView(api, d, lanes, true, stamp)) return;
  CheckOverlap(api, d, a, lanes, false);
  CheckOverlap(api, d, b, lanes, true);
  uint8_t* ub = g_core->ub;
  Execute(kPipeV, [=] { MapBinary<T>(ub, lanes, d, a, b, f); });
}

template <typename T, typename F>
void BinaryScalar(Op op, const Lanes& lanes, const AscendC::LocalTensor<T>& dst,
                  const AscendC::LocalTensor<T>& src, const AscendC::UnaryRepeatParams& params,
                  F f) {
  const char* api = kOpNames[static_cast<int>(op)];
  const View d = MakeView("dst", dst, params.dstBlkStride, params.dstRepStride);
  const View s = MakeView("src", src, params.srcBlkStride, params.srcRepStride);
  const Stamp stamp = g_core->clocks.Issue(kPipeV);
  g_core->counters.Vector(op, lanes.repeats);
  if (!TouchView(api, s, lanes, false, stamp) || !TouchView(api, d, lanes, true, stamp)) return;
  CheckOverlap(api, d, s, lanes, false);
  uint8_t* ub = g_core->ub;
  Execute(kPipeV, [=] { MapUnary<T, T>(ub, lanes, d, s, f); });
}

}  // namespace twin

namespace AscendC {

#define TWIN_BINARY(Name, EXPRESSION)                                                            \
  template <typename T, bool isSetMask = true>                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
            uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) { \
    static_assert(twin::kArithmetic<T>, "data_type: " #Name " has no such type on Atlas A2");    \
    twin::Lanes lanes;                                                                           \
    if (!twin::LanesOfBits<isSetMask>(#Name, sizeof(T), mask, repeatTime, &lanes)) return;       \
    twin::Binary(twin::Op::k##Name, lanes, dst, src0, src1, repeatParams,                        \
                 [](T a, T b) -> T { return EXPRESSION; });                                      \
  }                                                                                              \
  template <typename T, bool isSetMask = true>                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
            uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& repeatParams) {   \
    static_assert(twin::kArithmetic<T>, "data_type: " #Name " has no such type on Atlas A2");    \
    twin::Lanes lanes;                                                                           \
    if (!twin::LanesOfMask<isSetMask>(#Name, sizeof(T), mask, repeatTime, &lanes)) return;       \
    twin::Binary(twin::Op::k##Name, lanes, dst, src0, src1, repeatParams,                        \
                 [](T a, T b) -> T { return EXPRESSION; });                                      \
  }                                                                                              \
  template <typename T>                                                                          \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,   \
            const int32_t& count) {                                                              \
    static_assert(twin::kArithmetic<T>, "data_type: " #Name " has no such type on Atlas A2");    \
    twin::Lanes lanes;                                                                           \
    if (!twin::LanesOfCount(#Name, sizeof(T), count, &lanes)) return;                            \
    twin::Binary(twin::Op::k##Name, lanes, dst, src0, src1, BinaryRepeatParams(),                \
                 [](T a, T b) -> T { return EXPRESSION; });                                      \
  }

TWIN_BINARY(Add, static_cast<T>(a + b))
TWIN_BINARY(Sub, static_cast<T>(a - b))
TWIN_BINARY(Mul, static_cast<T>(a* b))
TWIN_BINARY(Max, twin::MaxOf<T>(a, b))
TWIN_BINARY(Min, twin::MinOf<T>(a, b))
#undef TWIN_BINARY

#define TWIN_SCALAR(Name, EXPRESSION)                                                           \
  template <typename T, bool isSetMask = true>                                                  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,         \
            uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) { \
    static_assert(twin::kArithmetic<T>, "data_type: " #Name " has no such type on Atlas A2");   \
    twin::Lanes lanes;                                                                          \
    if (!twin::LanesOfBits<isSetMask>(#Name, sizeof(T), mask, repeatTime, &lanes)) return;      \
    const T b = scalarValue;                                                                    \
    twin::BinaryScalar(twin::Op::k##Name, lanes, dst, src, repeatParams,                        \
                       [b](T a) -> T { return EXPRESSION; });                                   \
  }                                                                                             \
  template <typename T, bool isSetMask = true>                                                  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,         \
            uint64_t mask, const uint8_t repeatTime, const UnaryRepeatParams& repeatParams) {   \
    static_assert(twin::kArithmetic<T>, "data_type: " #Name " has no such type on Atlas A2");   \
    twin::Lanes lanes;                                                                          \
    if (!twin::LanesOfMask<isSetMask>(#Name, sizeof(T), mask, repeatTime, &lanes)) return;      \
    const T b = scalarValue;                                                                    \
    twin::BinaryScalar(twin::Op::k##Name, lanes, dst, src, repeatParams,                        \
                       [b](T a) -> T { return EXPRESSION; });                                   \
  }                                                                                             \
  template <typename T, bool isSetMask = true>                                                  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue,         \
            const int32_t& count) {                                                             \
    static_assert(twin::kArithmetic<T>, "data_type: " #Name " has no such type on Atlas A2");   \
    twin::Lanes lanes;                                                                          \
    if (!twin::LanesOfCount(#Name, sizeof(T), count, &lanes)) return;                           \
    const T b = scalarValue;                                                                    \
    twin::BinaryScalar(twin::Op::k##Name, lanes, dst, src, UnaryRepeatParams(),                 \
                       [b](T a) -> T { return EXPRESSION; });                                   \
  }

TWIN_SCALAR(Adds, static_cast<T>(a + b))
TWIN_SCALAR(Muls, static_cast<T>(a* b))
TWIN_SCALAR(Maxs, twin::MaxOf<T>(a, b))
TWIN_SCALAR(Mins, twin::MinOf<T>(a, b))
#undef TWIN_SCALAR

}  // namespace AscendC

#endif  // TWIN_ASCENDC_VECTOR_BINARY_H_
