# SPDX-License-Identifier: Apache-2.0
"""What a device does, on the twin: op_host decides on cores, workspace and tiling data, and the
kernel runs with that. Values against the float64 reference, with verify's limits for Ascend."""

import numpy as np
import pytest
from oracles import LAYOUTS, labels_of, random_batch, report, rnnt_loss_reference
from tdt import duration_logits, softmax
from twin import kernel_on_twin as twin

from aot_build.twin import build_twin, driver, host_driver
from mindspore_rnnt.ascend.build import snake_case
from mindspore_rnnt.conformance.backend import row_labels
from mindspore_rnnt.conformance.tolerances import TOLERANCES
from mindspore_rnnt.kernels.signatures import SIGNATURES
from mindspore_rnnt.native import pack_params
from mindspore_rnnt.reference import tdt_loss_reference

BLANK, V = 1, 37
LIMIT = TOLERANCES["Ascend"]


@pytest.fixture(scope="module")
def library():
    return build_twin.build_op_kernel("float32")


@pytest.fixture(scope="module")
def host():
    return host_driver.load()


@pytest.fixture(scope="module", params=["packed", "padded"])
def problem(request):
    """Inputs by name, the losses and the gradient of their sum."""
    batch = random_batch([(9, 4), (1, 0), (5, 6), (12, 1)], V, blank=BLANK)
    padded = request.param == "padded"
    layout = batch.layout(padded, extra_t=2, extra_u=1)
    losses, gradient = rnnt_loss_reference(*layout, blank=BLANK, reduction="none")
    return twin.values_of(layout, params=pack_params(blank=BLANK)), losses, gradient


@pytest.fixture(scope="module")
def launch(library, host):
    """A function: operator, inputs by name -> outputs in order."""

    def run(op, inputs, attrs=(), cores=40):
        shapes = [(str(array.dtype), array.shape) for array in inputs.values()]
        decision = host.tile(op, shapes, attrs, vector_cores=cores)
        numpy_of = {number: name for name, number in host_driver.DATA_TYPES.items()}
        outputs = {
            operand["name"]: (shape, numpy_of[dtype])
            for operand, (dtype, shape) in zip(
                host.operators()[op]["outputs"], host.infer(op, shapes)
            )
        }
        result = driver.run(
            library,
            snake_case(op),
            inputs,
            outputs,
            decision.tiling,
            max(0, decision.workspace - host_driver.SYSTEM_WORKSPACE),
            cores=decision.block_dim,
            vector_cores=cores,
            schedule_mode=decision.schedule_mode,
            framework_workspace=int(decision.workspace > 0),
        )
        assert not result.faults, "\n".join(map(str, result.faults))
        return list(result.outputs.values())

    return run


def inputs_of(op, values):
    return {operand.name: values[operand.name] for operand in SIGNATURES[op].inputs}


def check(loss, losses, gradient=None, expected=None):
    longest = 18 * LIMIT.loss_per_step + LIMIT.loss
    assert report("loss", loss, losses) <= longest + LIMIT.loss_relative * losses.max()
    if gradient is not None:
        assert report("gradient", gradient, expected) <= LIMIT.of_gradient(expected, 18, "float32")


def test_fused_with_attributes(launch, problem):
    inputs, losses, gradient = problem
    inputs = {name: array for name, array in inputs.items() if name != "params"}
    loss, grad = launch("RnntLossFused", inputs, (BLANK, -1.0, True))
    check(loss, losses, grad, gradient)


def test_fused_then_scaled(launch, problem):
    inputs, losses, gradient = problem
    loss, grad = launch("RnntFused", inputs)
    check(loss, losses, grad, gradient)
    dloss = np.array([2.0, 0.0, -1.0, 0.5], np.float32)
    values = {**inputs, "grad": grad, "dloss": dloss}
    (dlogits,) = launch("RnntScaleGrad", inputs_of("RnntScaleGrad", values))
    (batch_scale,) = launch(
        "RnntScaleGrad", inputs_of("RnntScaleGrad", {**values, "dloss": 0 * dloss})
    )
    assert not batch_scale.any()
    check(loss, losses, dlogits, scaled(inputs, gradient, dloss))


