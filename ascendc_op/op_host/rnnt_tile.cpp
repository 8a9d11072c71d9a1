// SPDX-License-Identifier: Apache-2.0
#include "rnnt_tile.h"

#include "rnnt_tiler.h"
#include "rnnt_widths.h"

namespace optiling {
namespace {

Tiler TileBatch(gert::TilingContext* context) {
  Tiler tiler(context);
  tiler.Logits(0, "logits").Lengths(2, 3).Targets(1);
  return tiler;
}

}  // namespace

ge::graphStatus TileRnntLossFused(gert::TilingContext* context) {
  return TileBatch(context).Attributes().Launch(kRnntFusedPhases);
}

ge::graphStatus TileRnntFused(gert::TilingContext* context) {
  return TileBatch(context).Params(4).Launch(kRnntFusedPhases);
}

ge::graphStatus TileRnntScaleGrad(gert::TilingContext* context) {
  return Tiler(context)
      .Logits(0, "grad")
      .Lengths(1, 2)
      .OnePerSample(3, "dloss")
      .Launch(kRnntRowGrad);
}

ge::graphStatus TileRnntForward(gert::TilingContext* context) {
  return TileBatch(context).Params(4).Launch(kRnntForwardPhases);
}

ge::graphStatus TileRnntBackward(gert::TilingContext* context) {
  return TileBatch(context)
      .Params(4)
      .State(5, rnnt::kStateWidth)
      .OnePerSample(6, "dloss")
      .Launch(kRnntBackwardPhases);
}

ge::graphStatus TileRnntRowStats(gert::TilingContext* context) {
  return Tiler(context)
      .LogitsOfRows(0, "logits")
      .OnePerRow(1, "row_labels")
      .Params(2)
      .Launch(kRnntRowStats);
}

ge::graphStatus TileRnntLattice(gert::TilingContext* context) {
  return Tiler(context)
      .Stats(0, "stats", rnnt::kStatsWidth)
      .Lengths(1, 2)
      .Params(3)
      .Launch(kRnntLattice);
}

ge::graphStatus TileRnntTdtLattice(gert::TilingContext* context) {
  return Tiler(context)
      .Stats(0, "stats", rnnt::kStatsWidth)
      .Durations(4, 1)
      .Lengths(2, 3)
      .Params(5)
      .Launch(kRnntTdtPhases);
}

ge::graphStatus TileRnntRowGrad(gert::TilingContext* context) {
  return Tiler(context)
      .LogitsOfRows(0, "logits")
      .OnePerRow(1, "row_labels")
      .PerRow(2, "stats", rnnt::kStatsWidth)
      .PerRow(3, "coefficients", rnnt::kCoefficientsWidth)
      .OnePerRow(4, "row_dloss")
      .Params(5)
      .Launch(kRnntRowGrad);
}

}  // namespace optiling
