// SPDX-License-Identifier: Apache-2.0
#include "ascendc/lanes.h"

#include <algorithm>

namespace twin {
namespace {

bool CheckRepeats(const char* api, uint64_t repeats) {
  if (repeats <= kMaxRepeats) return true;
  Report(Fault::kRepeatLimit, api, "repeatTime", "%llu, at most %u",
         static_cast<unsigned long long>(repeats), kMaxRepeats);
  return false;
}

void SetBits(uint32_t per_repeat, const uint64_t mask[2], uint64_t repeats, Lanes* lanes) {
  lanes->per_repeat = per_repeat;
  lanes->repeats = static_cast<uint32_t>(repeats);
  lanes->mask[0] = mask[0];
  lanes->mask[1] = mask[1];
  const auto bit = [mask](uint32_t lane) { return (mask[lane / 64] >> (lane % 64) & 1) != 0; };
  uint32_t active = 0, ones = 0;
  while (active < per_repeat && bit(active)) ++active;
  for (uint32_t lane = 0; lane < per_repeat; ++lane) ones += bit(lane);
  lanes->prefix = ones == active;
  lanes->active = lanes->tail = active;
}

}  // namespace

bool LanesOfCount(const char* api, uint32_t lane_bytes, int64_t count, Lanes* lanes) {
  if (count == 0) return false;
  if (count < 0 || count * lane_bytes > kUbBytes) {
    Report(Fault::kCountLimit, api, "count", "%lld", static_cast<long long>(count));
    return false;
  }
  const int64_t per_repeat = kRepeatBytes / lane_bytes;
  lanes->per_repeat = lanes->active = static_cast<uint32_t>(per_repeat);
  lanes->prefix = true;
  lanes->repeats = static_cast<uint32_t>((count + per_repeat - 1) / per_repeat);
  lanes->tail = static_cast<uint32_t>(count - (lanes->repeats - 1) * per_repeat);
  return true;
}

bool LanesOfPrefix(const char* api, uint32_t lane_bytes, uint64_t mask, uint64_t repeats,
                   Lanes* lanes) {
  const uint32_t per_repeat = kRepeatBytes / lane_bytes;
  if (mask == 0 || mask > per_repeat) {
    Report(Fault::kMaskLimit, api, "mask", "%llu, 1 to %u", static_cast<unsigned long long>(mask),
           per_repeat);
    return false;
  }
  const auto ones = [](uint64_t n) { return n >= 64 ? ~0ull : (1ull << n) - 1; };
  const uint64_t bits[2] = {ones(mask), mask > 64 ? ones(mask - 64) : 0};
  if (!CheckRepeats(api, repeats)) return false;
  SetBits(per_repeat, bits, repeats, lanes);
  return repeats != 0;
}

bool LanesOfPattern(const char* api, uint32_t lane_bytes, const uint64_t mask[], uint64_t repeats,
                    Lanes* lanes) {
  const uint32_t per_repeat = kRepeatBytes / lane_bytes;
  const uint64_t bits[2] = {mask[0], mask[1]};
  if ((bits[0] | bits[1]) == 0 || (per_repeat <= 64 && bits[1] != 0)) {
    Report(Fault::kMaskLimit, api, "mask", "bits %llx %llx",
           static_cast<unsigned long long>(bits[1]), static_cast<unsigned long long>(bits[0]));
    return false;
  }
  if (!CheckRepeats(api, repeats)) return false;
  SetBits(per_repeat, bits, repeats, lanes);
  return repeats != 0;
}

namespace {

// Bytes of block `b` of a repeat that the active lanes cover.
uint32_t BlockBytesOf(const View& view, const Lanes& lanes, uint32_t repeat, uint32_t b) {
  const uint32_t per_block = view.PerBlock();
  if (lanes.prefix) {
    const uint32_t active = lanes.Active(repeat);
    const uint32_t first = b * per_block;
    if (active <= first) return 0;
    return ByteMask(0, std::min(per_block, active - first) * view.size);
  }
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < per_block; ++i) {
    if (lanes.Lane(repeat, b * per_block + i))
      bytes |= ByteMask(i * view.size, (i + 1) * view.size);
  }
  return bytes;
}

uint32_t LastLane(const Lanes& lanes, uint32_t active) {
  if (lanes.prefix) return active - 1;
  return lanes.mask[1] != 0 ? 127 - static_cast<uint32_t>(__builtin_clzll(lanes.mask[1]))
                            : 63 - static_cast<uint32_t>(__builtin_clzll(lanes.mask[0]));
}

// One behind the last byte that the active lanes of a repeat touch, relative to the view.
uint64_t RepeatEnd(const View& view, const Lanes& lanes, uint32_t repeat) {
  const uint32_t last = LastLane(lanes, lanes.Active(repeat));
  const uint32_t lane = view.block_stride == 0 ? std::min(last, view.PerBlock() - 1) : last;
  return view.At(repeat, lane) + view.size - view.address;
}

uint64_t Extent(const View& view, const Lanes& lanes) {
  const uint64_t end = RepeatEnd(view, lanes, lanes.repeats - 1);
  return lanes.repeats > 1 ? std::max(end, RepeatEnd(view, lanes, lanes.repeats - 2)) : end;
}

// The repeats of a destination must not overlap, be it because a stride of more than 255 blocks was
// cut to 8 bits. A repeat stride of 0 (an accumulator) is the one exception.
bool CheckRepeatsApart(const char* api, const View& view, const Lanes& lanes) {
  if (lanes.repeats < 2 || view.repeat_stride == 0) return true;
  const uint64_t extent = RepeatEnd(view, lanes, 0);
  const uint32_t last_block = static_cast<uint32_t>((extent - 1) / kBlockBytes);
  for (uint32_t b = 0; b <= last_block; b += view.block_stride) {
    const uint32_t blocks_ahead = last_block - b;
    const bool meets =
        view.repeat_stride <= blocks_ahead && view.repeat_stride % view.block_stride == 0;
    if (!meets) continue;
    Report(Fault::kStrideLimit, api, view.name, "repeats %u blocks apart overlap",
           view.repeat_stride);
    return false;
  }
  return true;
}

// True when no 32-byte block belongs to both operands.
bool Apart(const View& a, const View& b, const Lanes& lanes) {
  std::vector<bool> taken(kUbBytes / kBlockBytes);
  for (const View* view : {&a, &b}) {
    const uint32_t blocks = lanes.per_repeat / view->PerBlock();
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
      for (uint32_t i = 0; i < blocks; ++i) {
        if (BlockBytesOf(*view, lanes, r, i) == 0) continue;
        const uint32_t block =
            view->address / kBlockBytes + r * view->repeat_stride + i * view->block_stride;
        if (view == &a) {
          taken[block] = true;
        } else if (taken[block]) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

bool TouchView(const char* api, const View& view, const Lanes& lanes, bool write,
               const Stamp& stamp) {
  if (view.address % kBlockBytes != 0) {
    Report(Fault::kUbUnaligned, api, view.name, "%s", g_core->Describe(view.address).c_str());
    return false;
  }
  if (write && view.block_stride == 0) {
    Report(Fault::kStrideLimit, api, view.name, "a block stride of 0 is undefined");
    return false;
  }
  if (!InTensor(api, view.name, view.address, Extent(view, lanes), view.left)) return false;
  if (write && !CheckRepeatsApart(api, view, lanes)) return false;
  if (!g_core->checks) return true;
  if (lanes.prefix && lanes.active == lanes.per_repeat && view.Dense(lanes)) {
    const uint32_t count = (lanes.repeats - 1) * lanes.per_repeat + lanes.tail;
    TouchRange(api, view.name, view.address, count * view.size, write, stamp);
    return true;
  }
  const uint32_t blocks = lanes.per_repeat / view.PerBlock();
  for (uint32_t b = 0; b < blocks; ++b) {
    const uint32_t bytes = BlockBytesOf(view, lanes, 0, b);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
      const bool last = r + 1 == lanes.repeats;
      const uint32_t touched = last ? BlockBytesOf(view, lanes, r, b) : bytes;
      if (touched == 0) continue;
      const uint32_t block =
          view.address / kBlockBytes + r * view.repeat_stride + b * view.block_stride;
      TouchBlock(api, view.name, block, touched, write, stamp);
    }
  }
  return true;
}

bool CheckOverlap(const char* api, const View& dst, const View& src, const Lanes& lanes,
                  bool accumulates) {
  if (!g_core->checks) return true;
  const uint64_t dst_end = dst.address + Extent(dst, lanes);
  const uint64_t src_end = src.address + Extent(src, lanes);
  if (dst_end <= src.address || src_end <= dst.address) return true;
  const bool same = dst.address == src.address && dst.size == src.size &&
                    dst.block_stride == src.block_stride &&
                    (dst.repeat_stride == src.repeat_stride || lanes.repeats == 1);
  if (same && (lanes.repeats == 1 || dst.repeat_stride != 0 || accumulates)) return true;
  if (!same && Apart(dst, src, lanes)) return true;
  Report(Fault::kUbOverlap, api, src.name, "it overlaps %s partly", dst.name);
  return false;
}

bool CheckApart(const char* api, uint32_t address, uint64_t bytes, const View& src,
                const Lanes& lanes) {
  const uint64_t src_end = src.address + Extent(src, lanes);
  if (!g_core->checks || address + bytes <= src.address || src_end <= address) return true;
  Report(Fault::kUbOverlap, api, src.name, "it overlaps dst at %s",
         g_core->Describe(address).c_str());
  return false;
}

}  // namespace twin
