// SPDX-License-Identifier: Apache-2.0
// Event flags between two pipes, and the pool of event ids that TPipe hands out.
//
// Checked in program order: a flag must be clear when it is set and set when it is waited for. That
// is stricter than the hardware, where a wait may be dispatched before its set.
#ifndef TWIN_MODEL_EVENTS_H_
#define TWIN_MODEL_EVENTS_H_

#include <cstdint>

#include "model/clock.h"
#include "model/fault.h"

namespace twin {

constexpr int kEventKinds = 13;  // the pairs of pipes that a vector core of Atlas A2 has
constexpr int kEventIds = 8;
constexpr int kFirstReservedId = 6;

struct EventPair {
  const char* name;
  Pipe source;
  Pipe target;
};

constexpr EventPair kEventPairs[kEventKinds] = {
    {"MTE2_V", kPipeMte2, kPipeV},
    {"V_MTE2", kPipeV, kPipeMte2},
    {"MTE3_V", kPipeMte3, kPipeV},
    {"V_MTE3", kPipeV, kPipeMte3},
    {"V_V", kPipeV, kPipeV},
    {"MTE3_MTE2", kPipeMte3, kPipeMte2},
    {"MTE2_MTE3", kPipeMte2, kPipeMte3},
    {"S_V", kPipeS, kPipeV},
    {"V_S", kPipeV, kPipeS},
    {"S_MTE2", kPipeS, kPipeMte2},
    {"MTE2_S", kPipeMte2, kPipeS},
    {"S_MTE3", kPipeS, kPipeMte3},
    {"MTE3_S", kPipeMte3, kPipeS},
};

class Events {
 public:
  // Both return false when the id is unusable, so that the caller skips the flag.
  bool Set(int kind, int id, const Clocks& clocks) {
    if (!CheckId("SetFlag", kind, id)) return false;
    Flag& flag = flags_[kind][id];
    if (flag.set) Report(Fault::kEventDoubleSet, "SetFlag", kEventPairs[kind].name, "id %d", id);
    flag.set = true;
    flag.clock = clocks.Publish(kEventPairs[kind].source);
    return true;
  }

  bool Wait(int kind, int id, Clocks* clocks) {
    if (!CheckId("WaitFlag", kind, id)) return false;
    Flag& flag = flags_[kind][id];
    if (!flag.set) {
      Report(Fault::kEventWaitUnset, "WaitFlag", kEventPairs[kind].name, "id %d", id);
      return false;
    }
    flag.set = false;
    clocks->Join(kEventPairs[kind].target, flag.clock);
    return true;
  }

  int Alloc(int kind) {
    const int id = Fetch(kind);
    occupied_[kind] |= static_cast<uint8_t>(1u << id);
    return id;
  }

  // The first free id, without taking it: legal for a set and a wait right after each other.
  int Fetch(int kind) {
    for (int id = 0; id < kEventIds; ++id) {
      if ((occupied_[kind] >> id & 1) == 0) return id;
    }
    ReportFatal(Fault::kEventExhausted, "AllocEventID", kEventPairs[kind].name);
  }

  void Release(int kind, int id) {
    if (id < 0 || id >= kEventIds || (occupied_[kind] >> id & 1) == 0) {
      Report(Fault::kEventReserved, "ReleaseEventID", kEventPairs[kind].name, "id %d not held", id);
      return;
    }
    occupied_[kind] &= static_cast<uint8_t>(~(1u << id));
  }

  void ResetPool() {
    for (auto& ids : occupied_) ids = 0;
  }

  void ReportLeftovers() const {
    for (int kind = 0; kind < kEventKinds; ++kind) {
      for (int id = 0; id < kEventIds; ++id) {
        if (!flags_[kind][id].set) continue;
        Report(Fault::kEventLeftover, "end of kernel", kEventPairs[kind].name, "id %d", id);
      }
    }
  }

 private:
  struct Flag {
    bool set = false;
    VectorClock clock;
  };

  // Ids 6 and 7 belong to the framework: only the pool may hand them out.
  bool CheckId(const char* api, int kind, int id) const {
    const bool in_range = id >= 0 && id < kEventIds;
    const bool held = in_range && (occupied_[kind] >> id & 1) != 0;
    if (!in_range || (id >= kFirstReservedId && !held)) {
      Report(Fault::kEventReserved, api, kEventPairs[kind].name, "id %d", id);
    }
    return in_range;
  }

  Flag flags_[kEventKinds][kEventIds];
  uint8_t occupied_[kEventKinds] = {};
};

}  // namespace twin

#endif  // TWIN_MODEL_EVENTS_H_
