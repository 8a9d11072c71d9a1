// SPDX-License-Identifier: Apache-2.0
// The tiling function of each operator: how many cores, how much workspace, and the RnntTiling that
// the kernel reads.
#ifndef MINDSPORE_RNNT_RNNT_TILE_H_
#define MINDSPORE_RNNT_RNNT_TILE_H_

#include "register/op_def_registry.h"

namespace optiling {

ge::graphStatus TileRnntLossFused(gert::TilingContext* context);
ge::graphStatus TileRnntFused(gert::TilingContext* context);
ge::graphStatus TileRnntScaleGrad(gert::TilingContext* context);
ge::graphStatus TileRnntForward(gert::TilingContext* context);
ge::graphStatus TileRnntBackward(gert::TilingContext* context);
ge::graphStatus TileRnntRowStats(gert::TilingContext* context);
ge::graphStatus TileRnntLattice(gert::TilingContext* context);
ge::graphStatus TileRnntTdtLattice(gert::TilingContext* context);
ge::graphStatus TileRnntRowGrad(gert::TilingContext* context);

}  // namespace optiling

#endif  // MINDSPORE_RNNT_RNNT_TILE_H_
