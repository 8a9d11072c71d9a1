// SPDX-License-Identifier: Apache-2.0
// Phase lattice with durations, on the statistics of all rows and their durations' log-probs.
#include "tdt_kernel.h"

extern "C" __global__ __aicore__ void rnnt_tdt_lattice(
    GM_ADDR stats, GM_ADDR duration_log_probs, GM_ADDR logit_lengths, GM_ADDR target_lengths,
    GM_ADDR durations, GM_ADDR params, GM_ADDR loss, GM_ADDR coefficients,
    GM_ADDR duration_posteriors, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  REGISTER_TILING_DEFAULT(RnntTiling);
  GET_TILING_DATA_WITH_STRUCT(RnntTiling, data, tiling);
  AscendC::TPipe pipe;
  const rnnt::Problem problem = {
      data, rnnt::OptionsOf(params, data.V), nullptr, nullptr, logit_lengths, target_lengths};
  const rnnt::TdtTensors tensors = {stats, duration_log_probs, durations,
                                    loss,  coefficients,       duration_posteriors};
  rnnt::RunTdtLattice(&pipe, problem, rnnt::SigmaOf(params), tensors,
                      AscendC::GetUserWorkspace(workspace));
}
