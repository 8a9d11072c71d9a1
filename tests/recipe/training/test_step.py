# SPDX-License-Identifier: Apache-2.0
"""One update: accumulation, clipping, values that are not finite, loss scale, compiles, dropout.

Without `jit` where it does not matter, as a compile takes longer than several updates.
"""

import numpy as np
import pytest
from mindspore.graph.api import ms_compile_cache
from recipe_networks import network, random_batch, report, weights
from tolerances import TOLERANCE

from mindspore_rnnt.recipe.training.parallel import Group
from mindspore_rnnt.recipe.training.step import TrainStep, dropout_factors

JIT = "train.jit=true"


def trainer(*overrides):
    common = ["train.batch_size=4", "optim.warmup_steps=0", "train.jit=false", "model.blocks=1"]
    settings, model = network(*common, *overrides)
    return model, TrainStep(model, settings, 100, Group())


def halves(batch):
    """The same four utterances as two batches of two."""
    from mindspore_rnnt import packed_indices

    parts = []
    for rows in (slice(0, 2), slice(2, 4)):
        part = {k: v[rows] for k, v in batch.items() if not k.endswith("_rows")}
        lengths = (part["encoder_lengths"], part["target_lengths"])
        max_t, max_u = part["features"].shape[1] // 4, part["targets"].shape[1]
        part["frame_rows"], part["step_rows"] = packed_indices(*lengths, max_t, max_u)
        parts.append(part)
    return parts


def test_accumulated_batches_are_one_big_batch():
    batch = random_batch()
    results = []
    for batches in ([batch], halves(batch)):
        model, step = trainer()
        updates = [step(batches, 0, 0), step(batches, 0, 1)]
        results.append(([(u.loss, u.norm) for u in updates], weights(model)))
    (one, ours), (two, theirs) = results
    assert np.allclose(one, two, rtol=TOLERANCE["recipe_update"])
    errors = [report(name, ours[name], theirs[name]) for name in ours]
    assert max(errors) < TOLERANCE["recipe_weight"]


def test_the_gradient_is_clipped_to_its_norm():
    """Adam's first moment after one update is (1 - beta1) times the gradient that it was given."""
    norms = []
    for limit in (0.0, 1.5, 1e6):
        _, step = trainer(f"optim.clip_norm={limit}")
        update = step([random_batch()], 0, 0)
        moments = [p.asnumpy() for p in step.optimizer.get_parameters() if "moment1" in p.name]
        norms.append(np.sqrt(sum(np.sum(item.astype(np.float64) ** 2) for item in moments)) / 0.1)
        assert update.norm > 1.5
    assert norms == pytest.approx([update.norm, 1.5, update.norm], rel=1e-4)


def test_what_is_not_finite_changes_nothing():
    bad = random_batch()
    bad["features"][1, 3, 5] = np.nan
    batches = [random_batch(seed=1), bad, random_batch(seed=2)]
    model, step = trainer()
    first = step(batches[:1], 0, 0)
    before = {item.name: item.asnumpy().copy() for item in step.state()}
    skipped = step([bad], 0, 1)
    assert first.applied and not skipped.applied
    assert all(np.array_equal(before[item.name], item.asnumpy()) for item in step.state())
    assert step.skipped == 1
    last = step(batches[2:], 0, 2)
    assert step.skipped == 0

    other, clean = trainer()
    updates = [clean([batch], 0, 0) for batch in (batches[0], batches[2])]
    assert (first, last) == tuple(updates)
    assert all(np.array_equal(weights(other)[n], v) for n, v in weights(model).items())


def test_the_loss_scale_halves_at_overflow_and_changes_no_update():
    bad = random_batch()
    bad["features"][:] = np.inf
    _, plain = trainer()
    model, scaled = trainer("optim.loss_scale=1024.0", JIT)
    ours, theirs = (step([random_batch()], 0, 0) for step in (scaled, plain))
    assert ours.loss == pytest.approx(theirs.loss, rel=TOLERANCE["recipe_update"])
    assert ours.norm == pytest.approx(theirs.norm, rel=TOLERANCE["recipe_update"])
    assert float(scaled.scaler.scale_value) == 1024.0
    before = weights(model)
    assert not scaled([bad], 0, 1).applied
    assert all(np.array_equal(before[name], value) for name, value in weights(model).items())
    assert float(scaled.scaler.scale_value) == 512.0


def test_a_compile_for_each_padded_shape_whatever_the_lengths():
    _, step = trainer("model.dropout=0.1", JIT)
    before = len(ms_compile_cache)
    for seed in range(6):
        step([random_batch(frames=32 if seed % 2 else 64, max_u=3, seed=seed)], 0, seed)
    compiled = len(ms_compile_cache) - before
    print(f"{compiled} compiles for {len(step.shapes)} shapes")
    assert step.shapes == [(4, 64, 80), (4, 32, 80)]
    assert compiled <= len(step.shapes) + 2, "gradients by shape, and once the rest of an update"


