# SPDX-License-Identifier: Apache-2.0
"""One typed configuration: the defaults below, then a YAML file, then `--set section.key=value`."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import os
import typing
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from . import rules

PACKAGE = Path(__file__).resolve().parents[1]
SHORT = {"loss": "kind"}  # the key that a section is about: `loss: tdt` is `loss: {kind: tdt}`


@dataclass
class DataConfig:
    # Empty: synthetic speech from the grammar. Else a JSON-lines manifest, a folder with
    # wav.scp + text, or AISHELL's own wav/train and wav/dev folders.
    train: str = ""
    heldout: str = ""
    extra: str = ""  # a corpus to train beside the synthetic speech: manifest or folder
    grammar: str = "inspection.yaml"  # of speech and work orders; empty: a corpus without orders
    vocabulary: str = ""  # one character a line; empty: of the grammar or the training text
    fold_case: bool = False  # make the letters of transcripts small
    strict: bool = False  # bad files are an error instead of a warning
    min_seconds: float = 0.3
    max_seconds: float = 15.0
    buckets: int = 3  # padded lengths, and so compiles, at most
    train_utterances: int = 600
    train_phrases: int = 0  # isolated phrases trained beside the sentences
    train_fragments: int = 0  # and pieces of sentences, cut anywhere
    # Trained to be answered with nothing: noise alone, and speech that is not of the grammar.
    train_noises: int = 0
    train_others: int = 0
    others: str = "other_speech.yaml"  # what is said in them, and by those who babble
    heldout_utterances: int = 60
    train_voices: list[str] = field(
        default_factory=lambda: ["", "f1", "f2", "f4", "m1", "m2", "m3", "m5", "m7"]
    )
    heldout_voices: list[str] = field(default_factory=lambda: ["f3", "m4"])
    rate_wpm: list[int] = field(default_factory=lambda: [200, 300])
    pitch: list[int] = field(default_factory=lambda: [25, 75])
    seed: int = 1  # of the split and the voices, apart from train.seed
    workers: int = 1  # that prepare batches ahead of training; never more than there are cores
    processes: bool = False  # workers are processes and not threads; each has its own cache


@dataclass
class FeaturesConfig:
    sample_rate: int = 16000
    mels: int = 80
    window_ms: float = 25.0
    hop_ms: float = 10.0
    cmvn_utterances: int = 2000  # the global mean and variance come from so many, evenly spread
    cache: str = ""  # folder for clean features; empty: in memory
    cache_mb: int = 1024  # memory for clean features, when there is no folder


@dataclass
class NoiseConfig:
    probability: float = 0.7
    snr_db: list[float] = field(default_factory=lambda: [0.0, 20.0])
    kinds: list[str] = field(
        default_factory=lambda: ["machine", "broadband", "tonal", "impulsive", "babble"]
    )
    folder: str = ""  # wav files to mix in, beside the parametric noise
    folder_share: float = 0.5  # share of noisy utterances that take a file, if there is a folder


@dataclass
class AugmentConfig:
    speeds: list[float] = field(default_factory=lambda: [1.0])
    gain_db: list[float] = field(default_factory=lambda: [-20.0, 0.0])
    # Speech does not begin with the recording: quiet before and after each utterance, and under
    # it a noise of this level; a share has none, as files cut by a program begin with zeros.
    pad_seconds: list[float] = field(default_factory=lambda: [0.0, 1.5])
    floor_dbfs: list[float] = field(default_factory=lambda: [-80.0, -40.0])
    floorless: float = 0.1
    # The first epochs hear clean speech, then all of this, gain and noise grow over some more to
    # what is set here: a small network that hears everything at once learns to guess the grammar's
    # next phrase, and stays there for long.
    clean_epochs: int = 0
    ramp_epochs: int = 0
    reverberant: float = 0.0  # shares of utterances in a room, over a radio, and clipped
    narrow: float = 0.0
    clipped: float = 0.0
    time_masks: int = 0
    time_width: int = 20  # frames, at most
    frequency_masks: int = 0
    frequency_width: int = 10  # mel bins, at most


@dataclass
class ModelConfig:
    subsampling: str = "stack"  # stack (4 frames) | conv2d
    encoder_dim: int = 96
    blocks: int = 2
    heads: int = 4
    feed_forward: int = 384
    conv_kernel: int = 15
    chunk_size: int = 16  # encoder frames of 40 ms; -1: full context
    # Chunks of history seen (4: 2.56 s): what a stream keeps and what a chunk of it costs. -1: all;
    # then both grow until the utterance ends.
    left_chunks: int = 4
    predictor: str = "stateless"  # stateless | lstm
    predictor_dim: int = 96
    predictor_context: int = 2
    joiner_dim: int = 128
    dropout: float = 0.0  # a model as small as tiny learns far more slowly with any


@dataclass
class LossConfig:
    kind: str = "rnnt"  # rnnt | pruned | tdt; `loss: tdt` in a file is short for this alone
    # Of tdt: how many frames a token may take, and what paths of few long arcs gain by (see
    # docs/tdt.md). With 0 a frame may emit several characters.
    durations: list[int] = field(default_factory=lambda: [0, 1, 2, 3, 4])
    sigma: float = 0.05
    # Of pruned: the joiner runs on so many steps of each frame, which a simple joiner chooses; how
    # the simple loss counts, and for how many batches the windows are not yet to be relied on.
    prune_range: int = 5
    lm_only_scale: float = 0.25
    am_only_scale: float = 0.0
    simple_scale: float = 0.5
    warmup_steps: int = 200


@dataclass
class OptimConfig:
    lr: float = 2e-3
    warmup_steps: int = 60
    final_ratio: float = 0.05  # the cosine ends at lr * final_ratio
    beta2: float = 0.98
    weight_decay: float = 0.0
    clip_norm: float = 5.0
    accumulate: int = 1
    loss_scale: float = 1.0


@dataclass
class TrainConfig:
    output: str = "runs/tiny"
    seed: int = 1
    epochs: int = 22
    batch_size: int = 16  # per rank
    dtype: str = "float32"  # of the encoder: float32 | float16 (Ascend)
    jit: bool = True
    device: str = ""  # CPU | Ascend; empty: whatever MindSpore has
    resume: bool = False
    start_from: str = ""  # folder of a run whose model is trained on; empty: random weights
    overwrite: bool = False  # an earlier run in train.output is lost
    save_every: int = 0  # steps; 0: each epoch
    keep_last: int = 3
    average: int = 1  # evaluate the mean of the last so many checkpoints
    evaluate_every: int = 1  # epochs
    evaluate_utterances: int = 0  # held-out utterances decoded then, evenly spread; 0: all
    # e.g. 256MB: no loss ever holds all logits; empty: packed logits, and 256MB for a pruned loss.
    memory_budget: str = ""
    require_loss_ratio: float = 0.0  # > 0: fail unless last loss <= ratio * first loss


@dataclass
class DecodeConfig:
    method: str = "greedy"  # greedy | beam
    beam: int = 4
    max_symbols: int = 3  # per encoder frame
    batch_size: int = 16
    # Of beam search, in nats a label: taken off outside the grammar, added for phrases of your own.
    grammar_weight: float = 0.0
    bias_phrases: list[str] = field(default_factory=list)
    bias_weight: float = 1.0
    min_confidence: float = 0.5  # that all of a command is right; below, there is no ticket


@dataclass
class EndpointConfig:
    """When an utterance of an open microphone is over, in seconds since its last character."""

    silence: float = 1.0  # after speech
    no_speech: float = 5.0  # since the start without any character: nothing is reported
    longest: float = 20.0  # since the start
    # Heard again by the next utterance: its first sound may come before its first character.
    overlap: float = 0.3


@dataclass
class EvaluateConfig:
    snr_db: list[float] = field(default_factory=lambda: [10.0, 5.0, 0.0])
    # Noises of another construction than those of training, at one ratio; and what rooms and
    # microphones do: see data/conditions.py.
    noises: list[str] = field(
        default_factory=lambda: ["white", "pink", "babble", "impulses", "reverberated"]
    )
    noises_snr_db: float = 5.0
    changes: list[str] = field(
        default_factory=lambda: ["bare", "padded", "quiet", "clipped", "narrow", "reverberant"]
    )
    pad_seconds: list[float] = field(default_factory=lambda: [0.0, 1.5])
    floor_dbfs: list[float] = field(default_factory=lambda: [-80.0, -40.0])
    gain_db: list[float] = field(default_factory=lambda: [-20.0, 0.0])
    # Recordings to test with. Empty: those of noise.folder, and then the rates are optimistic,
    # as the model has been trained with these very recordings.
    noise_folder: str = ""
    noise_hours: float = 0.05  # of an open microphone without commands: false tickets
    others: int = 60  # sayings that are no command
    seed: int = 7
    pictures: int = 3
    train_seeds: list[int] = field(default_factory=lambda: [1, 2, 3])  # of `evaluate --full`


@dataclass
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    endpoint: EndpointConfig = field(default_factory=EndpointConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)

    def to_dict(self) -> dict:
        return dataclasses.asdict(self)


def load(path: str | Path | None = None, overrides: typing.Sequence[str] = ()) -> Config:
    """The defaults, then the YAML file, then `section.key=value` overrides in order."""
    config = Config()
    if path is not None:
        found = find(path)
        tree = yaml.safe_load(found.read_text(encoding="utf-8")) or {}
        _merge(config, tree, where=str(found))
    for text in overrides:
        key, equals, value = text.partition("=")
        section, *names = key.strip().split(".")
        names = names or [SHORT[section]] if section in SHORT else names
        if not equals or len(names) != 1:
            raise ValueError(f"--set wants section.key=value, but got {text!r}")
        _merge(config, {section: {names[0]: yaml.safe_load(value)}}, where=f"--set {text}")
    rules.check(config)
    return config


def save(config: Config, path: str | Path) -> None:
    """Write every value, so that a run can be repeated when defaults have changed."""
    text = yaml.safe_dump(config.to_dict(), allow_unicode=True, sort_keys=False)
    draft = Path(f"{path}.tmp")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def differences(old: Config, new: Config) -> list[str]:
    """`section.key: old -> new` for every value that has changed."""
    pairs = zip(old.to_dict().items(), new.to_dict().values())
    return [
        f"{section}.{key}: {value!r} -> {changed[key]!r}"
        for (section, values), changed in pairs
        for key, value in values.items()
        if value != changed[key]
    ]


def find(path: str | Path) -> Path:
    """A path as given, or a name from configs/ of the source tree or of the installed package."""
    places = [Path(path), PACKAGE.parent / "configs" / path, PACKAGE / "_configs" / path]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError(
        f"no configuration {str(path)!r}; looked for " + ", ".join(map(str, places))
    )


def _merge(config: Config, tree: object, where: str) -> None:
    for name, values in _items(tree, where):
        section = getattr(config, _known(config, name, where, "section"))
        if name in SHORT and isinstance(values, str):
            values = {SHORT[name]: values}
        for key, value in _items(values, f"{where}: {name}"):
            _known(section, key, where, f"key in '{name}'")
            kind = typing.get_type_hints(type(section))[key]
            setattr(section, key, _cast(value, kind, f"{where}: {name}.{key}"))


def _items(tree: object, where: str) -> typing.Iterable[tuple[str, object]]:
    if not isinstance(tree, dict):
        raise ValueError(f"{where} must be a mapping, but got {type(tree).__name__}")
    return tree.items()


def _known(section: typing.Any, key: str, where: str, what: str) -> str:
    names = [item.name for item in dataclasses.fields(section)]
    if key in names:
        return key
    near = difflib.get_close_matches(str(key), names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "known: " + ", ".join(names)
    raise ValueError(f"{where}: unknown {what}: '{key}'; {hint}")


def _cast(value: object, kind: typing.Any, where: str) -> object:
    """`value` as `kind`; only casts that lose nothing (YAML reads 1e-3 as a string)."""
    if typing.get_origin(kind) is list:
        if not isinstance(value, list):
            raise ValueError(f"{where} must be a list, but got {value!r}")
        return [_cast(item, typing.get_args(kind)[0], where) for item in value]
    if kind is str:
        value = "" if value is None else value
    elif kind is float and not isinstance(value, bool) and isinstance(value, (int, float, str)):
        with contextlib.suppress(ValueError):
            value = float(value)
    if type(value) is not kind:
        raise ValueError(f"{where} must be {kind.__name__}, but got {value!r}")
    return value
