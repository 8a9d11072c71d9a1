# SPDX-License-Identifier: Apache-2.0
"""The losses and tools of this package in float64 NumPy: short, slow, and what every other
implementation is held to. Nothing here needs MindSpore."""

from .alignment import rnnt_align_reference
from .distillation import rnnt_distillation_loss_reference
from .loss import rnnt_loss_reference
from .posteriors import expected_frames_reference, rnnt_posteriors_reference
from .pruned import prune_ranges_reference, rnnt_loss_pruned_reference
from .simple import rnnt_loss_simple_reference
from .tdt import tdt_loss_reference

__all__ = [
    "expected_frames_reference",
    "prune_ranges_reference",
    "rnnt_align_reference",
    "rnnt_distillation_loss_reference",
    "rnnt_loss_pruned_reference",
    "rnnt_loss_reference",
    "rnnt_loss_simple_reference",
    "rnnt_posteriors_reference",
    "tdt_loss_reference",
]
