// SPDX-License-Identifier: Apache-2.0
// TPipe, TQueBind, TQue and TBuf: the plan of UB and the flags that a queue brings with it.
//
// A queue keeps the data of one buffer safe: EnQue sets the flag that DeQue waits for (producer to
// consumer), FreeTensor the one that the next AllocTensor of the buffer waits for.
#ifndef TWIN_ASCENDC_QUEUE_H_
#define TWIN_ASCENDC_QUEUE_H_

#include <cstdint>
#include <type_traits>

#include "ascendc/tensor.h"
#include "ascendc/types.h"
#include "model/core.h"
#include "model/plan.h"

namespace AscendC {

constexpr bool IsUb(TPosition position) {
  return position == TPosition::VECIN || position == TPosition::VECOUT ||
         position == TPosition::VECCALC;
}

// Producer to consumer, or back, for data that goes from `src` to `dst`.
constexpr HardEvent QueueEvent(TPosition src, TPosition dst, bool forward) {
  return src == TPosition::GM   ? (forward ? HardEvent::MTE2_V : HardEvent::V_MTE2)
         : dst == TPosition::GM ? (forward ? HardEvent::V_MTE3 : HardEvent::MTE3_V)
                                : (forward ? HardEvent::MTE2_MTE3 : HardEvent::MTE3_MTE2);
}

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
  static_assert(depth > 0, "queues of depth 0, for work in place, are not modelled");
  static_assert(src == TPosition::GM || IsUb(src), "a vector core has UB and GM only");
  static_assert(dst == TPosition::GM || IsUb(dst), "a vector core has UB and GM only");
  static_assert(src != TPosition::GM || dst != TPosition::GM, "one end of a queue is in UB");

 public:
  static constexpr TPosition srcPosition = src;
  static constexpr TPosition dstPosition = dst;
  static constexpr HardEvent enQueEvt = QueueEvent(src, dst, true);
  static constexpr HardEvent freeBufEvt = QueueEvent(src, dst, false);
  static constexpr int32_t queDepth = depth;

  template <typename T>
  LocalTensor<T> AllocTensor() {
    return Tensor<T>(state_.Alloc(freeEvent()));
  }

  template <typename T>
  void FreeTensor(LocalTensor<T>& tensor) {
    state_.Free(tensor.TwinBuffer(), freeEvent());
  }

  template <typename T>
  bool EnQue(const LocalTensor<T>& tensor) {
    state_.EnQue(tensor.TwinBuffer(), static_cast<int>(enQueEvt));
    return true;
  }

  template <typename T>
  LocalTensor<T> DeQue() {
    return Tensor<T>(state_.DeQue(static_cast<int>(enQueEvt)));
  }

 private:
  friend class TPipe;
  static constexpr bool isTQue = true;
  // The buffer's own TPosition: the end of the queue that is not in GM.
  static constexpr TPosition position = dst == TPosition::GM ? src : dst;

  static constexpr int freeEvent() { return static_cast<int>(freeBufEvt); }

  template <typename T>
  LocalTensor<T> Tensor(int buffer) {
    LocalTensor<T> tensor;
    const twin::Buffer& found = twin::g_core->buffers[buffer];
    tensor.Bind(buffer, twin::g_core->plan, position, found.address, found.bytes);
    return tensor;
  }

  twin::QueueState state_;
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue
    : public TQueBind<pos == TPosition::VECIN ? TPosition::GM : pos,
                      pos == TPosition::VECIN ? TPosition::VECIN : TPosition::GM, depth, mask> {
  static_assert(pos == TPosition::VECIN || pos == TPosition::VECOUT,
                "a TQue of a vector core is VECIN or VECOUT");
};

template <TPosition pos = TPosition::LCM>
class TBuf {
 public:
  template <typename T>
  LocalTensor<T> Get() {
    return Get<T>(bytes_ / sizeof(T));
  }
  template <typename T>
  LocalTensor<T> Get(uint32_t len) {
    const uint64_t bytes = static_cast<uint64_t>(len) * sizeof(T);
    twin::CheckWindow(buffer_, bytes);
    LocalTensor<T> tensor;
    tensor.Bind(buffer_, twin::g_core->plan, pos, twin::g_core->buffers[buffer_].address,
                static_cast<uint32_t>(bytes));
    return tensor;
  }

 private:
  friend class TPipe;
  static constexpr bool isTQue = false;
  int buffer_ = -1;
  uint32_t bytes_ = 0;
};

class TPipe {
 public:
  TPipe() { twin::StartPlan(this); }
  ~TPipe() noexcept(false) { twin::DestroyPlan(); }
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;

  template <class T>
  bool InitBuffer(T& que, uint8_t num, uint32_t len) {
    static_assert(T::isTQue, "a TBuf has one buffer: InitBuffer(buf, len)");
    que.state_.depth = T::queDepth;
    twin::PlanQueue(&que.state_, num, len, static_cast<int>(T::position));
    return true;
  }
  template <TPosition pos>
  bool InitBuffer(TBuf<pos>& buf, uint32_t len) {
    buf.buffer_ = twin::PlanBuffer(len, static_cast<int>(pos), false);
    buf.bytes_ = twin::g_core->buffers[buf.buffer_].bytes;
    return true;
  }

  template <HardEvent evt>
  TEventID AllocEventID() {
    return static_cast<TEventID>(twin::g_core->events.Alloc(static_cast<int>(evt)));
  }
  template <HardEvent evt>
  void ReleaseEventID(TEventID id) {
    twin::g_core->events.Release(static_cast<int>(evt), id);
  }
  TEventID FetchEventID(HardEvent evt) {
    return static_cast<TEventID>(twin::g_core->events.Fetch(static_cast<int>(evt)));
  }

  // Waits until the buffers that are free are really free. No barrier: what pipes still do with
  // TBufs goes on.
  void Reset() { twin::ResetPlan("TPipe::Reset"); }
};

}  // namespace AscendC

inline AscendC::TPipe* GetTPipePtr() { return static_cast<AscendC::TPipe*>(twin::g_core->pipe); }

#endif  // TWIN_ASCENDC_QUEUE_H_
