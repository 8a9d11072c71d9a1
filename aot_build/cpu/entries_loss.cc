// SPDX-License-Identifier: Apache-2.0
// Entries of the whole loss: in one launch, or forward and backward apart.
#include "entry.h"

using rnnt::Problem;
using rnnt::ProblemOf;
using rnnt::Tensor;

RNNT_ENTRY(RnntFused, 5, 2, 4) {
  const Problem problem = ProblemOf(tensors);
  float* loss = tensors.At(5, "loss").MustHaveShape({problem.shape.B}).As<float>();
  rnnt::Fused(problem, loss, rnnt::Like(tensors.At(0, "logits"), tensors.At(6, "grad")));
}

RNNT_ENTRY(RnntScaleGrad, 4, 1, -1) {
  const Tensor grad = tensors.At(0, "grad");
  const Tensor logit_lengths = tensors.At(1, "logit_lengths").MustHaveShape({-1});
  const int64_t B = logit_lengths.shape[0];
  const Tensor target_lengths = tensors.At(2, "target_lengths").MustHaveShape({B});
  const Tensor dloss = tensors.At(3, "dloss").MustHaveShape({B});
  rnnt::ScaleGrad({grad.data, grad.row_dtype()}, rnnt::ShapeOf(grad, B, INT32_MAX),
                  logit_lengths.As<int32_t>(), target_lengths.As<int32_t>(), dloss.As<float>(),
                  rnnt::Like(grad, tensors.At(4, "dlogits")));
}

RNNT_ENTRY(RnntForward, 5, 2, 4) {
  const Problem problem = ProblemOf(tensors);
  float* loss = tensors.At(5, "loss").MustHaveShape({problem.shape.B}).As<float>();
  const Tensor state =
      tensors.At(6, "state").MustHaveShape({problem.shape.rows, rnnt::kStateFloats});
  rnnt::Forward(problem, loss, state.As<float>());
}

RNNT_ENTRY(RnntBackward, 7, 1, 4) {
  const Problem problem = ProblemOf(tensors);
  const Tensor state =
      tensors.At(5, "state").MustHaveShape({problem.shape.rows, rnnt::kStateFloats});
  const Tensor dloss = tensors.At(6, "dloss").MustHaveShape({problem.shape.B});
  rnnt::Backward(problem, state.As<float>(), dloss.As<float>(),
                 rnnt::Like(tensors.At(0, "logits"), tensors.At(7, "dlogits")));
}
