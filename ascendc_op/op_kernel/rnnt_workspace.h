// SPDX-License-Identifier: Apache-2.0
// What a sample keeps in the workspace between the phases (RnntSampleFloats has the sizes).
//
//   header   what the two ends of the lattice found, each in a block of 8 lanes of which lane 0
//   counts scales   [strip][group][alpha 8, beta 8]: the integer that a stored value of the group
//   lacks carry    [diagonal + 1][alpha 8, beta 8], only with several strips: the lanes next to the
//   following strip cells    [strip]: stats [D][4][W], alpha [D][W], arcs [D][2][W]
//
// stats: row_max, log_sum, lp_blank, lp_label. arcs: the terms of beta's sum, lp + beta of the cell
// that the blank or label arc leads to. A posterior is exp(alpha + arc - log P): no lane has to be
// shifted to get it. Cells that a diagonal does not have hold kImpossible in lp_blank and lp_label,
// and nothing elsewhere.
#ifndef MINDSPORE_RNNT_RNNT_WORKSPACE_H_
#define MINDSPORE_RNNT_RNNT_WORKSPACE_H_

#include "rnnt_batch.h"

namespace rnnt {

enum Stat { kRowMax, kLogSum, kLpBlank, kLpLabel, kStatCount };

// Blocks of the header.
enum HeaderBlock {
  kAlphaEnd,  // from alpha: log P relative to its scale
  kAlphaEndScale,
  kBetaEnd,  // the same from beta
  kBetaEndScale,
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
