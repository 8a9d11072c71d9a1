# SPDX-License-Identifier: Apache-2.0
"""MindIR files to deploy: the network without the loss, in the parts that decoding calls.

    encoder.mindir        features (B, T, mels), frame_lengths (B,) -> frames (B, T // 4, D)
    encoder_chunk.mindir  a chunk of a stream, two counts and the cache: `ConformerEncoder.step`
    predictor.mindir      tokens (n,) and a state -> output (n, D) and the next state
    joiner.mindir         frames (1, n, De), outputs (1, n, Dp), rows 0 .. n - 1 -> logits (n, V);
                          of a TDT model two outputs, the other the durations' logits (n, D)

B, T, n and the room of the cache are free, T a multiple of 4. config.yaml, vocabulary.txt,
cmvn.npy, calibration.json and the grammar come along.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import mindspore as ms
from mindspore import Tensor, nn

from ...tools.command import prepare_folder
from ...tools.configs import config_path
from ..data.buckets import SUBSAMPLING
from ..decoding.confidence import Calibration
from ..decoding.recogniser import free
from ..decoding.run_folder import GRAMMAR, load_run, refuse_model
from ..model.transducer import Transducer
from ..settings import Config

BESIDE = ("config.yaml", "vocabulary.txt", "cmvn.npy")


def run(checkpoint: str | Path, output: str | Path, weights: str = "mean") -> Path:
    """Export the model of a run's folder; returns the folder of the files."""
    folder = Path(output)
    refuse_model(folder)
    recogniser, config, _, _ = load_run(checkpoint, weights=weights)
    prepare_folder(folder)
    for name in BESIDE:
        shutil.copyfile(Path(checkpoint) / name, folder / name)
    Calibration.load(checkpoint).save(folder)
    if config.data.grammar:
        shutil.copyfile(config_path(config.data.grammar), folder / GRAMMAR)
    for name, (cell, inputs) in _parts(recogniser.model, config).items():
        ms.export(
            cell.set_train(False), *inputs, file_name=str(folder / name), file_format="MINDIR"
        )
        print(folder / f"{name}.mindir")
    return folder


def _parts(model: Transducer, config: Config) -> dict[str, tuple[nn.Cell, list[Tensor]]]:
    """Each part as a Cell, and what stands for its inputs."""
    sizes, mels = config.model, config.features.mels
    integers = free(None, dtype=ms.int32)
    state = [free(None, *item.shape[1:], dtype=item.dtype) for item in model.predictor.start(1)]
    pair = [free(1, None, size) for size in (sizes.encoder_dim, sizes.predictor_dim)]
    parts = {
        "encoder": (model.encoder, [free(None, None, mels), integers]),
        "predictor": (_Step(model.predictor), [integers, *state]),
        "joiner": (_Join(model.joiner), [*pair, integers]),
    }
    if sizes.chunk_size > 0:
        chunk = free(1, SUBSAMPLING * sizes.chunk_size, mels)
        count = free(dtype=ms.int32)
        cache = [free(*shape) for shape in model.encoder.cache_shapes(None)]
        parts["encoder_chunk"] = (_Step(model.encoder), [chunk, count, count, *cache])
    return parts


class _Step(nn.Cell):
    """The method `step` as a Cell, the form that MindIR is made of."""

    def __init__(self, part: nn.Cell):
        super().__init__()
        self.part = part

    def construct(self, *inputs: Tensor) -> tuple:
        return self.part.step(*inputs)


class _Join(nn.Cell):
    def __init__(self, joiner: nn.Cell):
        super().__init__()
        self.joiner = joiner

    def construct(self, frames: Tensor, outputs: Tensor, rows: Tensor) -> Tensor | tuple:
        return self.joiner(frames, outputs, rows, rows)