@pytest.mark.parametrize("loss", ["rnnt", "pruned", "tdt"])
def test_dynamic_shapes_are_one_compile_and_the_same_updates(loss):
    """Three padded lengths after one another; what differs is the order of sums."""
    batches = [random_batch(frames=frames, max_u=3, seed=frames) for frames in (64, 32, 96, 32)]
    common = (f"loss={loss}", "model.dropout=0.1")
    _, step = trainer("train.dynamic_shapes=true", JIT, *common)
    before = len(ms_compile_cache)
    ours = [step([batch], 0, number) for number, batch in enumerate(batches)]
    assert len(ms_compile_cache) - before <= 3, "as one padded shape"
    assert step.shapes == [(4, None, 80)]
    _, eager = trainer(*common)
    theirs = [eager([batch], 0, number) for number, batch in enumerate(batches)]
    for one, other in zip(ours, theirs):
        assert one.loss == pytest.approx(other.loss, rel=TOLERANCE["recipe_update"])
        assert one.norm == pytest.approx(other.norm, rel=TOLERANCE["recipe_update"])


def test_compiled_and_eager_updates_agree():
    """Of two accumulated batches, with clipping."""
    results = []
    for jit in ("true", "false"):
        _, step = trainer(f"train.jit={jit}", "optim.clip_norm=1.5")
        update = step(halves(random_batch()), 0, 0)
        moments = [p.asnumpy() for p in step.optimizer.get_parameters() if "moment1" in p.name]
        results.append((update.loss, update.norm, np.concatenate([m.ravel() for m in moments])))
    (loss, norm, ours), (eager_loss, eager_norm, theirs) = results
    assert loss == pytest.approx(eager_loss, rel=TOLERANCE["recipe_update"])
    assert norm == pytest.approx(eager_norm, rel=TOLERANCE["recipe_update"]) and norm > 1.5
    assert np.linalg.norm(ours - theirs) < TOLERANCE["recipe_update"] * np.linalg.norm(theirs)


def test_dropout_follows_from_seed_epoch_and_step_on_any_number_of_ranks():
    settings, _ = network("model.dropout=0.25", "train.batch_size=4")
    joined, _ = network("model.dropout=0.25", "train.batch_size=8")
    whole = dropout_factors(joined, Group(), 2, 5)
    parts = [dropout_factors(settings, Group(rank, 2), 2, 5) for rank in (0, 1)]
    assert np.array_equal(np.concatenate(parts, axis=1), whole)
    assert whole.shape == (8, 8, 1, 32)
    assert set(np.unique(whole)) == {np.float32(0), np.float32(1 / np.float32(0.75))}
    assert np.mean(whole == 0) == pytest.approx(0.25, abs=0.05)
    assert not np.array_equal(whole, dropout_factors(joined, Group(), 2, 6))
    assert dropout_factors(network()[0], Group(), 0, 0) is None


def test_the_chunked_joiner_loss_trains_the_same():
    results = [
        trainer(*more)[1]([random_batch()], 0, 0) for more in ([], ["train.memory_budget=1MB", JIT])
    ]
    assert results[0].loss == pytest.approx(results[1].loss, rel=TOLERANCE["recipe_update"])
    assert results[0].norm == pytest.approx(results[1].norm, rel=1e-3), "CPU's tanh gradient"


def test_float16_with_a_loss_scale_trains_nearly_the_same():
    single, half = trainer(), trainer("train.dtype=float16", "optim.loss_scale=1024.0", JIT)
    before = weights(single[0])
    for number in range(2):
        theirs, ours = (step([random_batch(seed=number)], 0, number) for _, step in (single, half))
        print(ours, theirs)
        assert ours.applied and theirs.applied
        assert ours.loss == pytest.approx(theirs.loss, rel=5e-3)
        assert ours.norm == pytest.approx(theirs.norm, rel=2e-2)
    assert float(half[1].scaler.scale_value) == 1024.0
    moved = {name: value - before[name] for name, value in weights(single[0]).items()}
    for name, value in weights(half[0]).items():
        assert value.dtype == np.float32 and np.isfinite(value).all()
        assert not np.array_equal(value, before[name]), name
    # Adam's first steps are all as long as the rate: most go the same way, however small.
    agree = [np.sign(v - before[n]) == np.sign(moved[n]) for n, v in weights(half[0]).items()]
    share = np.mean(np.concatenate([item.ravel() for item in agree]))
    print("share of weights that moved the same way", share)
    assert share > 0.95


def test_weight_decay_shrinks_by_rate_times_decay():
    """AdamWeightDecay: w - lr (m / (sqrt(v) + 1e-6) + decay w), here after one update.

    Only matrices decay: neither biases nor the gains of LayerNorm.
    """
    model, step = trainer("optim.weight_decay=0.1", "optim.lr=0.01", "optim.clip_norm=0.0")
    before = weights(model)
    assert step([random_batch()], 0, 0).applied
    moments = {item.name: item.asnumpy() for item in step.optimizer.get_parameters()}
    for name, value in weights(model).items():
        gradient = moments[f"adam_m.{name}"].astype(np.float64) / 0.1
        adam = 0.1 * gradient / (np.sqrt(0.02 * gradient**2) + 1e-6)
        decay = 0.1 if value.ndim > 1 else 0.0
        expected = before[name] - 0.01 * (adam + decay * before[name])
        assert report(name, value, expected) < 1e-6
