// SPDX-License-Identifier: Apache-2.0
// Reductions of a repeat (WholeReduce) and of each 32-byte block (BlockReduce).
//
// The order in which the hardware adds is not published: the twin can add as a tree or one by one.
#ifndef TWIN_ASCENDC_VECTOR_REDUCE_H_
#define TWIN_ASCENDC_VECTOR_REDUCE_H_

#include <cstdint>

#include "ascendc/lanes.h"
#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "ascendc/vector_binary.h"
#include "ascendc/vector_unary.h"

namespace twin {

enum class Fold { kMax, kSum };

template <typename T>
T FoldLanes(const T* values, uint32_t count, Fold fold, bool sequential) {
  float work[128] = {};
  for (uint32_t i = 0; i < count; ++i) work[i] = static_cast<float>(values[i]);
  if (fold == Fold::kMax || sequential) {
    float result = work[0];
    for (uint32_t i = 1; i < count; ++i) {
      result = fold == Fold::kMax ? MaxOf(result, work[i]) : result + work[i];
    }
    return static_cast<T>(result);
  }
  for (uint32_t n = count; n > 1; n = (n + 1) / 2) {
    for (uint32_t i = 0; i < n / 2; ++i) work[i] = work[2 * i] + work[2 * i + 1];
    if (n % 2 != 0) work[n / 2] = work[n - 1];
  }
  return static_cast<T>(work[0]);
}

// A result whose lanes are all switched off is not written.
inline bool AnyLane(const Lanes& lanes, uint32_t repeat, uint32_t first, uint32_t count) {
  for (uint32_t lane = first; lane < first + count; ++lane) {
    if (lanes.Lane(repeat, lane)) return true;
  }
  return false;
}

inline bool CheckStrides(const char* api, int64_t dst_repeat, int64_t block, int64_t src_repeat) {
  const bool good = dst_repeat >= 0 && dst_repeat <= 65535 && block >= 0 && block <= 65535 &&
                    src_repeat >= 0 && src_repeat <= 65535;
  if (!good) Report(Fault::kStrideLimit, api, "strides", "0 to 65535");
  return good;
}

// `per_result` lanes give one result; the results of a repeat are neighbours, repeats are
// dst_repeat * unit bytes apart.
template <typename T>
void Reduce(Op op, Fold fold, const AscendC::LocalTensor<T>& dst, uint32_t dst_stride_bytes,
            uint32_t dst_align, const View& src, const Lanes& lanes, uint32_t per_result) {
  const char* api = kOpNames[static_cast<int>(op)];
  const Stamp stamp = g_core->clocks.Issue(kPipeV);
  g_core->counters.Vector(op, lanes.repeats);
  if (!TouchView(api, src, lanes, false, stamp)) return;
  const uint32_t results = lanes.per_repeat / per_result;
  const uint32_t d = dst.TwinAddress();
  if (d % dst_align != 0) {
    Report(Fault::kUbUnaligned, api, "dst", "%s", g_core->Describe(d).c_str());
    return;
  }
  const uint64_t extent =
      static_cast<uint64_t>(lanes.repeats - 1) * dst_stride_bytes + results * sizeof(T);
  if (!InTensor(api, "dst", d, extent, dst.TwinBytes())) return;
  CheckApart(api, d, extent, src, lanes);
  if (g_core->checks) {
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
      const uint32_t at = d + r * dst_stride_bytes;
      if (lanes.prefix && lanes.Active(r) == lanes.per_repeat) {
        TouchRange(api, "dst", at, results * sizeof(T), true, stamp);
        continue;
      }
      for (uint32_t i = 0; i < results; ++i) {
        if (!AnyLane(lanes, r, i * per_result, per_result)) continue;
        TouchRange(api, "dst", at + i * sizeof(T), sizeof(T), true, stamp);
      }
    }
  }
  const bool sequential = g_rules.reduce_order == 1;
  uint8_t* ub = g_core->ub;
  Execute(kPipeV, [=] {
    T values[128];
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
      for (uint32_t result = 0; result < results; ++result) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < per_result; ++i) {
          const uint32_t lane = result * per_result + i;
          if (lanes.Lane(r, lane)) values[count++] = *Ub<T>(ub, src.At(r, lane));
        }
        if (count == 0) continue;
        Ub<T>(ub, d + r * dst_stride_bytes)[result] = FoldLanes(values, count, fold, sequential);
      }
    }
  });
}

}  // namespace twin

