// SPDX-License-Identifier: Apache-2.0
// Compare and Select. A comparison gives one bit a lane; Select takes such bits.
#ifndef TWIN_ASCENDC_VECTOR_COMPARE_H_
#define TWIN_ASCENDC_VECTOR_COMPARE_H_

#include <cstdint>
#include <type_traits>

#include "ascendc/lanes.h"
#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "ascendc/vector_unary.h"

namespace twin {

template <typename T>
bool Holds(T a, T b, AscendC::CMPMODE mode) {
  switch (mode) {
    case AscendC::CMPMODE::LT:
      return a < b;
    case AscendC::CMPMODE::GT:
      return a > b;
    case AscendC::CMPMODE::EQ:
      return a == b;
    case AscendC::CMPMODE::LE:
      return a <= b;
    case AscendC::CMPMODE::GE:
      return a >= b;
    default:
      return a != b;
  }
}

template <typename T>
bool CheckCompare(const char* api, AscendC::CMPMODE mode, uint64_t count) {
  static_assert(kFloating<T> || std::is_same<T, int32_t>::value,
                "data_type: comparisons work on half, float and (EQ only) int32");
  if (std::is_same<T, int32_t>::value && mode != AscendC::CMPMODE::EQ) {
    Report(Fault::kDataType, api, "cmpMode", "int32 has EQ only");
    return false;
  }
  if (count * sizeof(T) % kRepeatBytes != 0) {
    Report(Fault::kCountLimit, api, "count", "%llu elements are no multiple of 256 bytes",
           static_cast<unsigned long long>(count));
    return false;
  }
  return true;
}

// A dense operand of `bytes` bytes.
template <typename T>
bool TouchDense(const char* api, const char* name, const AscendC::LocalTensor<T>& tensor,
                uint64_t bytes, bool write, const Stamp& stamp) {
  if (tensor.TwinAddress() % kBlockBytes != 0) {
    Report(Fault::kUbUnaligned, api, name, "%s", g_core->Describe(tensor.TwinAddress()).c_str());
    return false;
  }
  if (!InTensor(api, name, tensor.TwinAddress(), bytes, tensor.TwinBytes())) return false;
  if (g_core->checks) {
    TouchRange(api, name, tensor.TwinAddress(), static_cast<uint32_t>(bytes), write, stamp);
  }
  return true;
}

inline void PutBit(uint8_t* bits, uint32_t index, bool value) {
  const uint8_t bit = static_cast<uint8_t>(1u << (index % 8));
  bits[index / 8] = static_cast<uint8_t>(value ? bits[index / 8] | bit : bits[index / 8] & ~bit);
}

}  // namespace twin

namespace AscendC {

template <typename T, typename U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, uint32_t count) {
  static_assert(std::is_same<U, uint8_t>::value || std::is_same<U, int8_t>::value,
                "data_type: the bits go to an 8-bit tensor");
  twin::Lanes lanes;
  if (!twin::LanesOfCount("Compare", sizeof(T), count, &lanes)) return;
  if (!twin::CheckCompare<T>("Compare", cmpMode, count)) return;
  const twin::Stamp stamp = twin::g_core->clocks.Issue(twin::kPipeV);
  twin::g_core->counters.Vector(twin::Op::kCompare, lanes.repeats);
  if (!twin::TouchDense("Compare", "src0", src0, count * sizeof(T), false, stamp) ||
      !twin::TouchDense("Compare", "src1", src1, count * sizeof(T), false, stamp) ||
      !twin::TouchDense("Compare", "dst", dst, count / 8, true, stamp)) {
    return;
  }
  uint8_t* ub = twin::g_core->ub;
  const uint32_t d = dst.TwinAddress(), a = src0.TwinAddress(), b = src1.TwinAddress();
  twin::Execute(twin::kPipeV, [=] {
    for (uint32_t i = 0; i < count; ++i) {
      twin::PutBit(ub + d, i, twin::Holds(twin::Ub<T>(ub, a)[i], twin::Ub<T>(ub, b)[i], cmpMode));
    }
  });
}

