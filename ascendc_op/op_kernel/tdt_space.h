// SPDX-License-Identifier: Apache-2.0
// What a sample of RnntTdtLattice keeps in the workspace between the phases.
//
//   part     layout                content
//   header   [HeaderBlock][8]      as in rnnt_workspace.h
//   carry    [alpha, beta][2][2]   with several strips only: T exponents, T mantissas of the lane
//                                  next to the following strip; strips take turns with the two
//   strips   exponents [K][2+D][W] of the arcs' p: blank, label, durations
//            mantissas [K][2+D][W]
//            alpha     [K][2][W]   exponent, mantissa
//            beta      [K+1][4][W] beta, exponent and mantissa; the same of the lane before
//
// A strip has W lanes, w = U - u, and the K = T + W - 1 diagonals on which they have cells. On the
// diagonal behind, beta has the cell (T, U), where a path ends, and the lane of the strip before.
// An arc's p is that of its token times that of its duration. Lanes that are no cell have arcs of
// probability 0.
#ifndef MINDSPORE_RNNT_TDT_SPACE_H_
#define MINDSPORE_RNNT_TDT_SPACE_H_

#include "rnnt_workspace.h"

namespace rnnt {

// The first two of a cell's arrays; durations follow.
enum TdtArray { kTdtBlank, kTdtLabel, kTdtDurations };

// The arcs that may leave a cell of a sample, blank arcs before label arcs.
struct TdtTerms {
  int32_t count, blanks;
  int32_t array[2 * kRnntTdtMaxDurations];   // of the arc's duration
  int32_t offset[2 * kRnntTdtMaxDurations];  // diagonals that it leads on

  RNNT_FN void List(const RnntDurations& durations, int64_t T) {
    count = 0;
    for (int32_t kind = 0; kind < 2; ++kind) {
      blanks = kind == 0 ? 0 : count;
      for (int32_t i = 0; i < durations.count; ++i) {
        const int32_t frames = durations.frames[i];
        if (frames > T || (kind == 0 && frames == 0)) continue;
        array[count] = kTdtDurations + i;
        offset[count++] = frames + kind;
      }
    }
  }

  // Whether no two arcs of a kind have the same offset.
  RNNT_FN bool AreDistinct() const {
    for (int32_t x = 0; x < count; ++x) {
      for (int32_t y = IsBlank(x) ? 0 : blanks; y < x; ++y) {
        if (offset[x] == offset[y]) return false;
      }
    }
    return true;
  }

  RNNT_FN bool IsBlank(int32_t x) const { return x < blanks; }
  RNNT_FN int32_t Token(int32_t x) const { return IsBlank(x) ? kTdtBlank : kTdtLabel; }
};

struct TdtStrip {
  int64_t first, lanes;                       // lanes [first, first + lanes)
  int64_t diagonal, count;                    // its diagonals [diagonal, diagonal + count)
  int64_t exponents, mantissas, alpha, beta;  // offsets in the workspace, in floats
};

class TdtSpace {
 public:
  RNNT_FN TdtSpace(const Sample& sample, int32_t durations)
      : sample_(sample), arrays_(RnntTdtArrays(durations)), durations_(durations) {}

  RNNT_FN int64_t strips() const {
    return (sample_.U1 + sample_.strip_lanes - 1) / sample_.strip_lanes;
  }

  // T exponents, with T mantissas behind them.
  RNNT_FN int64_t Carry(bool alpha, int64_t strip) const {
    return sample_.workspace + kRnntHeaderFloats + ((alpha ? 0 : 2) + (strip & 1)) * 2 * sample_.T;
  }

  // The strip with this lane.
  RNNT_FN TdtStrip StripOf(int64_t lane) const {
    const int64_t W = sample_.strip_lanes, s = lane / W;
    const int64_t carry = sample_.U1 > W ? 8 * sample_.T : 0;
    TdtStrip strip;
    strip.first = s * W;
    strip.lanes = RnntMin(W, sample_.U1 - strip.first);
    strip.diagonal = sample_.U1 - strip.first - strip.lanes;
    strip.count = sample_.T + strip.lanes - 1;
    const int64_t cells = strip.count * strip.lanes;
    strip.exponents = sample_.workspace + kRnntHeaderFloats + carry +
                      s * RnntTdtStripFloats(sample_.T, W, durations_);
    strip.mantissas = strip.exponents + cells * arrays_;
    strip.alpha = strip.mantissas + cells * arrays_;
    strip.beta = strip.alpha + 2 * cells;
    return strip;
  }

 private:
  Sample sample_;
  int32_t arrays_, durations_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_TDT_SPACE_H_
