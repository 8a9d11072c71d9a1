# SPDX-License-Identifier: Apache-2.0
"""The AscendC kernel on its host twin, as a backend of the conformance statements."""

from __future__ import annotations

from contextlib import contextmanager

from twin import kernel_on_twin as twin
from twin.rules import SETTINGS

from mindspore_rnnt.conformance.backend import OperatorBackend
from mindspore_rnnt.kernels.signatures import SIGNATURES

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
        names = [operand.name for operand in SIGNATURES[op].inputs]
        result = twin.run_op(op, dict(zip(names, inputs)), self.cores, **self.settings)
        return [result.outputs[operand.name] for operand in SIGNATURES[op].outputs]

    @contextmanager
    def workers(self, count):
        before, self.cores = self.cores, count
        try:
            yield
        finally:
            self.cores = before
