# SPDX-License-Identifier: Apache-2.0
"""All settings of the recipe: their defaults, and what each may be."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator
from typing_extensions import Self


def _number(value: Any) -> Any:
    """YAML reads 1e-3 as text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _ordered(values: list) -> list:
    if len(values) != 2 or not values[0] <= values[1]:
        raise ValueError("must be [lowest, highest]")
    return values


def _durations(values: list[int]) -> list[int]:
    if 1 not in values or min(values) < 0 or len(set(values)) < len(values):
        raise ValueError("must be distinct, at least 0, and with a 1, or some speech has no path")
    return values


def _no_zero(value: int) -> int:
    if value == 0:
        raise ValueError("must be -1 or at least 1")
    return value


Item = TypeVar("Item")
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Number = Annotated[float, BeforeValidator(_number)]
Positive = Annotated[Number, Gt(0)]
NotNegative = Annotated[Number, Ge(0)]
Share = Annotated[Number, Ge(0), Le(1)]
Count = Annotated[int, Ge(0)]
ChunkSize = Annotated[int, Ge(-1), AfterValidator(_no_zero)]
AtLeastOne = Annotated[int, Ge(1)]
NonEmpty = Annotated[list[Item], MinLen(1)]
Range = Annotated[list[Number], AfterValidator(_ordered)]
Seconds = Annotated[list[NotNegative], AfterValidator(_ordered)]
IntRange = Annotated[list[int], AfterValidator(_ordered)]

NO_BEAM = (
    "decode.method must be 'greedy' for a model of loss.kind 'tdt', which jumps over frames, but "
    "got 'beam'"
)
NoiseKind = Literal["machine", "broadband", "tonal", "impulsive", "babble"]
TestNoise = Literal["white", "pink", "babble", "impulses", "reverberated"]
Change = Literal["bare", "padded", "quiet", "clipped", "narrow", "reverberant"]


class Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    def but(self, **changes: Any) -> Self:
        """A copy with these values, which are not checked."""
        return self.model_copy(update=changes)


class DataConfig(Section):
    # Empty: synthetic speech from the grammar. Else a JSON-lines manifest, a folder with
    # wav.scp + text, or AISHELL's own wav/train and wav/dev folders.
    train: Text = ""
    heldout: Text = ""
    extra: Text = ""  # a corpus to train beside the synthetic speech: manifest or folder
    grammar: Text = "inspection.yaml"  # of speech and work orders; empty: a corpus without orders
    vocabulary: Text = ""  # one character a line; empty: of the grammar or the training text
    fold_case: bool = False  # make the letters of transcripts small
    strict: bool = False  # bad files are an error instead of a warning
    min_seconds: Annotated[Number, Ge(0.1)] = 0.3  # an encoder frame needs 0.055
    max_seconds: Number = 15.0
    buckets: AtLeastOne = 3  # padded lengths, and so compiles, at most
    train_utterances: AtLeastOne = 600
    train_phrases: Count = 0  # isolated phrases trained beside the sentences
    train_fragments: Count = 0  # and pieces of sentences, cut anywhere
    train_pairs: Count = 0  # utterances of two sentences, or of two recordings by one speaker
    # Trained to be answered with nothing: noise alone, and speech that is not of the grammar.
    train_noises: Count = 0
    train_others: Count = 0
    others: Text = "other_speech.yaml"  # what is said in them, and by those who babble
    heldout_utterances: AtLeastOne = 60
    train_voices: NonEmpty[str] = ["", "f1", "f2", "f4", "m1", "m2", "m3", "m5", "m7"]
    heldout_voices: NonEmpty[str] = ["f3", "m4"]
    rate_wpm: IntRange = [200, 300]
    pitch: IntRange = [25, 75]
    seed: int = 1  # of the split and the voices, apart from train.seed
    workers: AtLeastOne = 1  # that prepare batches ahead; never more than there are cores
    processes: bool = False  # workers are processes and not threads; each has its own cache

    @model_validator(mode="after")
    def _check(self) -> DataConfig:
        if not self.grammar and not self.train:
            raise ValueError(
                "data.grammar may be empty only with a corpus of your own in data.train"
            )
        if not self.min_seconds < self.max_seconds:
            raise ValueError(
                f"data.min_seconds must be below data.max_seconds, but got {self.min_seconds} "
                f"and {self.max_seconds}"
            )
        return self


class FeaturesConfig(Section):
    sample_rate: AtLeastOne = 16000
    mels: AtLeastOne = 80
    window_ms: Positive = 25.0
    hop_ms: Positive = 10.0
    cmvn_utterances: AtLeastOne = 2000  # whose mean and variance are the global ones
    cache: Text = ""  # folder for clean features; empty: in memory
    cache_mb: Count = 1024  # memory for clean features, when there is no folder


