// SPDX-License-Identifier: Apache-2.0
// The gradient of rnnt_fused, times what came from above.
#include "rnnt_kernel.h"

extern "C" __global__ __aicore__ void rnnt_scale_grad(GM_ADDR grad, GM_ADDR logit_lengths,
                                                      GM_ADDR target_lengths, GM_ADDR dloss,
                                                      GM_ADDR dlogits, GM_ADDR workspace,
                                                      GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  REGISTER_TILING_DEFAULT(RnntTiling);
  GET_TILING_DATA_WITH_STRUCT(RnntTiling, data, tiling);
  AscendC::TPipe pipe;
  const rnnt::Problem problem = {data,    rnnt::OptionsOf(data), grad,
                                 nullptr, logit_lengths,         target_lengths};
  rnnt::RunScaleGrad<DTYPE_GRAD>(&pipe, problem, dloss, dlogits);
}