def test_forward_then_backward(launch, problem):
    inputs, losses, gradient = problem
    loss, state = launch("RnntForward", inputs)
    check(loss, losses)
    dloss = np.array([2.0, 0.0, -1.0, 0.5], np.float32)
    values = {**inputs, "state": state, "dloss": dloss}
    (dlogits,) = launch("RnntBackward", inputs_of("RnntBackward", values))
    check(loss, losses, dlogits, scaled(inputs, gradient, dloss))


def scaled(inputs, gradient, dloss):
    """The gradient with the rows of each sample times its upstream gradient."""
    if gradient.ndim == 4:
        return gradient * dloss[:, None, None, None]
    rows = inputs["logit_lengths"] * (inputs["target_lengths"] + 1)
    return gradient * np.repeat(dloss, rows)[:, None]


def test_three_phases(launch):
    """As the chunked joiner loss calls them: rows in two chunks, the lattice over all."""
    batch = random_batch([(6, 3), (4, 0), (3, 5)], V, blank=BLANK)
    logits, targets, T, U = batch.layout(padded=False)
    losses, gradient = rnnt_loss_reference(logits, targets, T, U, blank=BLANK, reduction="none")
    values = {"logits": logits, "row_labels": row_labels(targets, T, U)}
    values |= {"logit_lengths": T, "target_lengths": U, "params": pack_params(blank=BLANK)}
    chunks = [slice(0, 17), slice(17, None)]

    def of_rows(op, rows):
        whole = ("logit_lengths", "target_lengths", "params")
        chunk = {name: array if name in whole else array[rows] for name, array in values.items()}
        return launch(op, inputs_of(op, chunk))[0]

    values["stats"] = np.concatenate([of_rows("RnntRowStats", rows) for rows in chunks])
    loss, values["coefficients"] = launch("RnntLattice", inputs_of("RnntLattice", values))
    values["row_dloss"] = np.full(len(logits), -3.0, np.float32)
    dlogits = np.concatenate([of_rows("RnntRowGrad", rows) for rows in chunks])
    check(loss, losses, dlogits / -3, gradient)


@LAYOUTS
def test_lattice_with_durations(launch, padded):
    durations = (2, 0, 1)
    batch = random_batch([(6, 3), (4, 0), (3, 5)], V, blank=BLANK)
    logits, targets, T, U = batch.layout(padded)
    labels = labels_of(batch)
    head = duration_logits(labels.shape, 3)
    if not padded:
        labels, head = (x[batch.padded_mask()[..., 0]] for x in (labels, head))
    options = {"sigma": 0.1, "fastemit_lambda": 0.2}
    losses, of_tokens, of_head = tdt_loss_reference(
        logits, head, targets, T, U, durations, BLANK, reduction="none", **options
    )
    values = {
        "logits": logits,
        "row_labels": labels,
        "duration_log_probs": np.log(softmax(head)).astype(np.float32),
        "logit_lengths": T,
        "target_lengths": U,
        "durations": np.int32(durations),
        "params": pack_params(blank=BLANK),
    }
    (values["stats"],) = launch("RnntRowStats", inputs_of("RnntRowStats", values))
    values["params"] = pack_params(blank=BLANK, **options)
    loss, values["coefficients"], posteriors = launch(
        "RnntTdtLattice", inputs_of("RnntTdtLattice", values)
    )
    values["row_dloss"] = np.ones(labels.shape, np.float32)
    values["params"] = pack_params(blank=BLANK)
    (dlogits,) = launch("RnntRowGrad", inputs_of("RnntRowGrad", values))
    assert report("loss", loss / losses, np.ones(3)) <= 1e-6
    assert report("tokens", dlogits, of_tokens) <= 2e-6
    dhead = softmax(head) * values["coefficients"][..., :1] - posteriors
    assert report("durations", dhead, of_head) <= 2e-6
