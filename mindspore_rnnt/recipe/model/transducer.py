# SPDX-License-Identifier: Apache-2.0
"""The transducer: encoder, predictor, packed joiner and loss in one Cell; with `loss.kind` tdt
the joiner has a second head, for durations.

`construct` takes the arrays of a batch (INPUTS, as `dataset` makes them) and gives the loss. To
decode, see `recogniser`.
"""

from __future__ import annotations

from mindspore import Parameter, Tensor, amp, float16, nn

from mindspore_rnnt import (
    JoinerRNNTLoss,
    JoinerTDTLoss,
    PackedJoiner,
    PrunedRNNTLoss,
    RNNTLoss,
    TDTLoss,
)

from ..data.text import BLANK
from ..settings import Config
from .conformer import ConformerEncoder
from .predictor import build_predictor

INPUTS = (
    "features",
    "frame_lengths",
    "encoder_lengths",
    "targets",
    "target_lengths",
    "frame_rows",
    "step_rows",
)


def build(config: Config, vocab_size: int) -> Transducer:
    """A new model; its weights follow from MindSpore's seed."""
    return Transducer(config, vocab_size)


def build_deployed(config: Config, vocab_size: int) -> Transducer:
    """A new model to decode with, in float32 however it was trained.

    Mixed precision reaches `construct` alone: the encoder's `step` would stream in float32 what
    `construct` computes in float16 for a whole utterance.
    """
    single = config.train.but(dtype="float32")
    return build(config.but(train=single), vocab_size)


class Transducer(nn.Cell):
    def __init__(self, config: Config, vocab_size: int):
        super().__init__()
        model = config.model
        self.encoder = ConformerEncoder(model, config.features.mels)
        if config.train.dtype == "float16":
            self.encoder = amp.auto_mixed_precision(self.encoder, "auto", float16)
        self.predictor = build_predictor(model, vocab_size)
        # How many frames each duration of a TDT model is; empty for a model without.
        self.durations = tuple(config.loss.durations) if config.loss.kind == "tdt" else ()
        joiner = PackedJoiner(
            *(model.encoder_dim, model.predictor_dim, model.joiner_dim, vocab_size),
            num_durations=len(self.durations),
        )
        self.jit = config.train.jit
        self.pruned = config.loss.kind == "pruned"
        self.chunked = bool(config.train.memory_budget)
        self.loss = _build_loss(joiner, config, vocab_size)
        # After the loss, which may hold it too: the last owner gives the weights their names, so
        # that a checkpoint fits with and without a memory budget.
        self.joiner = joiner

    def construct(
        self,
        features: Tensor,
        frame_lengths: Tensor,
        encoder_lengths: Tensor,
        targets: Tensor,
        target_lengths: Tensor,
        frame_rows: Tensor,
        step_rows: Tensor,
        keep: Tensor | None = None,
    ) -> Tensor:
        """The mean loss of a batch; `keep` are the encoder's dropout factors."""
        frames = self.encoder(features, frame_lengths, keep)
        steps = self.predictor(targets)
        lengths = (encoder_lengths, target_lengths)
        if self.pruned:
            return self.loss(frames, steps, targets, *lengths)
        if self.chunked:
            return self.loss(frames, steps, targets, *lengths, frame_rows, step_rows)
        logits = self.joiner(frames, steps, frame_rows, step_rows)
        if self.durations:
            return self.loss(*logits, targets, *lengths)
        return self.loss(logits, targets, *lengths)

    def decoding_params(self) -> list[Parameter]:
        """What decoding needs: all but what belongs to the loss."""
        return [item for item in self.get_parameters() if not item.name.startswith("loss.")]


def _build_loss(joiner: PackedJoiner, config: Config, vocab_size: int) -> nn.Cell:
    budget, loss = config.train.memory_budget, config.loss
    if loss.kind == "pruned":
        return PrunedRNNTLoss(
            joiner,
            vocab_size,
            loss.prune_range,
            loss.lm_only_scale,
            loss.am_only_scale,
            loss.simple_scale,
            loss.warmup_steps,
            budget or "256MB",
            BLANK,
            validate=False,
        )
    if loss.kind == "tdt":
        options = {"blank": BLANK, "sigma": loss.sigma, "validate": False}
        if budget:
            return JoinerTDTLoss(joiner, loss.durations, budget, **options)
        return TDTLoss(loss.durations, **options)
    if budget:
        return JoinerRNNTLoss(joiner, budget, blank=BLANK, validate=False)
    return RNNTLoss(blank=BLANK, validate=False)
