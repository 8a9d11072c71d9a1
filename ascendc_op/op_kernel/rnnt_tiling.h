// SPDX-License-Identifier: Apache-2.0
// What the host tells a launch: shapes, and the options of the attribute form. Plain data, every
// field set by tiling.
//
// The values inside the tensors (lengths, labels, the `params` tensor) are unknown to the host;
// what depends on them is worked out in the kernel (rnnt_batch.h, rnnt_placement.h).
#ifndef MINDSPORE_RNNT_RNNT_TILING_H_
#define MINDSPORE_RNNT_RNNT_TILING_H_

#include <cstdint>

struct RnntTiling {
  int64_t rows;    // of logits: N if packed, B * max_T * max_U1 if padded, n in the chunk operators
  int32_t B;       // samples; 0 in RnntRowStats and RnntRowGrad
  int32_t V;       // classes; 0 in RnntLattice; durations in RnntTdtLattice
  int32_t max_t;   // padded: size 1 of the logits; packed: 0
  int32_t max_u1;  // padded: size 2 of the logits; packed: 0
  int32_t max_u;   // size 1 of targets; in operators that have none kRnntNoTargets
  int32_t padded;  // 1: logits are (B, max_T, max_U1, V)

  // RnntLossFused only; elsewhere the params tensor has them, and these are 0.
  int32_t blank;              // in [-V, V - 1]
  int32_t fused_log_softmax;  // 1: logits, 0: log-probabilities
  float clamp;
  int32_t reserved;  // 0; keeps the size a multiple of 8
};

#endif  // MINDSPORE_RNNT_RNNT_TILING_H_
