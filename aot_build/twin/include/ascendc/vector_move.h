// SPDX-License-Identifier: Apache-2.0
// Instructions that move lanes: Duplicate, CreateVecIndex, Brcb, Gather.
#ifndef TWIN_ASCENDC_VECTOR_MOVE_H_
#define TWIN_ASCENDC_VECTOR_MOVE_H_

#include <cstdint>
#include <type_traits>

#include "ascendc/lanes.h"
#include "ascendc/params.h"
#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "ascendc/vector_binary.h"

namespace twin {

template <typename T>
constexpr bool kMovable = sizeof(T) == 2 || sizeof(T) == 4;

template <typename T>
void Fill(const Lanes& lanes, const View& dst, T value) {
  const Stamp stamp = g_core->clocks.Issue(kPipeV);
  g_core->counters.Vector(Op::kDuplicate, lanes.repeats);
  if (!TouchView("Duplicate", dst, lanes, true, stamp)) return;
  uint8_t* ub = g_core->ub;
  Execute(kPipeV, [=] { MapUnary<T, T>(ub, lanes, dst, dst, [value](T) { return value; }); });
}

}  // namespace twin

namespace AscendC {

template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask,
               const uint8_t repeatTime, const uint16_t dstBlockStride,
               const uint8_t dstRepeatStride) {
  static_assert(twin::kMovable<T>, "data_type: Duplicate works on 16 and 32 bits");
  twin::Lanes lanes;
  if (!twin::LanesOfMask<isSetMask>("Duplicate", sizeof(T), mask, repeatTime, &lanes)) return;
  twin::Fill(lanes, twin::MakeView("dst", dst, dstBlockStride, dstRepeatStride), T(scalarValue));
}

template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask[],
               const uint8_t repeatTime, const uint16_t dstBlockStride,
               const uint8_t dstRepeatStride) {
  static_assert(twin::kMovable<T>, "data_type: Duplicate works on 16 and 32 bits");
  twin::Lanes lanes;
  if (!twin::LanesOfBits<isSetMask>("Duplicate", sizeof(T), mask, repeatTime, &lanes)) return;
  twin::Fill(lanes, twin::MakeView("dst", dst, dstBlockStride, dstRepeatStride), T(scalarValue));
}

template <typename T>
void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int32_t& count) {
  static_assert(twin::kMovable<T>, "data_type: Duplicate works on 16 and 32 bits");
  twin::Lanes lanes;
  if (!twin::LanesOfCount("Duplicate", sizeof(T), count, &lanes)) return;
  twin::Fill(lanes, twin::MakeView("dst", dst, 1, 8), T(scalarValue));
}

// first, first + 1, ... The framework builds it from scalar stores and vector adds, with its own
// flags and barriers: for the kernel it is one vector instruction that needs a free S_V flag.
template <typename T>
void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t count) {
  static_assert(twin::kArithmetic<T>, "data_type: half, float, int16 and int32");
  if (count == 0) return;
  twin::BarrierOf(twin::kPipeV);
  const int event = static_cast<int>(HardEvent::S_V);
  const int id = twin::g_core->events.Fetch(event);
  twin::g_core->counters.Now().scalar_ub += twin::kBlockBytes / sizeof(T);
  const twin::Stamp stamp = twin::g_core->clocks.Issue(twin::kPipeV);
  twin::g_core->counters.Vector(twin::Op::kCreateVecIndex,
                                (count * sizeof(T) + twin::kRepeatBytes - 1) / twin::kRepeatBytes);
  if (!twin::TouchDense("CreateVecIndex", "dst", dst, count * sizeof(T), true, stamp)) return;
  twin::SetFlagOf(event, id);
  twin::WaitFlagOf(event, id);
  uint8_t* ub = twin::g_core->ub;
  const uint32_t d = dst.TwinAddress();
  const T first = firstValue;
  twin::Execute(twin::kPipeV, [=] {
    for (uint32_t i = 0; i < count; ++i) twin::Ub<T>(ub, d)[i] = static_cast<T>(first + i);
  });
  twin::BarrierOf(twin::kPipeV);
}

