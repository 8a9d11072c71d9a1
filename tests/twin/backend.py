# SPDX-License-Identifier: Apache-2.0
"""The AscendC kernel on its host twin, as a backend of the conformance statements."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from twin import kernel_on_twin as twin
from twin.rules import SETTINGS

from mindspore_rnnt.conformance.backend import OperatorBackend, output_shapes
from mindspore_rnnt.kernels.signatures import SIGNATURES

PHASES = {
    "RnntFused": twin.ROW_STATS | twin.LATTICE | twin.ROW_GRAD,
    "RnntScaleGrad": twin.ROW_GRAD,
    "RnntForward": twin.ROW_STATS | twin.LATTICE,
    "RnntBackward": twin.ROW_GRAD,
    "RnntRowStats": twin.ROW_STATS,
    "RnntLattice": twin.LATTICE,
    "RnntTdtLattice": twin.LATTICE | twin.DURATIONS,
    "RnntRowGrad": twin.ROW_GRAD,
}


# By name of the backend: options of the twin, see aot_build/twin/model/rules.h. The
# statements run under each of them, so each is one way in which the hardware may behave.
TWIN_SETTINGS = {
    "twin": {},
    "twin-deferred": {"deferred": 1, **SETTINGS[0]},
    **{f"twin-rules{number}": rules for number, rules in enumerate(SETTINGS) if number > 0},
}


class Twin(OperatorBackend):
    """`settings` are a value of TWIN_SETTINGS, and strip_lanes if it is not 1024."""

    worker_counts = (1, 2, 7, 40, 48)

    def __init__(self, **settings):
        self.settings = settings
        self.device = "Ascend" if settings.get("ulp_noise") else "twin"
        self.cores = 7
        self.name = ", ".join(["twin", *(f"{key}={value}" for key, value in settings.items())])

    def launch(self, op, inputs):
        signature = SIGNATURES[op]
        named = {operand.name: array for operand, array in zip(signature.inputs, inputs)}
        rows, batch = inputs[0], named.get("target_lengths", ())
        dtype = "bfloat16" if rows.dtype == np.uint16 else str(rows.dtype)
        if op == "RnntLattice":
            tiling = twin.Tiling(len(rows), len(batch), 0, 0, 0, twin.NO_TARGETS)
        else:
            tiling = twin.tiling_of(rows, named.get("targets"), len(batch))
        dtypes = [twin.storage(dtype) if o.dtype == "rows" else o.dtype for o in signature.outputs]
        names = [operand.name for operand in signature.outputs]
        outputs = dict(zip(names, zip(output_shapes(op, inputs), dtypes)))
        entry = "rnnt_" + "".join(f"_{c.lower()}" if c.isupper() else c for c in op[4:])[1:]
        result = twin.launch(
            entry, dtype, named, outputs, tiling, PHASES[op], self.cores, **self.settings
        )
        return [result.outputs[name] for name in names]

    @contextmanager
    def workers(self, count):
        before, self.cores = self.cores, count
        try:
            yield
        finally:
            self.cores = before
