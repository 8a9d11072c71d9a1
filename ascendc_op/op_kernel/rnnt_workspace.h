// SPDX-License-Identifier: Apache-2.0
// What a sample keeps in the workspace between the phases; RnntSampleFloats has the sizes.
//
//   part     layout                                    content
//   header   [HeaderBlock][8]                          what the lattice found; lane 0 of a block counts
//   scales   [strip][group][alpha 8, beta 8]           the integer to add to a stored value of the group
//   carry    [diagonal + 1][alpha 8, beta 8]           the lanes next to the following strip, if any
//   cells    [strip]: stats [D][4][W]                  row_max, log_sum, lp_blank, lp_label
//                     alpha [D][W]                     log alpha
//                     arcs  [D][2][W]                  the two terms of beta's sum, blank arc first
//
// W lanes of a strip, D diagonals, a group of kRnntScaleGroup diagonals. A term of beta's sum is lp
// of the arc + beta of the cell that the arc leads to, so a posterior is exp(alpha + arc - log P)
// and no lane has to be shifted to get it. Lanes that are no cell hold kLogZero in lp_blank and
// lp_label, and nothing elsewhere.
#ifndef MINDSPORE_RNNT_RNNT_WORKSPACE_H_
#define MINDSPORE_RNNT_RNNT_WORKSPACE_H_

#include "rnnt_batch.h"

namespace rnnt {

enum Stat { kRowMax, kLogSum, kLpBlank, kLpLabel, kStatCount };

// Blocks of the header.
enum HeaderBlock {
  kLogPAlpha,  // log P from alpha, relative to its scale
  kLogPAlphaScale,
  kLogPBeta,  // log P from beta
  kLogPBetaScale,
  kBadLabels,    // > 0: a label outside [0, V)
  kBlankLabels,  // > 0: a label that is blank
  kHeaderBlocks
};

struct Strip {
  int64_t first, lanes;                // lanes [first, first + lanes) of every diagonal
  int64_t stats, alpha, arcs, scales;  // offsets in the workspace, in floats
};

class SampleSpace {
 public:
  RNNT_FN explicit SampleSpace(const Sample& sample)
      : base_(sample.workspace), diagonals_(sample.Diagonals()), lanes_(sample.Lanes()) {}

  RNNT_FN int64_t Header(HeaderBlock block) const { return base_ + block * kBlockLanes; }

  RNNT_FN int64_t Carry(int64_t d) const {
    return base_ + kRnntHeaderFloats + RnntStrips(lanes_) * Groups() * kRnntScaleFloats +
           d * kRnntCarryFloats;
  }

  RNNT_FN Strip StripOf(int64_t lane) const {
    const int64_t s = lane / kRnntStripLanes;
    Strip strip;
    strip.first = s * kRnntStripLanes;
    strip.lanes = RnntMin(kRnntStripLanes, lanes_ - strip.first);
    strip.scales = base_ + kRnntHeaderFloats + s * Groups() * kRnntScaleFloats;
    const int64_t carry = RnntStrips(lanes_) > 1 ? diagonals_ + 1 : 0;
    strip.stats = Carry(carry) + kRnntCellFloats * diagonals_ * strip.first;
    strip.alpha = strip.stats + kStatCount * diagonals_ * strip.lanes;
    strip.arcs = strip.alpha + diagonals_ * strip.lanes;
    return strip;
  }

 private:
  RNNT_FN int64_t Groups() const { return diagonals_ / kRnntScaleGroup + 1; }

  int64_t base_, diagonals_, lanes_;
};

}  // namespace rnnt

#endif  // MINDSPORE_RNNT_RNNT_WORKSPACE_H_