template <typename T, typename U>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
              CMPMODE cmpMode, uint32_t count) {
  static_assert(std::is_same<U, uint8_t>::value || std::is_same<U, int8_t>::value,
                "data_type: the bits go to an 8-bit tensor");
  twin::Lanes lanes;
  if (!twin::LanesOfCount("Compares", sizeof(T), count, &lanes)) return;
  if (!twin::CheckCompare<T>("Compares", cmpMode, count)) return;
  const twin::Stamp stamp = twin::g_core->clocks.Issue(twin::kPipeV);
  twin::g_core->counters.Vector(twin::Op::kCompares, lanes.repeats);
  if (!twin::TouchDense("Compares", "src0", src0, count * sizeof(T), false, stamp) ||
      !twin::TouchDense("Compares", "dst", dst, count / 8, true, stamp)) {
    return;
  }
  uint8_t* ub = twin::g_core->ub;
  const uint32_t d = dst.TwinAddress(), a = src0.TwinAddress();
  twin::Execute(twin::kPipeV, [=] {
    for (uint32_t i = 0; i < count; ++i) {
      twin::PutBit(ub + d, i, twin::Holds(twin::Ub<T>(ub, a)[i], src1Scalar, cmpMode));
    }
  });
}

// CANN 8's name of Compares.
template <typename T, typename U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar,
                   CMPMODE cmpMode, uint32_t count) {
  Compares(dst, src0, src1Scalar, cmpMode, count);
}

// dst = bit ? src0 : src1. These modes use the 8 KiB of UB that the twin keeps out of the plan.
template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, uint32_t count) {
  static_assert(twin::kFloating<T>, "data_type: Select works on half and float");
  twin::Lanes lanes;
  if (!twin::LanesOfCount("Select", sizeof(T), count, &lanes)) return;
  if (selMode != SELMODE::VSEL_TENSOR_TENSOR_MODE) {
    twin::Report(twin::Fault::kCountLimit, "Select", "selMode", "two tensors need mode 2");
    return;
  }
  const twin::Stamp stamp = twin::g_core->clocks.Issue(twin::kPipeV);
  twin::g_core->counters.Vector(twin::Op::kSelect, lanes.repeats);
  if (!twin::TouchDense("Select", "selMask", selMask, (count + 7) / 8, false, stamp) ||
      !twin::TouchDense("Select", "src0", src0, count * sizeof(T), false, stamp) ||
      !twin::TouchDense("Select", "src1", src1, count * sizeof(T), false, stamp) ||
      !twin::TouchDense("Select", "dst", dst, count * sizeof(T), true, stamp)) {
    return;
  }
  uint8_t* ub = twin::g_core->ub;
  const uint32_t d = dst.TwinAddress(), a = src0.TwinAddress(), b = src1.TwinAddress();
  const uint32_t m = selMask.TwinAddress();
  twin::Execute(twin::kPipeV, [=] {
    for (uint32_t i = 0; i < count; ++i) {
      const bool first = (ub[m + i / 8] >> (i % 8) & 1) != 0;
      twin::Ub<T>(ub, d)[i] = first ? twin::Ub<T>(ub, a)[i] : twin::Ub<T>(ub, b)[i];
    }
  });
}

template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            T src1, SELMODE selMode, uint32_t count) {
  static_assert(twin::kFloating<T>, "data_type: Select works on half and float");
  twin::Lanes lanes;
  if (!twin::LanesOfCount("Select", sizeof(T), count, &lanes)) return;
  if (selMode != SELMODE::VSEL_TENSOR_SCALAR_MODE) {
    twin::Report(twin::Fault::kCountLimit, "Select", "selMode", "a scalar needs mode 1");
    return;
  }
  const twin::Stamp stamp = twin::g_core->clocks.Issue(twin::kPipeV);
  twin::g_core->counters.Vector(twin::Op::kSelect, lanes.repeats);
  if (!twin::TouchDense("Select", "selMask", selMask, (count + 7) / 8, false, stamp) ||
      !twin::TouchDense("Select", "src0", src0, count * sizeof(T), false, stamp) ||
      !twin::TouchDense("Select", "dst", dst, count * sizeof(T), true, stamp)) {
    return;
  }
  uint8_t* ub = twin::g_core->ub;
  const uint32_t d = dst.TwinAddress(), a = src0.TwinAddress(), m = selMask.TwinAddress();
  twin::Execute(twin::kPipeV, [=] {
    for (uint32_t i = 0; i < count; ++i) {
      const bool first = (ub[m + i / 8] >> (i % 8) & 1) != 0;
      twin::Ub<T>(ub, d)[i] = first ? twin::Ub<T>(ub, a)[i] : src1;
    }
  });
}

}  // namespace AscendC

#endif  // TWIN_ASCENDC_VECTOR_COMPARE_H_
