# SPDX-License-Identifier: Apache-2.0
"""Messages name the argument that is wrong, and Cells say what they do."""

import subprocess
import sys

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from mindspore_rnnt import (
    JoinerRNNTLoss,
    JoinerTDTLoss,
    PackedJoiner,
    PrunedRNNTLoss,
    RNNTLoss,
    TDTLoss,
    native,
    nonfinite_samples,
    pack_logits,
    packed_indices,
    rnnt_loss,
    rnnt_loss_simple,
)
from mindspore_rnnt.kernels import get_ops
from mindspore_rnnt.reference import rnnt_loss_reference

TARGETS, T, U = (
    Tensor(np.int32([[1, 2], [3, 4]])),
    Tensor(np.int32([3, 3])),
    Tensor(np.int32([2, 1])),
)
LOGITS = Tensor(np.zeros((2, 3, 3, 5), np.float32))


def test_logits_with_as_many_steps_as_labels():
    logits = Tensor(np.zeros((2, 3, 2, 5), np.float32))
    message = (
        r"the 'logits' must be of shape \(B, max_T, max_U \+ 1, V\) with max_U \+ 1 >= 3, as "
        r"'target_lengths' reach 2, but got 2 in shape \(2, 3, 2, 5\)"
    )
    with pytest.raises(ValueError, match=message):
        rnnt_loss(logits, TARGETS, T, U)


def test_packing_logits_with_as_many_steps_as_labels():
    padded = Tensor(np.zeros((2, 3, 2, 5), np.float32))
    with pytest.raises(ValueError, match=r"the 'padded' must be .* with max_U \+ 1 >= 3, as"):
        pack_logits(padded, T, U)


FRAMES = Tensor(np.zeros((2, 3, 6), np.float32))
STEPS = Tensor(np.zeros((2, 3, 4), np.float32))
ROWS = [Tensor(x) for x in packed_indices([3, 3], [2, 1])]


def simple(steps, targets=TARGETS):
    return rnnt_loss_simple(FRAMES[:, :, :4], steps, targets, T, U)


def with_rows(cell, *, num_durations=0):
    def call(steps, targets=TARGETS):
        return loss_fn(FRAMES, steps, targets, T, U, *ROWS)

    loss_fn = cell(PackedJoiner(6, 4, 8, 7, num_durations=num_durations))
    return call


def pruned(steps, targets=TARGETS):
    return PRUNED(FRAMES, steps, targets, T, U)


PRUNED = PrunedRNNTLoss(PackedJoiner(6, 4, 8, 7), 7)
OF_TWO_INPUTS = {
    "rnnt_loss_simple": (simple, "lm"),
    "JoinerRNNTLoss": (with_rows(JoinerRNNTLoss), "predictor_out"),
    "JoinerTDTLoss": (
        with_rows(lambda joiner: JoinerTDTLoss(joiner, (0, 1)), num_durations=2),
        "predictor_out",
    ),
    "PrunedRNNTLoss": (pruned, "predictor_out"),
}


@pytest.mark.parametrize("caller", OF_TWO_INPUTS)
@pytest.mark.parametrize("compiled", [False, True])
def test_as_many_predictor_steps_as_labels(caller, compiled):
    call, name = OF_TWO_INPUTS[caller]
    message = (
        rf"For '{caller}', the '{name}' must be of shape \(B, max_U \+ 1, \w+\) with "
        r"max_U \+ 1 = 3, as 'targets' has max_U = 2 and one step comes before the first label, "
        r"but got 2 steps\."
    )
    with pytest.raises(ValueError, match=message):
        (ms.jit(call) if compiled else call)(STEPS[:, :2])


@pytest.mark.parametrize("caller", OF_TWO_INPUTS)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_list_is_refused_by_its_name(caller, compiled):
    call, _ = OF_TWO_INPUTS[caller]

    def loss_of_a_list(steps):
        return call(steps, [[1, 2], [3, 4]])

    message = f"For '{caller}', the 'targets' must be a Tensor, but got "
    with pytest.raises(TypeError, match=message + ("none" if compiled else "list")):
        (ms.jit(loss_of_a_list) if compiled else loss_of_a_list)(STEPS)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_joiner_refuses_a_list_by_its_name(compiled):
    joiner = PackedJoiner(6, 4, 8, 7)

    def call(frames):
        return joiner(frames, STEPS, [0, 1], ROWS[1])

    with pytest.raises(TypeError, match="For 'PackedJoiner', the 'frame_rows' must be a Tensor"):
        (ms.jit(call) if compiled else call)(FRAMES)


@pytest.mark.parametrize("odd", [0, 1, 2, 3])
def test_the_input_of_another_batch_size_is_blamed(odd):
    names = ("logits", "targets", "logit_lengths", "target_lengths")
    batch = [LOGITS, TARGETS, T, U]
    batch[odd] = batch[odd][:1]
    with pytest.raises(ValueError, match=f"the '{names[odd]}' must be of 2 samples.* but got 1 s"):
        rnnt_loss(*batch)


