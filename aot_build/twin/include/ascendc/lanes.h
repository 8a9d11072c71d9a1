// SPDX-License-Identifier: Apache-2.0
// How a vector instruction walks over its operands: repeats of up to 256 bytes, 8 blocks each,
// with a stride between blocks and one between repeats, and a mask that switches lanes off.
#ifndef TWIN_ASCENDC_LANES_H_
#define TWIN_ASCENDC_LANES_H_

#include <cstdint>

#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "model/core.h"
#include "model/memory.h"

namespace twin {

constexpr uint32_t kRepeatBytes = 256;
constexpr uint32_t kMaxRepeats = 255;

// Which lanes an instruction works on. A count leaves `tail` lanes for the last repeat.
struct Lanes {
  uint32_t per_repeat = 64;
  uint32_t repeats = 0;
  uint32_t tail = 0;     // lanes of the last repeat; per_repeat if it is a full one
  bool prefix = true;    // the active lanes of a repeat are 0 .. active - 1
  uint32_t active = 64;  // in prefix form
  uint64_t mask[2] = {~0ull, ~0ull};

  uint32_t Active(uint32_t repeat) const { return repeat + 1 == repeats ? tail : active; }
  bool Lane(uint32_t repeat, uint32_t lane) const {
    return prefix ? lane < Active(repeat) : (mask[lane / 64] >> (lane % 64) & 1) != 0;
  }
};

// A vector operand: where it starts and how far apart its blocks and repeats are.
struct View {
  const char* name;
  uint32_t address;
  uint32_t left;  // bytes of the LocalTensor from `address` on
  uint32_t size;  // of an element
  uint32_t block_stride;
  uint32_t repeat_stride;

  uint32_t PerBlock() const { return kBlockBytes / size; }
  uint32_t At(uint32_t repeat, uint32_t lane) const {
    const uint32_t per_block = PerBlock();
    return address + (repeat * repeat_stride + lane / per_block * block_stride) * kBlockBytes +
           lane % per_block * size;
  }
  bool Dense(const Lanes& lanes) const {
    return block_stride == 1 &&
           (lanes.repeats == 1 || repeat_stride * PerBlock() == lanes.per_repeat);
  }
};

template <typename T>
View MakeView(const char* name, const AscendC::LocalTensor<T>& tensor, uint32_t block_stride,
              uint32_t repeat_stride) {
  return {name, tensor.TwinAddress(), tensor.TwinBytes(), sizeof(T), block_stride, repeat_stride};
}

// The three ways to say which lanes work: a number of elements, the first lanes of each repeat, a
// bit for each lane. Each checks the instruction's limits; false: there is nothing to do.
// `lane_bytes` is the size of the widest operand's element.
bool LanesOfCount(const char* api, uint32_t lane_bytes, int64_t count, Lanes* lanes);
bool LanesOfPrefix(const char* api, uint32_t lane_bytes, uint64_t mask, uint64_t repeats,
                   Lanes* lanes);
bool LanesOfPattern(const char* api, uint32_t lane_bytes, const uint64_t mask[], uint64_t repeats,
                    Lanes* lanes);

// isSetMask = false takes the lanes from the mask register, which the twin does not model.
template <bool kSetMask>
bool LanesOfMask(const char* api, uint32_t lane_bytes, uint64_t mask, uint64_t repeats,
                 Lanes* lanes) {
  static_assert(kSetMask, "the twin has no mask register");
  return LanesOfPrefix(api, lane_bytes, mask, repeats, lanes);
}
template <bool kSetMask>
bool LanesOfBits(const char* api, uint32_t lane_bytes, const uint64_t mask[], uint64_t repeats,
                 Lanes* lanes) {
  static_assert(kSetMask, "the twin has no mask register");
  return LanesOfPattern(api, lane_bytes, mask, repeats, lanes);
}

// Alignment, bounds, "was it written" and hazards of all lanes of an operand.
bool TouchView(const char* api, const View& view, const Lanes& lanes, bool write,
               const Stamp& stamp);

// A dense operand of `bytes` bytes.
template <typename T>
bool TouchDense(const char* api, const char* name, const AscendC::LocalTensor<T>& tensor,
                uint64_t bytes, bool write, const Stamp& stamp) {
  const uint32_t address = tensor.TwinAddress();
  if (address % kBlockBytes != 0) {
    Report(Fault::kUbUnaligned, api, name, "%s", g_core->Describe(address).c_str());
    return false;
  }
  if (!InTensor(api, name, address, bytes, tensor.TwinBytes())) return false;
  if (g_core->checks) {
    TouchRange(api, name, address, static_cast<uint32_t>(bytes), write, stamp);
  }
  return true;
}

// Source and destination must be the same place or apart, see ascend_design 1.3. `accumulates`:
// the destination may be reread with repeat stride 0.
bool CheckOverlap(const char* api, const View& dst, const View& src, const Lanes& lanes,
                  bool accumulates);

// For instructions whose destination [address, address + bytes) must not meet the source at all.
bool CheckApart(const char* api, uint32_t address, uint64_t bytes, const View& src,
                const Lanes& lanes);

// Executes now or, in deferred mode, later.
template <typename Work>
void Execute(Pipe pipe, Work work) {
  if (g_core->schedule.deferred) {
    g_core->schedule.Run(pipe, work);
  } else {
    work();
  }
}

template <typename T>
T* Ub(uint8_t* ub, uint32_t address) {
  return reinterpret_cast<T*>(ub + address);
}

// dst = f(src) and dst = f(src0, src1), lane by lane.
template <typename D, typename S, typename F>
void MapUnary(uint8_t* ub, const Lanes& lanes, const View& dst, const View& src, F f) {
  if (lanes.prefix && lanes.active == lanes.per_repeat && dst.Dense(lanes) && src.Dense(lanes)) {
    const uint32_t count = (lanes.repeats - 1) * lanes.per_repeat + lanes.tail;
    D* d = Ub<D>(ub, dst.address);
    const S* s = Ub<const S>(ub, src.address);
    for (uint32_t i = 0; i < count; ++i) d[i] = f(s[i]);
    return;
  }
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
      if (lanes.Lane(r, lane)) *Ub<D>(ub, dst.At(r, lane)) = f(*Ub<const S>(ub, src.At(r, lane)));
    }
  }
}

template <typename T, typename F>
void MapBinary(uint8_t* ub, const Lanes& lanes, const View& dst, const View& src0, const View& src1,
               F f) {
  if (lanes.prefix && lanes.active == lanes.per_repeat && dst.Dense(lanes) && src0.Dense(lanes) &&
      src1.Dense(lanes)) {
    const uint32_t count = (lanes.repeats - 1) * lanes.per_repeat + lanes.tail;
    T* d = Ub<T>(ub, dst.address);
    const T* a = Ub<const T>(ub, src0.address);
    const T* b = Ub<const T>(ub, src1.address);
    for (uint32_t i = 0; i < count; ++i) d[i] = f(a[i], b[i]);
    return;
  }
  const uint32_t per_block = kBlockBytes / sizeof(T);
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t first = 0; first < lanes.per_repeat; first += per_block) {
      T* d = Ub<T>(ub, dst.At(r, first));
      const T* a = Ub<const T>(ub, src0.At(r, first));
      const T* b = Ub<const T>(ub, src1.At(r, first));
      for (uint32_t i = 0; i < per_block; ++i) {
        if (lanes.Lane(r, first + i)) d[i] = f(a[i], b[i]);
      }
    }
  }
}

}  // namespace twin

#endif  // TWIN_ASCENDC_LANES_H_