class NoiseConfig(Section):
    probability: Share = 0.7
    snr_db: Range = [0.0, 20.0]
    kinds: NonEmpty[NoiseKind] = ["machine", "broadband", "tonal", "impulsive", "babble"]
    # Of each kind so many noises are made, once, and cut from anywhere; 0: each is made anew, which
    # is half of the work of preparing an utterance.
    pieces: Count = 40
    folder: Text = ""  # wav files to mix in, beside the parametric noise
    folder_share: Share = 0.5  # share of noisy utterances that take a file, if there is a folder


class AugmentConfig(Section):
    speeds: NonEmpty[Annotated[Number, Ge(0.5), Le(1.8)]] = [1.0]
    gain_db: Range = [-20.0, 0.0]
    # Speech does not begin with the recording: quiet before and after each utterance, and under
    # it a noise of this level; a share has none, as files cut by a program begin with zeros.
    pad_seconds: Seconds = [0.0, 1.5]
    floor_dbfs: Range = [-80.0, -40.0]
    floorless: Share = 0.1
    # The first epochs hear clean speech, then all of this, gain and noise grow over some more to
    # what is set here: a small network that hears everything at once learns to guess the grammar's
    # next phrase, and stays there for long.
    clean_epochs: Count = 0
    ramp_epochs: Count = 0
    reverberant: Share = 0.0  # shares of utterances in a room, over a radio, and clipped
    narrow: Share = 0.0
    clipped: Share = 0.0
    time_masks: Count = 0
    time_width: Count = 20  # frames, at most
    frequency_masks: Count = 0
    frequency_width: Count = 10  # mel bins, at most


class ModelConfig(Section):
    subsampling: Literal["stack", "conv2d"] = "stack"  # stack: 4 frames
    encoder_dim: AtLeastOne = 96
    blocks: AtLeastOne = 2
    heads: AtLeastOne = 4
    feed_forward: AtLeastOne = 384
    conv_kernel: AtLeastOne = 15
    chunk_size: ChunkSize = 16  # encoder frames of 40 ms; -1: full context
    # Chunks of history seen (4: 2.56 s): what a stream keeps and what a chunk of it costs. -1: all;
    # then both grow until the utterance ends.
    left_chunks: Annotated[int, Ge(-1)] = 4
    predictor: Literal["stateless", "lstm"] = "stateless"
    predictor_dim: AtLeastOne = 96
    predictor_context: AtLeastOne = 2
    joiner_dim: AtLeastOne = 128
    # A model as small as tiny learns far more slowly with any.
    dropout: Annotated[Number, Ge(0), Lt(1)] = 0.0


class LossConfig(Section):
    kind: Literal["rnnt", "pruned", "tdt"] = "rnnt"  # `loss: tdt` in a file is short for this
    # Of tdt: how many frames a token may take, and what paths of few long arcs gain by (see
    # docs/tdt.md). With 0 a frame may emit several characters.
    durations: Annotated[list[int], AfterValidator(_durations)] = [0, 1, 2, 3, 4]
    sigma: NotNegative = 0.05
    # Of pruned: the joiner runs on so many steps of each frame, which a simple joiner chooses; how
    # the simple loss counts, and for how many batches the windows are not yet to be relied on.
    prune_range: Annotated[int, Ge(2)] = 5
    lm_only_scale: NotNegative = 0.25
    am_only_scale: NotNegative = 0.0
    simple_scale: NotNegative = 0.5
    warmup_steps: Count = 200

    @model_validator(mode="after")
    def _check(self) -> LossConfig:
        if self.lm_only_scale + self.am_only_scale > 1:
            raise ValueError(
                "loss.lm_only_scale and loss.am_only_scale must be at most 1 together, but got "
                f"{self.lm_only_scale} and {self.am_only_scale}"
            )
        return self


class OptimConfig(Section):
    lr: Positive = 2e-3
    warmup_steps: Count = 60
    final_ratio: Share = 0.05  # the cosine ends at lr * final_ratio
    beta2: Annotated[Number, Ge(0), Lt(1)] = 0.98
    weight_decay: NotNegative = 0.0
    clip_norm: NotNegative = 5.0
    accumulate: AtLeastOne = 1
    loss_scale: Annotated[Number, Ge(1)] = 1.0


