// SPDX-License-Identifier: Apache-2.0
// Phase lattice on the statistics of all rows.
#include "rnnt_chunk_kernel.h"

extern "C" __global__ __aicore__ void rnnt_lattice(GM_ADDR stats, GM_ADDR logit_lengths,
                                                   GM_ADDR target_lengths, GM_ADDR params,
                                                   GM_ADDR loss, GM_ADDR coefficients,
                                                   GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  REGISTER_TILING_DEFAULT(RnntTiling);
  GET_TILING_DATA_WITH_STRUCT(RnntTiling, data, tiling);
  AscendC::TPipe pipe;
  rnnt::Problem problem = {
      data, rnnt::OptionsOf(params, data.V), nullptr, nullptr, logit_lengths, target_lengths};
  problem.options.blank = 0;  // the statistics know which class was blank
  rnnt::RunLattice(&pipe, problem, stats, loss, coefficients, AscendC::GetUserWorkspace(workspace));
}
