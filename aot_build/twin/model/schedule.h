// SPDX-License-Identifier: Apache-2.0
// Deferred execution: the work of the pipes V, MTE2 and MTE3 runs late, in a random legal order.
//
// The scalar pipe is the kernel's own thread; it queues instructions, flags and barriers. A pipe
// may run any instruction before its next flag or barrier (they overlap in the hardware), a flag
// when everything before it is done. Whatever the seed, a correct kernel gives the same bits.
#ifndef TWIN_MODEL_SCHEDULE_H_
#define TWIN_MODEL_SCHEDULE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "model/clock.h"
#include "model/events.h"

namespace twin {

// xorshift64*: small, seeded, the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed = 1) : state_(seed * 0x9E3779B97F4A7C15u | 1u) {}
  uint32_t Below(uint32_t n) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>((state_ * 0x2545F4914F6CDD1Du) >> 33) % n;
  }

 private:
  uint64_t state_;
};

class Schedule {
 public:
  bool deferred = false;
  bool in_order_v = false;  // the compiler's barriers keep V in order
  Random random;

  void Run(Pipe pipe, std::function<void()> work) {
    Push(pipe, {Step::kRun, 0, 0, std::move(work)});
  }
  void Barrier(Pipe pipe) {
    if (deferred) Push(pipe, {Step::kBarrier, 0, 0, nullptr});
  }

  void Set(int kind, int id) {
    if (!deferred) return;
    const Pipe source = kEventPairs[kind].source;
    if (source == kPipeS) {
      ++flags_[kind][id];
    } else {
      Push(source, {Step::kSet, kind, id, nullptr});
    }
  }

  void Wait(int kind, int id) {
    if (!deferred) return;
    const Pipe target = kEventPairs[kind].target;
    if (target != kPipeS) {
      Push(target, {Step::kWait, kind, id, nullptr});
      return;
    }
    while (flags_[kind][id] == 0) {
      if (!StepAny()) ReportFatal(Fault::kQueueDeadlock, "WaitFlag", kEventPairs[kind].name);
    }
    --flags_[kind][id];
  }

  void DrainAll() {
    while (StepAny()) {
    }
    for (const auto& queue : queues_) {
      if (!queue.empty()) ReportFatal(Fault::kQueueDeadlock, "PipeBarrier", "a pipe never drains");
    }
  }

 private:
  struct Step {
    enum Kind { kRun, kSet, kWait, kBarrier } what;
    int kind, id;
    std::function<void()> work;
  };

  void Push(Pipe pipe, Step step) {
    queues_[pipe].push_back(std::move(step));
    for (uint32_t n = random.Below(3); n > 0; --n) StepAny();
  }

  // Tries the pipes in a random order; false when none can go on.
  bool StepAny() {
    const uint32_t first = random.Below(kPipeCount);
    for (uint32_t i = 0; i < kPipeCount; ++i) {
      if (StepPipe((first + i) % kPipeCount)) return true;
    }
    return false;
  }

  bool StepPipe(uint32_t pipe) {
    std::deque<Step>& queue = queues_[pipe];
    if (queue.empty()) return false;
    switch (queue.front().what) {
      case Step::kWait:
        if (flags_[queue.front().kind][queue.front().id] == 0) return false;
        --flags_[queue.front().kind][queue.front().id];
        break;
      case Step::kSet:
        ++flags_[queue.front().kind][queue.front().id];
        break;
      case Step::kBarrier:
        break;
      case Step::kRun:
        RunOneOf(&queue, pipe == kPipeV && in_order_v);
        return true;
    }
    queue.pop_front();
    return true;
  }

  void RunOneOf(std::deque<Step>* queue, bool in_order) {
    constexpr size_t kWindow = 8;
    size_t overlapping = 1;
    while (!in_order && overlapping < kWindow && overlapping < queue->size() &&
           (*queue)[overlapping].what == Step::kRun) {
      ++overlapping;
    }
    const size_t chosen = random.Below(static_cast<uint32_t>(overlapping));
    std::function<void()> work = std::move((*queue)[chosen].work);
    queue->erase(queue->begin() + static_cast<std::ptrdiff_t>(chosen));
    work();
  }

  std::deque<Step> queues_[kPipeCount];
  int flags_[kEventKinds][kEventIds] = {};
};

}  // namespace twin

#endif  // TWIN_MODEL_SCHEDULE_H_