class TrainConfig(Section):
    output: Text = "runs/tiny"
    seed: int = 1
    epochs: AtLeastOne = 22
    batch_size: AtLeastOne = 16  # per rank
    dtype: Literal["float32", "float16"] = "float32"  # of the encoder; float16: Ascend
    jit: bool = True
    # Compile an update once for all padded lengths, and not for each: what compiling costs on a CPU
    # is saved, and data.buckets may be many. Ascend is quicker with few and fixed shapes.
    dynamic_shapes: bool = False
    device: Literal["", "CPU", "Ascend"] = ""  # empty: whatever MindSpore has
    resume: bool = False
    start_from: Text = ""  # folder of a run whose model is trained on; empty: random weights
    overwrite: bool = False  # an earlier run in train.output is lost
    replaceable: bool = False  # the same settings may replace this run; `demo` sets it
    save_every: Count = 0  # steps; 0: each epoch
    keep_last: AtLeastOne = 3
    average: AtLeastOne = 1  # evaluate the mean of the last so many checkpoints
    evaluate_every: AtLeastOne = 1  # epochs
    evaluate_utterances: Count = 0  # held-out utterances decoded then, evenly spread; 0: all
    # e.g. 256MB: no loss ever holds all logits; empty: packed logits, and 256MB for a pruned loss.
    memory_budget: Text = ""
    require_loss_ratio: NotNegative = 0.0  # > 0: fail unless last loss <= ratio * first loss


class DecodeConfig(Section):
    method: Literal["greedy", "beam"] = "greedy"
    beam: AtLeastOne = 4
    max_symbols: AtLeastOne = 3  # per encoder frame
    batch_size: AtLeastOne = 16
    # Of beam search, in nats a label: taken off outside the grammar, added for phrases of your own.
    grammar_weight: NotNegative = 0.0
    bias_phrases: list[str] = []
    bias_weight: NotNegative = 1.0
    min_confidence: Share = 0.5  # that all of a command is right; below, there is no ticket


class EndpointConfig(Section):
    """When an utterance of an open microphone is over, in seconds since its last character."""

    # After speech. A model emits all of a phrase as soon as its first sound is unique. In the 60
    # sentences that test configs/tiny.yaml there were up to 1.7 s between two characters.
    silence: Positive = 2.0
    no_speech: Positive = 5.0  # since the start without any character: nothing is reported
    longest: Positive = 20.0  # since the start
    # Heard again by the next utterance: its first sound may come before its first character.
    overlap: NotNegative = 0.3

    @model_validator(mode="after")
    def _check(self) -> EndpointConfig:
        if not self.overlap < min(self.silence, self.no_speech):
            raise ValueError(
                "endpoint.overlap must be below endpoint.silence and endpoint.no_speech, but got "
                f"{self.overlap}, {self.silence} and {self.no_speech}"
            )
        return self


class EvaluateConfig(Section):
    snr_db: list[Number] = [10.0, 5.0, 0.0]
    # Noises of another construction than those of training, at one ratio; and what rooms and
    # microphones do: see data/conditions.py.
    noises: list[TestNoise] = ["white", "pink", "babble", "impulses", "reverberated"]
    noises_snr_db: Number = 5.0
    changes: list[Change] = ["bare", "padded", "quiet", "clipped", "narrow", "reverberant"]
    pad_seconds: Seconds = [0.0, 1.5]
    floor_dbfs: Range = [-80.0, -40.0]
    gain_db: Range = [-20.0, 0.0]
    # Recordings to test with. Empty: those of noise.folder, and then the rates are optimistic,
    # as the model has been trained with these very recordings.
    noise_folder: Text = ""
    noise_hours: NotNegative = 0.05  # of an open microphone without commands: false tickets
    others: Count = 60  # sayings that are no command
    pairs: Count = 30  # of held-out commands, the second soon after the first
    streamed: Count = 60  # held-out commands that an open microphone hears one after another
    seed: int = 7
    pictures: Count = 3
    train_seeds: NonEmpty[int] = [1, 2, 3]  # of `evaluate --full`


class Config(Section):
    data: DataConfig = DataConfig()
    features: FeaturesConfig = FeaturesConfig()
    noise: NoiseConfig = NoiseConfig()
    augment: AugmentConfig = AugmentConfig()
    model: ModelConfig = ModelConfig()
    loss: LossConfig = LossConfig()
    optim: OptimConfig = OptimConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()
    endpoint: EndpointConfig = EndpointConfig()
    evaluate: EvaluateConfig = EvaluateConfig()

    @model_validator(mode="after")
    def _check(self) -> Config:
        if self.loss.kind == "tdt" and self.decode.method == "beam":
            raise ValueError(NO_BEAM)
        return self
