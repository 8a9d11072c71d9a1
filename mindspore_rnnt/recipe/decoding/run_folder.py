# SPDX-License-Identifier: Apache-2.0
"""A run's folder: what is needed to use its model, and what is needed to go on with the run.

    config.yaml  vocabulary.txt  cmvn.npy       how to build the model and feed it
    grammar.yaml                                a copy of the commands, if there is a grammar
    model.ckpt                                  weights to use: the mean of the last checkpoints
    checkpoints/                                see `training.checkpoint`

From the end of the first epoch on there is a model to use, better with every epoch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import mindspore as ms
from mindspore import Parameter, Tensor

from ...tools.configs import config_path
from .. import config as configuration
from ..data.features import Cmvn
from ..data.text import Vocabulary
from ..model import transducer
from ..model.transducer import Transducer
from ..settings import Config
from .recogniser import Recogniser

GRAMMAR = "grammar.yaml"
# Settings that neither what is recognised in held-out speech nor how surely depends on.
NO_MATTER = (
    *("train.", "optim.", "augment.", "endpoint."),
    *("data.workers:", "data.processes:", "data.buckets:", "features.cache"),
    *("decode.batch_size:", "decode.min_confidence:"),
    *(f"evaluate.{name}:" for name in ("noise_hours", "others", "pictures", "train_seeds")),
)
WEIGHTS = {"mean": "model.ckpt", "best": "checkpoints/best.ckpt"}


def start_run(folder: str | Path, config: Config, vocabulary: Vocabulary, cmvn: Cmvn) -> None:
    """Write what `load_run` needs beside the weights."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    configuration.save(config, folder / "config.yaml")
    vocabulary.save(folder / "vocabulary.txt")
    cmvn.save(folder / "cmvn.npy")
    if config.data.grammar:  # not copyfile: it may be this very file
        (folder / GRAMMAR).write_bytes(config_path(config.data.grammar).read_bytes())
    else:
        (folder / GRAMMAR).unlink(missing_ok=True)


def load_config(folder: str | Path, overrides: Sequence[str] = ()) -> Config:
    """The configuration of a run or of exported files, with the grammar that lies beside it."""
    folder = Path(folder)
    grammar = folder / GRAMMAR
    if grammar.is_file():
        # The path in quotes, as it is read as YAML; before the others, which may name another.
        quoted = json.dumps(str(grammar), ensure_ascii=False)
        overrides = [f"data.grammar={quoted}", *overrides]
    return configuration.load(folder / "config.yaml", overrides)


def changes(folder: str | Path, config: Config) -> list[str]:
    """`section.key: run's -> config's` where the two would recognise held-out speech otherwise."""
    own = load_config(folder)
    grammars = [
        config_path(item.data.grammar).read_bytes() if item.data.grammar else b""
        for item in (own, config)
    ]
    if grammars[0] == grammars[1]:
        own.data.grammar = config.data.grammar
    lines = configuration.differences(own, config)
    return [line for line in lines if not line.startswith(NO_MATTER)]


def load_run(
    folder: str | Path, config: Config | None = None, weights: str = "mean"
) -> tuple[Recogniser, Config, Vocabulary, Cmvn]:
    """The trained model of a folder, with all that belongs to it.

    `config` takes the place of the run's own; `weights` are of the last checkpoints ("mean") or of
    the one with the lowest held-out CER ("best").
    """
    folder = Path(folder)
    weights_file(folder, weights)
    config = config or load_config(folder)
    vocabulary = Vocabulary.load(folder / "vocabulary.txt")
    model = transducer.build_deployed(config, len(vocabulary))
    load_weights(model, folder, vocabulary, weights)
    return Recogniser(model), config, vocabulary, Cmvn.load(folder / "cmvn.npy")


def load_weights(
    model: Transducer, folder: str | Path, vocabulary: Vocabulary, weights: str = "mean"
) -> None:
    """Give a model the weights of a run's folder, which must be of the same kind.

    What belongs to the loss stays as it is.
    """
    path = weights_file(folder, weights)
    if Vocabulary.load(Path(folder, "vocabulary.txt")).characters != vocabulary.characters:
        raise ValueError(
            f"the model in {str(folder)!r} has another vocabulary; give its vocabulary.txt as "
            "data.vocabulary"
        )
    parameters = {item.name: item for item in model.decoding_params()}
    assign(parameters, load_checkpoint(path), path)


def holds_model(folder: str | Path) -> bool:
    """Whether there are weights of a run, whatever has saved them."""
    found = [*Path(folder).glob("*.ckpt"), *Path(folder).glob("checkpoints/*.ckpt")]
    return any(not path.name.startswith(".") for path in found)  # drafts that a kill has left


def refuse_model(folder: str | Path) -> None:
    """A ValueError if a run is in the folder: files of other commands would replace its own."""
    if holds_model(folder):
        raise ValueError(f"{folder} holds a run: choose another --output")


def weights_file(folder: str | Path, weights: str) -> Path:
    """The file with these weights."""
    path = Path(folder, WEIGHTS[weights])
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no trained model: {path} is missing")
    return path


def load_checkpoint(path: Path, crc_check: bool = False) -> dict[str, Parameter]:
    """`ms.load_checkpoint`, which makes a ValueError of Ctrl-C: here it stays what it is."""
    try:
        return ms.load_checkpoint(str(path), crc_check=crc_check)
    except ValueError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None
        raise


def assign(parameters: dict[str, Parameter], values: dict[str, Parameter], path: Path) -> None:
    """Give all parameters their values, which must have no others of the same parts."""
    parts = {name.partition(".")[0] for name in parameters}
    for name in values:
        if name.partition(".")[0] in parts and name not in parameters:
            raise ValueError(f"{path} has {name!r}; was it made with another configuration?")
    for name, parameter in parameters.items():
        if name not in values:
            raise ValueError(f"{path} lacks {name!r}; was it made with another configuration?")
        if values[name].shape != parameter.shape:
            raise ValueError(
                f"{path} has {name!r} of shape {values[name].shape}, but the configuration "
                f"makes it {parameter.shape}"
            )
        parameter.set_data(Tensor(values[name].asnumpy()))
