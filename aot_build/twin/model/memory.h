// SPDX-License-Identifier: Apache-2.0
// Checked accesses of the running core to UB, and the scalar pipe's way to UB and GM.
#ifndef TWIN_MODEL_MEMORY_H_
#define TWIN_MODEL_MEMORY_H_

#include <cstdint>

#include "model/core.h"
#include "model/gm.h"

namespace twin {

// Reports what ShadowRead or ShadowWrite found; out of line, so that the checks stay small.
void ReportHazard(const char* api, const char* operand, uint32_t address, const Hazard& hazard);
void ReportUninitialised(const char* api, const char* operand, uint32_t address);

// One access to (part of) one 32-byte block.
inline void TouchBlock(const char* api, const char* operand, uint32_t block, uint32_t bytes,
                       bool write, const Stamp& stamp) {
  Block* shadow = &g_core->shadow[block];
  Hazard hazard;
  if (write) {
    hazard = ShadowWrite(shadow, bytes, stamp);
  } else {
    if ((shadow->filled & bytes) != bytes) {
      ReportUninitialised(api, operand, block * kBlockBytes);
    }
    hazard = ShadowRead(shadow, bytes, stamp);
  }
  if (hazard.found) ReportHazard(api, operand, block * kBlockBytes, hazard);
}

// A contiguous range of UB. The caller has checked the bounds.
inline void TouchRange(const char* api, const char* operand, uint32_t address, uint32_t bytes,
                       bool write, const Stamp& stamp) {
  const uint32_t end = address + bytes;
  for (uint32_t at = address; at < end;) {
    const uint32_t block = at / kBlockBytes;
    const uint32_t next = (block + 1) * kBlockBytes;
    const uint32_t stop = next < end ? next : end;
    TouchBlock(api, operand, block, ByteMask(at - block * kBlockBytes, stop - block * kBlockBytes),
               write, stamp);
    at = stop;
  }
}

// False (and a fault) when [address, address + bytes) does not lie in the `left` bytes that the
// LocalTensor still has, so that the access must not be executed.
bool InTensor(const char* api, const char* operand, uint32_t address, uint64_t bytes,
              uint32_t left);

// GetValue and SetValue of a LocalTensor.
void ScalarUb(const char* api, uint32_t address, uint32_t bytes, uint32_t left, bool write,
              void* value);

// GetValue of a GlobalTensor, through the core's data cache.
void ScalarGmRead(const GmPlace& place, uint32_t bytes, uint64_t limit, void* value);

}  // namespace twin

#endif  // TWIN_MODEL_MEMORY_H_
