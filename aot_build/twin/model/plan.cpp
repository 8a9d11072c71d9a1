// SPDX-License-Identifier: Apache-2.0
#include "model/plan.h"

#include "model/core.h"

namespace twin {
namespace {

// Free buffers still carry the flag of their last consumer; no wait for it will follow.
void CollectFreeFlags() {
  for (Buffer& buffer : g_core->buffers) {
    if (buffer.free_id < 0 || buffer.state != Buffer::kFree) continue;
    WaitFlagOf(buffer.free_kind, buffer.free_id);
    buffer.free_id = -1;
  }
}

void DropPlan() {
  ++g_core->plan;
  g_core->buffers.clear();
  g_core->planned_bytes = 0;
  g_core->events.ResetPool();
  g_core->ForgetContents(0, kUbBytes);
}

}  // namespace

void StartPlan(void* pipe) {
  g_core->pipe = pipe;
  DropPlan();
}

void ResetPlan(const char* api) {
  CollectFreeFlags();
  for (const Buffer& buffer : g_core->buffers) {
    if (buffer.queue && buffer.state != Buffer::kFree) {
      Report(Fault::kQueueLeak, api, "TQue", "%s", g_core->Describe(buffer.address).c_str());
    }
  }
  DropPlan();
}

void DestroyPlan() {
  if (g_machine.aborted || g_core->unwinding) return;
  CollectFreeFlags();
  BarrierAll();
}

int PlanBuffer(uint32_t bytes, int position, bool queue) {
  const uint64_t rounded =
      (static_cast<uint64_t>(bytes) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  if (bytes == 0) Report(Fault::kBufferRule, "InitBuffer", "length", "0 bytes");
  if (g_core->planned_bytes + rounded > static_cast<uint64_t>(g_machine.options.ub_limit)) {
    Report(Fault::kUbCapacity, "InitBuffer", "UB", "%llu bytes planned, %lld usable",
           static_cast<unsigned long long>(g_core->planned_bytes + rounded),
           static_cast<long long>(g_machine.options.ub_limit));
    if (g_core->planned_bytes + rounded > kUbBytes) {
      ReportFatal(Fault::kUbCapacity, "InitBuffer", "physical UB");
    }
  }
  if (g_core->buffers.size() >= kMaxBuffers) {
    Report(Fault::kBufferRule, "InitBuffer", "count", "more than %d buffers", kMaxBuffers);
  }
  Buffer buffer;
  buffer.address = g_core->planned_bytes;
  buffer.bytes = static_cast<uint32_t>(rounded);
  buffer.position = position;
  buffer.queue = queue;
  g_core->planned_bytes += buffer.bytes;
  if (g_core->planned_bytes > g_core->peak_bytes) g_core->peak_bytes = g_core->planned_bytes;
  g_core->buffers.push_back(buffer);
  return static_cast<int>(g_core->buffers.size()) - 1;
}

void PlanQueue(QueueState* queue, int count, uint32_t bytes, int position) {
  if (count < 1) ReportFatal(Fault::kBufferRule, "InitBuffer", "a queue without buffers");
  queue->count = count;
  queue->cursor = 0;
  queue->queued = 0;
  queue->first = static_cast<int>(g_core->buffers.size());
  for (int i = 0; i < count; ++i) PlanBuffer(bytes, position, true);
  int same_position = 0;
  for (const Buffer& buffer : g_core->buffers) {
    same_position += buffer.queue && buffer.position == position;
  }
  if (same_position > kMaxBuffersPerPosition) {
    Report(Fault::kBufferRule, "InitBuffer", "TPosition", "%d queue buffers, at most %d",
           same_position, kMaxBuffersPerPosition);
  }
}

bool QueueState::Owns(const char* api, int buffer) const {
  if (buffer >= first && buffer < first + count) return true;
  Report(Fault::kQueueMisuse, api, "tensor", "it belongs to another queue");
  return false;
}

int QueueState::Alloc(int free_kind) {
  if (count == 0) ReportFatal(Fault::kQueueMisuse, "AllocTensor", "a queue without InitBuffer");
  for (int tried = 0; tried < count; ++tried) {
    const int index = first + cursor;
    cursor = (cursor + 1) % count;
    Buffer& buffer = g_core->buffers[index];
    if (buffer.state != Buffer::kFree) continue;
    buffer.state = Buffer::kOccupied;
    if (buffer.free_id >= 0) {
      WaitFlagOf(free_kind, buffer.free_id);
      g_core->events.Release(free_kind, buffer.free_id);
      buffer.free_id = -1;
    }
    g_core->ForgetContents(buffer.address, buffer.address + buffer.bytes);
    return index;
  }
  ReportFatal(Fault::kQueueDeadlock, "AllocTensor", "no buffer of the queue is free");
}

void QueueState::Free(int index, int free_kind) {
  if (!Owns("FreeTensor", index)) return;
  Buffer& buffer = g_core->buffers[index];
  if (buffer.state == Buffer::kFree || buffer.state == Buffer::kQueued) {
    Report(Fault::kQueueMisuse, "FreeTensor", "tensor", "it is %s",
           buffer.state == Buffer::kFree ? "free already" : "still in the queue");
    return;
  }
  buffer.free_id = g_core->events.Alloc(free_kind);
  buffer.free_kind = free_kind;
  SetFlagOf(free_kind, buffer.free_id);
  buffer.state = Buffer::kFree;
}

void QueueState::EnQue(int index, int kind) {
  if (!Owns("EnQue", index)) return;
  Buffer& buffer = g_core->buffers[index];
  if (buffer.state != Buffer::kOccupied && buffer.state != Buffer::kDequeued) {
    Report(Fault::kQueueMisuse, "EnQue", "tensor", "it is %s",
           buffer.state == Buffer::kFree ? "free" : "in the queue already");
    return;
  }
  buffer.state = Buffer::kQueued;
  if (queued >= depth || queued >= kMaxQueueDepth) {
    ReportFatal(Fault::kQueueDeadlock, "EnQue", "more tensors than the queue's depth");
  }
  buffer.enque_id = g_core->events.Alloc(kind);
  SetFlagOf(kind, buffer.enque_id);
  waiting[queued++] = index;
}

int QueueState::DeQue(int kind) {
  if (queued == 0) ReportFatal(Fault::kQueueDeadlock, "DeQue", "the queue is empty");
  const int index = waiting[0];
  --queued;
  for (int i = 0; i < queued; ++i) waiting[i] = waiting[i + 1];
  Buffer& buffer = g_core->buffers[index];
  WaitFlagOf(kind, buffer.enque_id);
  g_core->events.Release(kind, buffer.enque_id);
  buffer.enque_id = -1;
  buffer.state = Buffer::kDequeued;
  return index;
}

void CheckWindow(int buffer, uint64_t bytes) {
  if (buffer < 0 || buffer >= static_cast<int>(g_core->buffers.size())) {
    ReportFatal(Fault::kBufferRule, "TBuf::Get", "a TBuf without InitBuffer");
  }
  if (bytes > g_core->buffers[buffer].bytes) {
    Report(Fault::kUbOutOfRange, "TBuf::Get", "window", "%llu bytes of a buffer of %u",
           static_cast<unsigned long long>(bytes), g_core->buffers[buffer].bytes);
  }
}

void ReportStale(int buffer, int plan) {
  if (plan != g_core->plan) {
    Report(Fault::kStaleTensor, "LocalTensor", "plan", "%s",
           plan == 0 ? "it was never allocated" : "UB was planned anew since");
    return;
  }
  const Buffer& found = g_core->buffers[buffer];
  Report(Fault::kStaleTensor, "LocalTensor", "buffer", "it is %s: %s",
         found.state == Buffer::kFree ? "free" : "in the queue",
         g_core->Describe(found.address).c_str());
}

}  // namespace twin
