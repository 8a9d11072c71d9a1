# SPDX-License-Identifier: Apache-2.0
"""Exported MindIR files (`commands.export` makes them) as a network that every decoder takes."""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
from mindspore import nn

from ..data.features import Cmvn
from ..data.text import Vocabulary
from ..model.transducer import Transducer, build_deployed
from ..settings import Config
from .recogniser import Recogniser
from .run_folder import load_config


def load(
    folder: str | Path, config: Config | None = None
) -> tuple[ExportedRecogniser, Config, Vocabulary, Cmvn]:
    """The exported network, as every decoder takes it, with all that belongs to it.

    `config` takes the place of the folder's own.
    """
    folder = Path(folder)
    config = config or load_config(folder)
    vocabulary = Vocabulary.load(folder / "vocabulary.txt")
    recogniser = ExportedRecogniser(folder, build_deployed(config, len(vocabulary)))
    return recogniser, config, vocabulary, Cmvn.load(folder / "cmvn.npy")


class ExportedRecogniser(Recogniser):
    """Runs the files; of the model it takes the shapes, never a weight."""

    def __init__(self, folder: Path, model: Transducer):
        super().__init__(model)
        self._encode, self._predict = _graph(folder / "encoder"), _graph(folder / "predictor")
        self._join = _graph(folder / "joiner")
        if self.chunk_size > 0:
            chunk_graph = _graph(folder / "encoder_chunk")
            self._encode_chunk = lambda *inputs: chunk_graph(*inputs[:-1], *inputs[-1])


def _graph(path: Path) -> nn.GraphCell:
    return nn.GraphCell(ms.load(f"{path}.mindir"))