namespace AscendC {

// One result a repeat, dstRepStride elements apart.
template <typename T, bool isSetMask = true>
void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,
                    const int32_t repeatTime, const int32_t dstRepStride,
                    const int32_t srcBlkStride, const int32_t srcRepStride,
                    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX) {
  static_assert(twin::kFloating<T>, "data_type: WholeReduceMax works on half and float");
  twin::Lanes lanes;
  if (!twin::LanesOfMask<isSetMask>("WholeReduceMax", sizeof(T), static_cast<uint64_t>(mask),
                                    static_cast<uint64_t>(repeatTime), &lanes) ||
      !twin::CheckStrides("WholeReduceMax", dstRepStride, srcBlkStride, srcRepStride)) {
    return;
  }
  if (order != ReduceOrder::ORDER_ONLY_VALUE) {
    twin::Report(twin::Fault::kDataType, "WholeReduceMax", "order",
                 "the twin knows ORDER_ONLY_VALUE");
    return;
  }
  const twin::View s = twin::MakeView("src", src, static_cast<uint32_t>(srcBlkStride),
                                      static_cast<uint32_t>(srcRepStride));
  twin::Reduce(twin::Op::kWholeReduceMax, twin::Fold::kMax, dst,
               static_cast<uint32_t>(dstRepStride * sizeof(T)), sizeof(T), s, lanes,
               lanes.per_repeat);
}

template <typename T, bool isSetMask = true, typename U = T>
void WholeReduceSum(const LocalTensor<U>& dst, const LocalTensor<T>& src, const int32_t mask,
                    const int32_t repeatTime, const int32_t dstRepStride,
                    const int32_t srcBlkStride, const int32_t srcRepStride) {
  static_assert(twin::kFloating<T> && std::is_same<T, U>::value,
                "data_type: WholeReduceSum works on half and float");
  twin::Lanes lanes;
  if (!twin::LanesOfMask<isSetMask>("WholeReduceSum", sizeof(T), static_cast<uint64_t>(mask),
                                    static_cast<uint64_t>(repeatTime), &lanes) ||
      !twin::CheckStrides("WholeReduceSum", dstRepStride, srcBlkStride, srcRepStride)) {
    return;
  }
  const twin::View s = twin::MakeView("src", src, static_cast<uint32_t>(srcBlkStride),
                                      static_cast<uint32_t>(srcRepStride));
  twin::Reduce(twin::Op::kWholeReduceSum, twin::Fold::kSum, dst,
               static_cast<uint32_t>(dstRepStride * sizeof(T)), sizeof(T), s, lanes,
               lanes.per_repeat);
}

// Eight results a repeat; repeats are dstRepStride * 8 elements apart.
template <typename T, bool isSetMask = true>
void BlockReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                    const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,
                    const int32_t srcRepStride) {
  static_assert(twin::kFloating<T>, "data_type: BlockReduceMax works on half and float");
  twin::Lanes lanes;
  if (!twin::LanesOfMask<isSetMask>("BlockReduceMax", sizeof(T), static_cast<uint64_t>(mask),
                                    static_cast<uint64_t>(repeatTime), &lanes) ||
      !twin::CheckStrides("BlockReduceMax", dstRepStride, srcBlkStride, srcRepStride)) {
    return;
  }
  const twin::View s = twin::MakeView("src", src, static_cast<uint32_t>(srcBlkStride),
                                      static_cast<uint32_t>(srcRepStride));
  twin::Reduce(twin::Op::kBlockReduceMax, twin::Fold::kMax, dst,
               static_cast<uint32_t>(dstRepStride * 8 * sizeof(T)), 8 * sizeof(T), s, lanes,
               s.PerBlock());
}

template <typename T, bool isSetMask = true>
void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTime,
                    const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,
                    const int32_t srcRepStride) {
  static_assert(twin::kFloating<T>, "data_type: BlockReduceSum works on half and float");
  twin::Lanes lanes;
  if (!twin::LanesOfMask<isSetMask>("BlockReduceSum", sizeof(T), static_cast<uint64_t>(mask),
                                    static_cast<uint64_t>(repeatTime), &lanes) ||
      !twin::CheckStrides("BlockReduceSum", dstRepStride, srcBlkStride, srcRepStride)) {
    return;
  }
  const twin::View s = twin::MakeView("src", src, static_cast<uint32_t>(srcBlkStride),
                                      static_cast<uint32_t>(srcRepStride));
  twin::Reduce(twin::Op::kBlockReduceSum, twin::Fold::kSum, dst,
               static_cast<uint32_t>(dstRepStride * 8 * sizeof(T)), 8 * sizeof(T), s, lanes,
               s.PerBlock());
}

}  // namespace AscendC

#endif  // TWIN_ASCENDC_VECTOR_REDUCE_H_
