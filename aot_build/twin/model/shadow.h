// SPDX-License-Identifier: Apache-2.0
// Shadow of the unified buffer: per 32-byte block which bytes hold data, and who touched it last.
//
// One block of UB has one 32-byte record. Bytes are exact for "was it written" (one bit a byte);
// hazards are kept per 4-byte word, with one clock per pipe and block.
#ifndef TWIN_MODEL_SHADOW_H_
#define TWIN_MODEL_SHADOW_H_

#include <cstdint>

#include "model/clock.h"
#include "model/fault.h"

namespace twin {

constexpr uint32_t kBlockBytes = 32;
constexpr uint32_t kAllBytes = 0xFFFFFFFFu;

struct Block {
  uint32_t filled = 0;  // bit per byte: written since the buffer was planned or allocated
  Clock write_clock = 0;
  uint8_t write_pipe = 0;
  uint8_t write_words = 0;  // all that the last writer's pipe wrote: what other pipes must wait for
  uint8_t fresh_words = 0;  // of these, what no barrier inside that pipe has ordered yet
  uint8_t read_words[kPipeCount] = {};
  // Words that an earlier, unordered instruction of the last reader's pipe has read as well: an
  // instruction that reads and writes a block must not hide them.
  uint8_t earlier_reads = 0;
  Clock read_clock[kPipeCount] = {};
};
static_assert(sizeof(Block) == kBlockBytes, "a block and its shadow have the same size");

// Bytes [begin, end) of a block as a bit mask.
inline uint32_t ByteMask(uint32_t begin, uint32_t end) {
  const uint32_t below_end = end >= kBlockBytes ? kAllBytes : (1u << end) - 1u;
  return below_end & ~((1u << begin) - 1u);
}

inline uint8_t WordMask(uint32_t bytes) {
  if (bytes == kAllBytes) return 0xFF;
  uint8_t words = 0;
  for (int w = 0; w < 8; ++w) words |= static_cast<uint8_t>(((bytes >> (4 * w)) & 0xFu) != 0) << w;
  return words;
}

struct Hazard {
  bool found = false;
  Fault fault = Fault::kHazardRaw;
  Pipe other = kPipeS;
};

// A block has one clock for the last write and one for each pipe's last read. Words of an older
// access keep the new clock, which is strict; where it would be wrong (instructions of one pipe
// that a barrier has ordered) they are dropped.
inline uint8_t Merge(uint8_t old_words, uint8_t words, bool drop_old) {
  return drop_old ? words : static_cast<uint8_t>(old_words | words);
}

// The words of the last write that matter to an instruction of `pipe`.
inline uint8_t WrittenWords(const Block& block, Pipe pipe) {
  return block.write_pipe == pipe ? block.fresh_words : block.write_words;
}

inline Hazard ShadowRead(Block* block, uint32_t bytes, const Stamp& stamp) {
  Hazard hazard;
  const uint8_t words = WordMask(bytes);
  if ((WrittenWords(*block, stamp.pipe) & words) != 0 &&
      block->write_clock > stamp.known.at[block->write_pipe]) {
    hazard = {true, Fault::kHazardRaw, static_cast<Pipe>(block->write_pipe)};
  }
  Clock* clock = &block->read_clock[stamp.pipe];
  uint8_t* read_words = &block->read_words[stamp.pipe];
  const bool ordered = *clock <= stamp.known.at[stamp.pipe];
  if (*clock != stamp.now) block->earlier_reads = ordered ? 0 : *read_words;
  *read_words = Merge(*read_words, words, ordered && stamp.pipe != kPipeS);
  *clock = stamp.now;
  return hazard;
}

inline Hazard ShadowWrite(Block* block, uint32_t bytes, const Stamp& stamp) {
  Hazard hazard;
  const uint8_t words = WordMask(bytes);
  const bool own_write = block->write_pipe == stamp.pipe && block->write_clock == stamp.now;
  if ((WrittenWords(*block, stamp.pipe) & words) != 0 && !own_write &&
      block->write_clock > stamp.known.at[block->write_pipe]) {
    hazard = {true, Fault::kHazardWaw, static_cast<Pipe>(block->write_pipe)};
  }
  for (int p = 0; p < kPipeCount; ++p) {
    if ((block->read_words[p] & words) == 0) continue;
    const bool own = p == stamp.pipe && block->read_clock[p] == stamp.now;
    if (own ? (block->earlier_reads & words) != 0 : block->read_clock[p] > stamp.known.at[p]) {
      hazard = {true, Fault::kHazardWar, static_cast<Pipe>(p)};
    }
    block->read_words[p] &= static_cast<uint8_t>(~words);
  }
  const bool same_pipe = block->write_pipe == stamp.pipe;
  const bool ordered = !own_write && block->write_clock <= stamp.known.at[block->write_pipe];
  block->fresh_words = Merge(block->fresh_words, words, ordered);
  block->write_words = Merge(block->write_words, words, ordered && !same_pipe);
  block->write_clock = stamp.now;
  block->write_pipe = stamp.pipe;
  block->filled |= bytes;
  return hazard;
}

}  // namespace twin

#endif  // TWIN_MODEL_SHADOW_H_
