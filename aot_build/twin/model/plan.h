// SPDX-License-Identifier: Apache-2.0
// The plan of UB: buffers laid out one behind the other, and the state machine of a queue.
#ifndef TWIN_MODEL_PLAN_H_
#define TWIN_MODEL_PLAN_H_

#include <cstdint>

#include "model/core.h"

namespace twin {

constexpr int kMaxQueueDepth = 8;

// A queue's buffers are buffers [first, first + count) of the core.
struct QueueState {
  int depth = 1;
  int first = -1;
  int count = 0;
  int cursor = 0;
  int waiting[kMaxQueueDepth] = {};
  int queued = 0;

  int Alloc(int free_kind);
  void Free(int buffer, int free_kind);
  void EnQue(int buffer, int kind);
  int DeQue(int kind);

 private:
  bool Owns(const char* api, int buffer) const;
};

void StartPlan(void* pipe);
void ResetPlan(const char* api);
void DestroyPlan();
int PlanBuffer(uint32_t bytes, int position, bool queue);
void PlanQueue(QueueState* queue, int count, uint32_t bytes, int position);

// Every use of a LocalTensor passes here: its plan must be the current one, and a queue's buffer
// must be in the kernel's hands.
void ReportStale(int buffer, int plan);
inline void CheckTensor(int buffer, int plan) {
  if (plan == g_core->plan) {
    const Buffer& found = g_core->buffers[buffer];
    if (!found.queue || found.state == Buffer::kOccupied || found.state == Buffer::kDequeued) {
      return;
    }
  }
  ReportStale(buffer, plan);
}

// A TBuf window of `bytes` must lie in its buffer.
void CheckWindow(int buffer, uint64_t bytes);

}  // namespace twin

#endif  // TWIN_MODEL_PLAN_H_
