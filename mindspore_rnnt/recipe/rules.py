# SPDX-License-Identifier: Apache-2.0
"""What a setting must be beyond its type: found out at the start and not late in an epoch."""

from __future__ import annotations

import math
import typing

CHOICES = {
    "model.subsampling": ("stack", "conv2d"),
    "model.predictor": ("stateless", "lstm"),
    "train.dtype": ("float32", "float16"),
    "train.device": ("", "CPU", "Ascend"),
    "decode.method": ("greedy", "beam"),
    "loss.kind": ("rnnt", "pruned", "tdt"),
}
EACH = {  # of a list
    "noise.kinds": ("machine", "broadband", "tonal", "impulsive", "babble"),
    "evaluate.noises": ("white", "pink", "babble", "impulses", "reverberated"),
    "evaluate.changes": ("bare", "padded", "quiet", "clipped", "narrow", "reverberant"),
}
RULES = {
    "at least 1": (
        lambda value: value >= 1,
        [
            *("data.buckets", "data.train_utterances", "data.heldout_utterances", "data.workers"),
            *("features.mels", "features.cmvn_utterances"),
            *("model.encoder_dim", "model.blocks", "model.heads", "model.feed_forward"),
            *("model.conv_kernel", "model.predictor_dim", "model.predictor_context"),
            *("model.joiner_dim", "optim.accumulate", "optim.loss_scale"),
            *("train.epochs", "train.batch_size", "train.evaluate_every"),
            *("train.keep_last", "train.average"),
            *("decode.beam", "decode.max_symbols", "decode.batch_size"),
        ],
    ),
    "at least 0": (
        lambda value: value >= 0,
        [
            *("data.train_phrases", "data.train_fragments", "features.cache_mb"),
            *("data.train_noises", "data.train_others"),
            *(
                "augment.clean_epochs",
                "augment.ramp_epochs",
                "augment.time_masks",
                "augment.time_width",
            ),
            *("augment.frequency_masks", "augment.frequency_width"),
            *("optim.warmup_steps", "optim.weight_decay", "optim.clip_norm"),
            *("train.save_every", "train.evaluate_utterances", "train.require_loss_ratio"),
            *("decode.grammar_weight", "decode.bias_weight", "endpoint.overlap"),
            *("loss.lm_only_scale", "loss.am_only_scale", "loss.simple_scale"),
            "loss.warmup_steps",
            *("evaluate.pictures", "evaluate.noise_hours", "evaluate.others"),
        ],
    ),
    "at least 0 and finite": (lambda value: 0 <= value < math.inf, ["loss.sigma"]),
    "at least 2": (lambda value: value >= 2, ["loss.prune_range"]),
    "distinct, at least 0, and with a 1, or some utterances have no path": (
        lambda value: 1 in value and min(value) >= 0 and len(set(value)) == len(value),
        ["loss.durations"],
    ),
    "above 0": (
        lambda value: value > 0,
        ["optim.lr", "endpoint.silence", "endpoint.no_speech", "endpoint.longest"],
    ),
    "at least 0.1 (an encoder frame needs 55 ms)": (
        lambda value: value >= 0.1,
        ["data.min_seconds"],
    ),
    "in [0, 1]": (
        lambda value: 0 <= value <= 1,
        [
            *("noise.probability", "noise.folder_share", "optim.final_ratio"),
            "decode.min_confidence",
            *("augment.floorless", "augment.reverberant", "augment.narrow", "augment.clipped"),
        ],
    ),
    "[least, most] seconds from 0 up": (
        lambda value: len(value) == 2 and 0 <= value[0] <= value[1],
        ["augment.pad_seconds", "evaluate.pad_seconds"],
    ),
    "in [0, 1)": (lambda value: 0 <= value < 1, ["model.dropout", "optim.beta2"]),
    "-1 or at least 1": (lambda value: value == -1 or value >= 1, ["model.chunk_size"]),
    "-1 or at least 0": (lambda value: value >= -1, ["model.left_chunks"]),
    "[lowest, highest]": (
        lambda value: len(value) == 2 and value[0] <= value[1],
        [
            *("noise.snr_db", "augment.gain_db", "augment.floor_dbfs"),
            *("evaluate.gain_db", "evaluate.floor_dbfs", "data.rate_wpm", "data.pitch"),
        ],
    ),
    "speeds from 0.5 to 1.8": (
        lambda value: value and all(0.5 <= speed <= 1.8 for speed in value),
        ["augment.speeds"],
    ),
    "a list that is not empty": (
        bool,
        ["data.train_voices", "data.heldout_voices", "evaluate.train_seeds", "noise.kinds"],
    ),
}

NO_BEAM = (
    "decode.method must be 'greedy' for a model of loss.kind 'tdt', which jumps over frames, but "
    "got 'beam'"
)


def check(config: typing.Any) -> None:
    """`config` is a `config.Config`. A ValueError for the first setting that breaks a rule."""
    for key, choices in CHOICES.items():
        if _value(config, key) not in choices:
            names = ", ".join(map(repr, choices))
            raise ValueError(f"{key} must be one of {names}, but got {_value(config, key)!r}")
    for key, choices in EACH.items():
        for value in _value(config, key):
            if value not in choices:
                names = ", ".join(map(repr, choices))
                raise ValueError(f"{key} may have {names}, but has {value!r}")
    for words, (holds, keys) in RULES.items():
        for key in keys:
            if not holds(_value(config, key)):
                raise ValueError(f"{key} must be {words}, but got {_value(config, key)!r}")
    data = config.data
    if not data.grammar and not data.train:
        raise ValueError("data.grammar may be empty only with a corpus of your own in data.train")
    if not data.min_seconds < data.max_seconds:
        raise ValueError(
            f"data.min_seconds must be below data.max_seconds, but got {data.min_seconds} "
            f"and {data.max_seconds}"
        )
    if config.loss.lm_only_scale + config.loss.am_only_scale > 1:
        raise ValueError(
            "loss.lm_only_scale and loss.am_only_scale must be at most 1 together, but got "
            f"{config.loss.lm_only_scale} and {config.loss.am_only_scale}"
        )
    if config.loss.kind == "tdt" and config.decode.method == "beam":
        raise ValueError(NO_BEAM)
    endpoint = config.endpoint
    if not endpoint.overlap < min(endpoint.silence, endpoint.no_speech):
        raise ValueError(
            "endpoint.overlap must be below endpoint.silence and endpoint.no_speech, but got "
            f"{endpoint.overlap}, {endpoint.silence} and {endpoint.no_speech}"
        )


def _value(config: object, key: str) -> typing.Any:
    section, name = key.split(".")
    return getattr(getattr(config, section), name)
