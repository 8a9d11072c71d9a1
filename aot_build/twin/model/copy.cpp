// SPDX-License-Identifier: Apache-2.0
#include "model/copy.h"

#include <cstring>

#include "ascendc/lanes.h"
#include "ascendc/types.h"
#include "model/core.h"
#include "model/memory.h"

namespace twin {
namespace {

constexpr uint32_t kMaxBlockCount = 4095;
constexpr uint32_t kMaxBlockBytes = 2097151;
constexpr uint32_t kMaxPaddingBytes = 32;
constexpr int kVecCalc = static_cast<int>(AscendC::TPosition::VECCALC);

uint32_t RoundUp(uint32_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

// Bytes that a block takes in UB.
uint32_t UbBytes(const Blocks& blocks, uint32_t element, const Padding& padding) {
  return RoundUp(blocks.bytes + (padding.left + padding.right) * element);
}

bool CheckBlocks(const char* api, const Blocks& blocks, uint32_t element) {
  if (blocks.count > kMaxBlockCount) {
    Report(Fault::kDataCopyLimit, api, "blockCount", "%u, at most %u", blocks.count,
           kMaxBlockCount);
    return false;
  }
  if (blocks.bytes > kMaxBlockBytes) {
    Report(Fault::kDataCopyLimit, api, "blockLen", "%u bytes, at most %u", blocks.bytes,
           kMaxBlockBytes);
    return false;
  }
  if (blocks.bytes % element != 0) {
    Report(Fault::kDataCopyLimit, api, "blockLen", "%u bytes are no multiple of an element",
           blocks.bytes);
    return false;
  }
  return blocks.count != 0 && blocks.bytes != 0;
}

bool CheckUb(const char* api, const char* operand, const UbPlace& place, uint64_t extent) {
  if (place.position == kVecCalc || place.position == 0) {
    Report(Fault::kBufferPosition, api, operand, "GM moves to and from VECIN and VECOUT only");
  }
  if (place.address % kBlockBytes != 0) {
    Report(Fault::kUbUnaligned, api, operand, "%s", g_core->Describe(place.address).c_str());
    return false;
  }
  return InTensor(api, operand, place.address, extent, place.left);
}

// DataCopy wants GM addresses aligned to an element; DataCopyPad takes any byte.
bool TouchGmBlocks(const char* api, const Stamp& stamp, const GmWindow& window,
                   const Blocks& blocks, uint32_t gm_align, bool write) {
  if (window.place.offset % gm_align != 0) {
    Report(Fault::kGmUnaligned, api, write ? "dst" : "src", "byte %llu, elements of %u",
           static_cast<unsigned long long>(window.place.offset), gm_align);
  }
  GmPlace place = window.place;
  for (uint32_t b = 0; b < blocks.count; ++b) {
    if (!TouchGm(api, stamp, place, blocks.bytes, write, window.limit)) return false;
    place.offset += uint64_t{blocks.bytes} + blocks.gm_gap;
  }
  PhaseCounters& counters = g_core->counters.Now();
  (write ? counters.bytes_out : counters.bytes_in) += uint64_t{blocks.count} * blocks.bytes;
  ++counters.copies;
  return true;
}

// The bytes of one block in UB with its padding. What is not certain becomes NaN.
void WritePadded(uint8_t* ub, const uint8_t* gm, const Blocks& blocks, uint32_t element,
                 const Padding& padding, uint32_t ub_bytes) {
  const uint32_t left = padding.left * element;
  const uint8_t* fill = padding.Asked() ? padding.value : gm;
  if (padding.Random()) {
    std::memset(ub, 0xFF, ub_bytes);
  } else {
    for (uint32_t at = 0; at < left; at += element) std::memcpy(ub + at, fill, element);
    for (uint32_t at = left + blocks.bytes; at < ub_bytes; at += element) {
      std::memcpy(ub + at, fill, element);
    }
  }
  std::memcpy(ub + left, gm, blocks.bytes);
}

bool CheckPadding(const char* api, uint32_t element, const Padding& padding) {
  if (padding.left * element > kMaxPaddingBytes || padding.right * element > kMaxPaddingBytes) {
    Report(Fault::kDataCopyLimit, api, "padding", "%u and %u elements, at most 32 bytes each",
           padding.left, padding.right);
    return false;
  }
  bool zero = true;
  for (uint8_t byte : padding.value) zero = zero && byte == 0;
  if (element == 8 && !zero) {
    Report(Fault::kDataCopyLimit, api, "paddingValue", "64-bit data can be padded with %d only", 0);
    return false;
  }
  return true;
}

}  // namespace

uint32_t WholeBlocks(const char* api, uint64_t bytes) {
  const uint64_t whole = bytes / kBlockBytes * kBlockBytes;
  if (whole != bytes) {
    Report(Fault::kDataCopyRounding, api, "count", "%llu bytes, %llu are copied",
           static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(whole));
  }
  return static_cast<uint32_t>(whole);
}

void CopyIn(const char* api, const UbPlace& dst, const GmWindow& src, uint32_t element,
            uint32_t gm_align, const Blocks& blocks, const Padding& padding) {
  if (!CheckBlocks(api, blocks, element)) return;
  if (!CheckPadding(api, element, padding)) return;
  const uint32_t ub_bytes = UbBytes(blocks, element, padding);
  const uint64_t pitch = ub_bytes + uint64_t{blocks.ub_gap} * kBlockBytes;
  if (!CheckUb(api, "dst", dst, (blocks.count - 1) * pitch + ub_bytes)) return;
  const Stamp stamp = g_core->clocks.Issue(kPipeMte2);
  if (!TouchGmBlocks(api, stamp, src, blocks, gm_align, false)) return;
  if (g_core->checks) {
    for (uint32_t b = 0; b < blocks.count; ++b) {
      const uint32_t at = dst.address + static_cast<uint32_t>(b * pitch);
      TouchRange(api, "dst", at, ub_bytes, true, stamp);
      if (!padding.Random()) continue;
      g_core->ForgetContents(at, at + ub_bytes);
      TouchRange(api, "dst", at + padding.left * element, blocks.bytes, true, stamp);
    }
  }
  uint8_t* ub = g_core->ub + dst.address;
  const uint8_t* gm = src.place.tensor->base + src.place.offset;
  Execute(kPipeMte2, [=] {
    for (uint32_t b = 0; b < blocks.count; ++b) {
      WritePadded(ub + b * pitch, gm + b * (uint64_t{blocks.bytes} + blocks.gm_gap), blocks,
                  element, padding, ub_bytes);
    }
  });
}

void CopyOut(const char* api, const GmWindow& dst, const UbPlace& src, uint32_t element,
             uint32_t gm_align, const Blocks& blocks) {
  if (!CheckBlocks(api, blocks, element)) return;
  const uint32_t ub_bytes = RoundUp(blocks.bytes);
  const uint64_t pitch = ub_bytes + uint64_t{blocks.ub_gap} * kBlockBytes;
  if (!CheckUb(api, "src", src, (blocks.count - 1) * pitch + blocks.bytes)) return;
  const Stamp stamp = g_core->clocks.Issue(kPipeMte3);
  if (!TouchGmBlocks(api, stamp, dst, blocks, gm_align, true)) return;
  if (g_core->checks) {
    for (uint32_t b = 0; b < blocks.count; ++b) {
      TouchRange(api, "src", src.address + static_cast<uint32_t>(b * pitch), blocks.bytes, false,
                 stamp);
    }
  }
  const uint8_t* ub = g_core->ub + src.address;
  uint8_t* gm = dst.place.tensor->base + dst.place.offset;
  Execute(kPipeMte3, [=] {
    for (uint32_t b = 0; b < blocks.count; ++b) {
      std::memcpy(gm + b * (uint64_t{blocks.bytes} + blocks.gm_gap), ub + b * pitch, blocks.bytes);
    }
  });
}

}  // namespace twin
