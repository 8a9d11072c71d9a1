// SPDX-License-Identifier: Apache-2.0
// Entries of the operators on stats beside the lattice of the loss.
#include "entry.h"

RNNT_ENTRY(RnntAlign, 8) {
  const rnnt::StatsBatch batch = rnnt::StatsBatchOf(tensors);
  const rnnt::Tensor targets = tensors.At(3, "targets").MustHaveShape({batch.shape.B, -1});
  const int64_t B = batch.shape.B, max_u = targets.shape[1];
  rnnt::OptionsOf(tensors.At(4, "params"), 0);
  const rnnt::Alignment alignment = {
      max_u, tensors.At(5, "frames").MustHaveShape({B, max_u}).As<int32_t>(),
      tensors.At(6, "log_probs").MustHaveShape({B, max_u}).As<float>(),
      tensors.At(7, "path_log_prob").MustHaveShape({B}).As<float>()};
  rnnt::AlignRows(batch, alignment);
}
