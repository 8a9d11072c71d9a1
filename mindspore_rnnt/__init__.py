# SPDX-License-Identifier: Apache-2.0
"""RNN-T (transducer) loss for MindSpore, on CPU and on Ascend 910B.

Importing the package needs NumPy only, makes no operator and changes no environment. MindSpore is
looked for when a name that needs it is used; see `kernels.prepare_import` for what happens then.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .requirements import check_requirements

try:
    __version__ = version("mindspore-rnnt")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

_HOME = {
    "rnnt_loss": "functional",
    "RNNTLoss": "loss",
    "pack_logits": "packing",
    "unpack_logits": "packing",
    "packed_indices": "rows",
    "PackedJoiner": "joiner.packed",
    "JoinerRNNTLoss": "joiner.loss",
    "rnnt_align": "alignment",
    "RnntAlignment": "alignment",
    "rnnt_posteriors": "posteriors",
    "RnntPosteriors": "posteriors",
    "expected_frames": "emission",
    "rnnt_loss_simple": "pruned.simple",
    "simple_posteriors": "pruned.simple",
    "prune_ranges": "pruned.ranges",
    "rnnt_loss_pruned": "pruned.loss",
    "PrunedRNNTLoss": "pruned.cell",
    "rnnt_distillation_loss": "distillation",
    "nonfinite_samples": "samples",
    "tdt_loss": "tdt.functional",
    "TDTLoss": "tdt.loss",
    "JoinerTDTLoss": "tdt.joiner",
    "split_tdt_logits": "tdt.split",
    "set_num_threads": "native",
    "get_num_threads": "native",
}
_WITHOUT_MINDSPORE = ("rows", "samples", "native")
__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOME[name] not in _WITHOUT_MINDSPORE:
        check_requirements()
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What there is: help() looks at every name, also where MindSpore is missing."""
    try:
        check_requirements()
        names = list(_HOME)
    except ImportError:
        names = [name for name, home in _HOME.items() if home in _WITHOUT_MINDSPORE]
    return sorted({*globals(), *names})
