# SPDX-License-Identifier: Apache-2.0
"""The one table of tolerances: absolute and against float64, unless the key says otherwise."""

TOLERANCE = {
    # A loss, whatever the logits' dtype (the reference gets the same rounded logits).
    "loss_relative": 2.5e-7,  # 2 float32 ulp at worst; the floor for losses near 0:
    "loss_absolute": 1e-6,
    # d loss / d logits of the unit-upstream loss; the result is rounded to the logits' dtype.
    "gradient": {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3},
    # The float64 reference against path enumeration and central differences.
    "reference_enumeration": 1e-12,
    "reference_difference": 1e-7,
    # torchaudio 2.8.0: a float32 lattice, and the loss in the dtype of the logits.
    "torchaudio_loss_relative": {"float32": 1e-4, "float16": 2e-3},
    "torchaudio_gradient": {"float32": 3e-4, "float16": 2e-3},
    # JoinerRNNTLoss, relative in norm, loss and each gradient: against float64, against RNNTLoss.
    "joiner_float64": 2e-6,
    "joiner": 1e-5,
    # Its peak memory beside the inputs, in units of the logits it never holds (28 chunks).
    "joiner_peak_memory": 0.2,
    # The recipe: float32 networks computed in pieces, in batches, or by several processes.
    "recipe_encoder": 2e-5,
    "recipe_log_prob": 1e-9,
    "recipe_update": 1e-5,
    "recipe_weight": 1e-4,
    # The AscendC kernel on the twin: relative errors of a mantissa add up over T + U steps.
    "ascend_small": 5e-6,  # T, U < 10
    "ascend_loss_relative": 5e-7,
    "ascend_loss_absolute": 2e-6,
    "ascend_gradient": {500: 5e-6, 2000: 2e-5},  # up to this T; the dtype's "gradient" comes on top
    # Peak memory beside the logits, in units of their size.
    "peak_memory": {"fused": 2.05, "two-op": 1.05, "evaluation": 0.05},
}