def loss_of_a_list(logits):
    return rnnt_loss(logits, [[1, 2], [3, 4]], T, U)


def cell_of_a_list(logits):
    return RNNTLoss()(logits, TARGETS, [3, 3], U)


@pytest.mark.parametrize(
    "function, caller, name",
    [(loss_of_a_list, "rnnt_loss", "targets"), (cell_of_a_list, "RNNTLoss", "logit_lengths")],
)
def test_a_list_in_a_graph(function, caller, name):
    message = f"For '{caller}', the '{name}' must be a Tensor, but got none"
    with pytest.raises(TypeError, match=message):
        ms.jit(function)(LOGITS)


def loss(logits):
    return rnnt_loss(logits, TARGETS, T, U)


def forward_mode(logits):
    return ms.jvp(loss, logits, logits)


def test_forward_mode_is_refused_in_words_and_leaves_no_trace():
    for run in (forward_mode, ms.jacfwd(loss)):
        with pytest.raises(RuntimeError, match=r"nor forward mode \(jvp, jacfwd\)"):
            run(LOGITS)
    assert np.isfinite(ms.grad(loss)(LOGITS).asnumpy()).all()


def test_an_operator_of_one_phase_refuses_a_gradient_in_its_own_name():
    """A loss never asks for one: it has a gradient of its own."""
    labels, params = Tensor(np.int32([1, -1])), Tensor(native.pack_params())

    def stats(logits):
        return get_ops().row_stats(logits, labels, params)

    with pytest.raises(RuntimeError, match="RnntRowStats is not differentiable"):
        ms.grad(stats)(Tensor(np.zeros((2, 5), np.float32))).asnumpy()


def test_cells_show_their_options():
    shown = repr(RNNTLoss(blank=0, clamp=0.5, reduction="sum", fused_grad=False))
    for part in ("blank=0", "clamp=0.5", "reduction='sum'", "fused_grad=False", "validate=True"):
        assert part in shown
    joiner = PackedJoiner(6, 4, 8, 7)
    assert "encoder_dim=6, predictor_dim=4, joiner_dim=8, vocab_size=7" in repr(joiner)
    shown = repr(JoinerRNNTLoss(joiner, "1MB", fastemit_lambda=0.1))
    for part in ("memory_budget='1MB'", "fastemit_lambda=0.1", "reduction='mean'", "vocab_size=7"):
        assert part in shown
    shown = repr(PRUNED)
    for part in ("prune_range=5", "lm_only_scale=0.25", "warmup_steps=2000", "clamp=-1.0"):
        assert part in shown


@pytest.mark.parametrize("clamp", [1e-50, 1e300, -1e300])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_clamp_beyond_float32_in_a_graph(clamp):
    """A graph rounds what a Cell holds to float32, where 1e-50 would be 0, no clamp."""
    arrays = [x.asnumpy() for x in (LOGITS, TARGETS, T, U)]
    expected = rnnt_loss_reference(*arrays, clamp=clamp, reduction="sum")[1]
    net = RNNTLoss(clamp=clamp, reduction="sum").set_train()

    def gradient(logits):
        return ms.grad(net)(logits, TARGETS, T, U)

    for step in (gradient, ms.jit(gradient)):
        error = np.abs(step(LOGITS).asnumpy() - expected).max()
        assert error <= (1e-37 if clamp == 1e-50 else 1e-6)
    joiners = PackedJoiner(6, 4, 8, 7), PackedJoiner(6, 4, 8, 7, num_durations=2)
    tdt = TDTLoss((0, 1), clamp=clamp), JoinerTDTLoss(joiners[1], (0, 1), clamp=clamp)
    packed = JoinerRNNTLoss(joiners[0], clamp=clamp), PrunedRNNTLoss(joiners[0], 7, clamp=clamp)
    for cell in (*tdt, *packed):
        held = np.float32(cell.options[1])
        assert np.isfinite(held) and np.sign(held) == np.sign(clamp)


def test_help_without_mindspore():
    code = (
        "import mindspore_rnnt.requirements as r; r.mindspore_version = lambda: None\n"
        "import mindspore_rnnt, pydoc; print(pydoc.render_doc(mindspore_rnnt))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "packed_indices" in done.stdout, done.stderr


def test_nonfinite_samples_of_a_graph():
    logits, targets = np.zeros((3, 3, 3, 5), np.float32), np.int32([[1, 2], [3, 4], [1, 1]])
    logits[0, 1, 0, 3] = np.nan
    logits[2, :, :, -1] = -np.inf  # no blank, no path

    @ms.jit
    def losses(*batch):
        return rnnt_loss(*batch, reduction="none")

    lengths = Tensor(np.int32([3, 3, 3])), Tensor(np.int32([2, 1, 2]))
    found = nonfinite_samples(losses(Tensor(logits), Tensor(targets), *lengths))
    assert found.nan.tolist() == [0] and found.infinite.tolist() == [2]
    with pytest.raises(ValueError, match=r"'losses' must be of shape \(B,\).* but got shape \(\)"):
        nonfinite_samples(np.float32(1.0))
