# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt.recipe <command>: speech to text to work order, from data to export"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..tools.command import require_extra, run_command

if TYPE_CHECKING:  # commands import when they run: --help needs no extra
    from .settings import Config

DEMO = "runs/demo"


def main(arguments: list[str] | None = None) -> int:
    """Run one command; mistakes of the user are a line, not a traceback."""
    os.environ.setdefault("GLOG_v", "3")  # MindSpore's warnings would break up the progress bar
    options = _parser().parse_args(arguments)

    def work() -> int:
        require_extra("demo", "yaml", "pydantic", "matplotlib", "soundfile", "scipy", "tqdm")
        return options.run(options)

    return run_command("recipe", work, options.debug)


def _demo(options: argparse.Namespace) -> int:
    from .commands import evaluate
    from .training import loop

    config = _config(options)
    config.train.replaceable = True  # a demo can be seen again
    folder = config.train.output
    with _kept(
        f"what was saved stays in {folder}: 'train' with the same options and --resume goes on "
        "from its newest checkpoint"
    ):
        loop.run(config)
    with _kept(f"the trained model stays in {folder}: 'evaluate --checkpoint {folder}' shows it"):
        evaluate.run(folder)
    return 0


def _train(options: argparse.Namespace) -> int:
    from .commands import train

    config = _config(options)
    with _kept(
        f"what was saved stays in {config.train.output}: the same command with --resume goes on "
        "from its newest checkpoint"
    ):
        return train.run(config)


def _evaluate(options: argparse.Namespace) -> int:
    from .commands import evaluate, study
    from .decoding import run_folder

    if options.checkpoint and (options.full or options.config or options.output):
        raise ValueError(
            "--checkpoint is the folder of a run, which has a configuration of its own; change it "
            "by --set, and leave out --config, --output and --full"
        )
    if options.full:
        config = _config(options)
        runs = f"runs that are done stay in {config.train.output}"
        with _kept(f"{runs}: the same command makes all of them again"):
            study.run(config, options.weights)
        return 0
    if options.config:
        config = _config(options)
        folder = config.train.output
    else:
        folder = options.checkpoint or _config(options).train.output
        config = run_folder.load_config(folder, options.set)
    how = {"by_voice": True, "weights": options.weights, "recalibrate": options.recalibrate}
    with _kept(f"what was written stays in {folder}: the same command begins again"):
        evaluate.run(folder, config, **how)
    return 0


def _listen(options: argparse.Namespace) -> int:
    from .commands import listen

    listen.run(options.checkpoint, options.wav, options.weights, options.set)
    return 0


def _synth(options: argparse.Namespace) -> int:
    from .commands import synth

    synth.run(_config(options), options.output or "corpus")
    return 0


def _pack(options: argparse.Namespace) -> int:
    from .commands import pack

    pack.run(_config(options), options.output or "shards", options.shards)
    return 0


def _throughput(options: argparse.Namespace) -> int:
    from .commands import throughput

    throughput.run(_config(options))
    return 0


def _prepare(options: argparse.Namespace) -> int:
    from .commands import prepare

    speakers = options.heldout_speakers.split(",") if options.heldout_speakers else []
    output = options.output or "corpus"
    prepare.run(options.kind, options.folder, output, _config(options), speakers, options.limit)
    return 0


def _export(options: argparse.Namespace) -> int:
    from .commands import export

    output = options.output or Path(options.checkpoint) / "export"
    export.run(options.checkpoint, output, options.weights)
    return 0


@contextmanager
def _kept(what: str) -> Iterator[None]:
    """Ctrl-C within says what is left of the work, and what goes on with it."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"\n{what}", file=sys.stderr)
        raise


def _config(options: argparse.Namespace) -> Config:
    from . import config as configuration

    # Without --config it is the demo, into the folder that the other commands look in.
    ours = [] if options.config else [f"train.output={DEMO}"]
    config = configuration.load(options.config or "tiny.yaml", [*ours, *options.set])
    if options.output:
        config.train.output = options.output
    for name in ("resume", "overwrite"):
        if getattr(options, name, False):
            setattr(config.train, name, True)
    return config


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mindspore_rnnt.recipe", description=__doc__)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name, run, text):
        added = commands.add_parser(name, help=text)
        added.set_defaults(run=run)
        return added

    results = f"folder of results; else train.output, without --config {DEMO}"
    demo = command("demo", _demo, "train, then show what was learned")
    _add_settings(demo, results)
    _add_overwrite(demo)
    train = command("train", _train, "train a model")
    _add_settings(train, results)
    train.add_argument("--resume", action="store_true", help="go on from the newest checkpoint")
    _add_overwrite(train)
    evaluate = command("evaluate", _evaluate, "error rates in noise and by voice")
    _add_settings(evaluate, results)
    _add_model(evaluate, f"folder of a run, whose settings count; else --output, else {DEMO}")
    evaluate.add_argument("--full", action="store_true", help="train several seeds and compare")
    evaluate.add_argument(
        "--recalibrate",
        action="store_true",
        help="let listen take its confidence from this, though it is not the run's own test",
    )
    _add_overwrite(evaluate)
    listen = command("listen", _listen, "from a wav file to a work order")
    _add_model(listen, f"folder of a run or of exported files; else {DEMO}", DEMO)
    _add_changes(listen)
    listen.add_argument("--wav", required=True, help="a file; - reads raw int16 from stdin")
    synth = command("synth", _synth, "write the synthetic corpus as wav files and manifests")
    _add_settings(synth, "folder of the corpus; else corpus")
    pack = command("pack", _pack, "write a corpus as MindRecord files")
    _add_settings(pack, "folder of the files; else shards")
    pack.add_argument("--shards", type=int, default=8, help="files of a part")
    throughput = command("throughput", _throughput, "hours of audio a core prepares in a second")
    _add_settings(throughput, "not used")
    prepare = command("prepare", _prepare, "a manifest from recordings in a Debian package")
    kinds = ("gcin-voice", "fillets-cs", "fillets-nl", "asterisk-en", "pocketsphinx")
    prepare.add_argument("kind", choices=kinds)
    prepare.add_argument("folder", help="where it is unpacked by dpkg -x")
    prepare.add_argument("--heldout-speakers", help="names apart by commas, never trained")
    prepare.add_argument("--limit", type=int, default=0, help="utterances of a part; 0: all")
    _add_settings(prepare, "folder of the corpus; else corpus")
    export = command("export", _export, "write MindIR files to deploy")
    _add_model(export, f"folder of a run; else {DEMO}", DEMO)
    export.add_argument("--output", help="folder of the files; else <checkpoint>/export")
    return parser


def _add_settings(command: argparse.ArgumentParser, output: str) -> None:
    command.add_argument("--config", help="a path, or a name from configs/; else tiny.yaml")
    _add_changes(command)
    command.add_argument("--output", help=output)


def _add_overwrite(command: argparse.ArgumentParser) -> None:
    command.add_argument("--overwrite", action="store_true", help="replace an earlier run")


def _add_changes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="change a setting"
    )


def _add_model(command: argparse.ArgumentParser, folder: str, default: str | None = None) -> None:
    command.add_argument("--checkpoint", default=default, help=folder)
    command.add_argument(
        "--weights",
        choices=("mean", "best"),
        default="mean",
        help="of the last checkpoints, or of that with the lowest held-out CER",
    )


if __name__ == "__main__":
    sys.exit(main())
