// SPDX-License-Identifier: Apache-2.0
// The gradient from the logits and the state of rnnt_forward.
#include "rnnt_kernel.h"

extern "C" __global__ __aicore__ void rnnt_backward(GM_ADDR logits, GM_ADDR targets,
                                                    GM_ADDR logit_lengths, GM_ADDR target_lengths,
                                                    GM_ADDR params, GM_ADDR state, GM_ADDR dloss,
                                                    GM_ADDR dlogits, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  REGISTER_TILING_DEFAULT(RnntTiling);
  GET_TILING_DATA_WITH_STRUCT(RnntTiling, data, tiling);
  AscendC::TPipe pipe;
  const rnnt::Problem problem = {
      data, rnnt::OptionsOf(params, data.V), logits, targets, logit_lengths, target_lengths};
  rnnt::RunBackward<DTYPE_LOGITS>(&pipe, problem, state, dloss, dlogits);
}