// Each of the 8 elements of a repeat fills one 32-byte block.
template <typename T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint8_t repeatTime,
          const BrcbRepeatParams& repeatParams) {
  static_assert(twin::kMovable<T>, "data_type: Brcb works on 16 and 32 bits");
  if (repeatTime == 0) return;
  constexpr uint32_t kBlocks = 8;
  twin::Lanes lanes;
  lanes.per_repeat = lanes.active = lanes.tail = twin::kRepeatBytes / sizeof(T);
  lanes.repeats = repeatTime;
  const twin::View d =
      twin::MakeView("dst", dst, repeatParams.dstBlkStride, repeatParams.dstRepStride);
  const twin::Stamp stamp = twin::g_core->clocks.Issue(twin::kPipeV);
  twin::g_core->counters.Vector(twin::Op::kBrcb, repeatTime);
  if (!twin::TouchDense("Brcb", "src", src, repeatTime * kBlocks * sizeof(T), false, stamp) ||
      !twin::TouchView("Brcb", d, lanes, true, stamp)) {
    return;
  }
  uint8_t* ub = twin::g_core->ub;
  const uint32_t s = src.TwinAddress();
  if (!twin::CheckApart("Brcb", s, repeatTime * kBlocks * sizeof(T), d, lanes)) return;
  twin::Execute(twin::kPipeV, [=] {
    const uint32_t per_block = d.PerBlock();
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
      for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
        *twin::Ub<T>(ub, d.At(r, lane)) = twin::Ub<T>(ub, s)[r * kBlocks + lane / per_block];
      }
    }
  });
}

// dst[i] = src at byte srcBaseOffset + srcOffset[i].
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseOffset,
            const uint32_t count) {
  static_assert(twin::kMovable<T>, "data_type: Gather works on 16 and 32 bits");
  twin::Lanes lanes;
  if (!twin::LanesOfCount("Gather", sizeof(T), count, &lanes)) return;
  const twin::Stamp stamp = twin::g_core->clocks.Issue(twin::kPipeV);
  twin::g_core->counters.Vector(twin::Op::kGather, lanes.repeats);
  if (!twin::TouchDense("Gather", "srcOffset", srcOffset, count * sizeof(uint32_t), false, stamp) ||
      !twin::TouchDense("Gather", "dst", dst, count * sizeof(T), true, stamp)) {
    return;
  }
  uint8_t* ub = twin::g_core->ub;
  const uint32_t d = dst.TwinAddress(), s = src.TwinAddress(), o = srcOffset.TwinAddress();
  const uint32_t left = src.TwinBytes();
  // The offsets are data: they are read, and what they point at is checked, when the instruction
  // runs. Until then the whole source counts as read.
  if (twin::g_core->checks && !twin::g_core->schedule.deferred) {
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t at = s + srcBaseOffset + twin::Ub<uint32_t>(ub, o)[i];
      if (at % sizeof(T) != 0) {
        twin::Report(twin::Fault::kUbUnaligned, "Gather", "srcOffset", "element %u", i);
        return;
      }
      if (!twin::InTensor("Gather", "src", at, sizeof(T), s + left > at ? s + left - at : 0)) {
        return;
      }
      if (at + sizeof(T) > d && at < d + count * sizeof(T)) {
        twin::Report(twin::Fault::kUbOverlap, "Gather", "src", "element %u lies in dst", i);
        return;
      }
      twin::TouchRange("Gather", "src", at, sizeof(T), false, stamp);
    }
  }
  twin::Execute(twin::kPipeV, [=] {
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t at = uint64_t{srcBaseOffset} + twin::Ub<uint32_t>(ub, o)[i];
      if (at + sizeof(T) > left) continue;
      twin::Ub<T>(ub, d)[i] = *twin::Ub<T>(ub, static_cast<uint32_t>(s + at));
    }
  });
}

}  // namespace AscendC

#endif  // TWIN_ASCENDC_VECTOR_MOVE_H_
