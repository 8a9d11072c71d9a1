// SPDX-License-Identifier: Apache-2.0
// The work of DataCopy and DataCopyPad in bytes.
#ifndef TWIN_MODEL_COPY_H_
#define TWIN_MODEL_COPY_H_

#include <cstdint>

#include "model/gm.h"

namespace twin {

struct UbPlace {
  uint32_t address;
  uint32_t left;
  int position;
};

struct GmWindow {
  GmPlace place;
  uint64_t limit;
};

// `count` blocks of `bytes`; gaps from the end of one to the start of the next: on the GM side in
// bytes, on the UB side in 32-byte blocks.
struct Blocks {
  uint32_t count;
  uint32_t bytes;
  uint32_t gm_gap;
  uint32_t ub_gap;
};

// What DataCopyPad writes around a block in UB, up to the next multiple of 32 bytes. Nothing asked
// for on either side: the block's first element. Otherwise `value` if enabled, else nothing
// certain.
struct Padding {
  bool enabled = false;
  uint8_t left = 0, right = 0;  // elements
  uint8_t value[8] = {};

  bool Asked() const { return left != 0 || right != 0; }
  bool Random() const { return Asked() && !enabled; }
};

// DataCopy's count of bytes, rounded down to 32 as the hardware does, with a fault if that loses
// some.
uint32_t WholeBlocks(const char* api, uint64_t bytes);

// `gm_align`: what GM addresses are multiples of, in bytes.
void CopyIn(const char* api, const UbPlace& dst, const GmWindow& src, uint32_t element,
            uint32_t gm_align, const Blocks& blocks, const Padding& padding);
void CopyOut(const char* api, const GmWindow& dst, const UbPlace& src, uint32_t element,
             uint32_t gm_align, const Blocks& blocks);
}  // namespace twin

#endif  // TWIN_MODEL_COPY_H_
