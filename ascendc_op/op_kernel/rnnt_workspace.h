// SPDX-License-Identifier: Apache-2.0
// What a sample keeps in the workspace between the phases; RnntSampleFloats has the sizes.
//
//   part     layout                  content
//   header   [HeaderBlock][8]        what the lattice found
//   carry    [D][alpha 16, beta 16]  8 exponents, 8 mantissas: the lanes next to the following strip
//   cells    [strip] stats [D][6][W] row_max, log_sum; exponents, then mantissas, of both arcs' p
//                    alpha [D][2][W] alpha: exponent, mantissa
//                    arcs  [D][4][W] exponents, then mantissas, of both terms of beta's sum
//
// D diagonals, W lanes of a strip; blank arc before label arc; a carry only with several strips. A
// term of beta's sum is p of the arc times beta of the cell that the arc leads to, so that a
// posterior is alpha * arc / P: no lane has to be shifted to get it. Lanes that are no cell have
// arcs of probability 0 in the stats, and nothing elsewhere.
#ifndef MINDSPORE_RNNT_RNNT_WORKSPACE_H_
#define MINDSPORE_RNNT_RNNT_WORKSPACE_H_

#include "rnnt_batch.h"

namespace rnnt {

// The tensor of RnntRowStats, by column. Of input that holds log-probs already, row_max is 0, row_sum
// is 1 and the gaps are the log-probs.
enum Stat {
  kRowMax,
  kRowSum,    // sum of exp(x - row_max)
  kBlankGap,  // x[blank] - row_max
  kLabelGap,  // x[label] - row_max; -inf for a row without a label arc
  kStatCount
};

// What the workspace has in their place.
enum CellStat {
  kCellRowMax,
  kCellLogSum,
  kBlankExponent,
  kLabelExponent,
  kBlankMantissa,
  kLabelMantissa,
  kCellStats
};

enum HeaderBlock {
  kAlphaExponent,  // P from alpha, in the lane of (T, U)
  kAlphaLogMantissa,
  kBetaExponent,  // P from beta, in the lane of (0, 0)
  kBetaLogMantissa,
  kBadLabels,    // lane 0 > 0: a label outside [0, V)
  kBlankLabels,  // lane 0 > 0: a label that is blank
  kHeaderBlocks
};

struct Strip {
  int64_t first, lanes;        // lanes [first, first + lanes) of every diagonal
  int64_t stats, alpha, arcs;  // offsets in the workspace, in floats
};

class SampleSpace {
 public:
  RNNT_FN explicit SampleSpace(const Sample& sample)
      : base_(sample.workspace), diagonals_(sample.Diagonals()), lanes_(sample.Lanes()) {}

  RNNT_FN int64_t Header(HeaderBlock block) const { return base_ + block * kBlockLanes; }

  RNNT_FN int64_t Carry(int64_t d) const {
    return base_ + kRnntHeaderFloats + d * kRnntCarryFloats;
  }

  RNNT_FN Strip StripOf(int64_t lane) const {
    const int64_t s = lane / kRnntStripLanes;
    Strip strip;
    strip.first = s * kRnntStripLanes;
    strip.lanes = RnntMin(kRnntStripLanes, lanes_ - strip.first);
    const int64_t carries = RnntStrips(lanes_) > 1 ? diagonals_ : 0;
    strip.stats = Carry(carries) + kRnntCellFloats * diagonals_ * strip.first;
    strip.alpha = strip.stats + kCellStats * diagonals_ * strip.lanes;
    strip.arcs = strip.alpha + 2 * diagonals_ * strip.lanes;
    return strip;
  }

 private:
  int64_t base_, diagonals_, lanes_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_WORKSPACE_H_
