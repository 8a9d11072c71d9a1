// SPDX-License-Identifier: Apache-2.0
// Phase row_stats on a chunk of rows.
#include "rnnt_chunk_kernel.h"

extern "C" __global__ __aicore__ void rnnt_row_stats(GM_ADDR logits, GM_ADDR row_labels,
                                                     GM_ADDR params, GM_ADDR stats,
                                                     GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  REGISTER_TILING_DEFAULT(RnntTiling);
  GET_TILING_DATA_WITH_STRUCT(RnntTiling, data, tiling);
  AscendC::TPipe pipe;
  const rnnt::Options options = rnnt::RowOptionsOf(params, data.V);
  rnnt::RunRowStats<DTYPE_LOGITS>(&pipe, data, options, logits, row_labels, stats);
}
