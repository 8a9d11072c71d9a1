# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt.recipe demo | train | evaluate | listen | synth | export"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import config as configuration


def main(arguments: list[str] | None = None) -> int:
    """Run one command; mistakes of the user are a line, not a traceback."""
    os.environ.setdefault("GLOG_v", "3")  # MindSpore's warnings would break up the progress bar
    options = _parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except (ValueError, FileNotFoundError, RuntimeError) as error:
        if options.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1


def _demo(options: argparse.Namespace) -> int:
    from . import evaluate, train

    config = _config(options)
    train.run(config)
    evaluate.run(config.train.output)
    return 0


def _train(options: argparse.Namespace) -> int:
    from . import train

    config = _config(options)
    return _check_learning(config, train.run(config))


def _check_learning(config: configuration.Config, history: list[dict]) -> int:
    """1 when the configuration wants the loss to fall and it did not."""
    wanted = config.train.require_loss_ratio
    if not wanted:
        return 0
    first, last = history[0]["loss"], history[-1]["loss"]
    print(f"loss {first:.3f} -> {last:.3f}; required at most {wanted} of the first")
    return 0 if last <= wanted * first else 1


def _evaluate(options: argparse.Namespace) -> int:
    from . import evaluate, study

    if options.full:
        study.run(_config(options))
    else:
        evaluate.run(options.checkpoint or _config(options).train.output, by_voice=True)
    return 0


def _listen(options: argparse.Namespace) -> int:
    from . import listen

    listen.run(options.checkpoint, options.wav)
    return 0


def _synth(options: argparse.Namespace) -> int:
    from . import corpus, dataset

    train, heldout, vocabulary = dataset.load(_config(options))
    folder = Path(options.output or "corpus")
    for name, part in (("train", train), ("heldout", heldout)):
        print(corpus.write_manifest(part, folder, name), len(part), "utterances")
    vocabulary.save(folder / "vocabulary.txt")
    return 0


def _export(options: argparse.Namespace) -> int:
    from . import export

    export.run(options.checkpoint, options.output or str(Path(options.checkpoint) / "export"))
    return 0


def _config(options: argparse.Namespace) -> configuration.Config:
    config = configuration.load(options.config, options.set)
    if options.output:
        config.train.output = options.output
    if getattr(options, "resume", False):
        config.train.resume = True
    return config


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mindspore_rnnt.recipe", description=__doc__)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="command")

    settings = argparse.ArgumentParser(add_help=False)
    settings.add_argument("--config", default="tiny.yaml", help="a path, or a name from configs/")
    settings.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="change a setting"
    )
    settings.add_argument("--output", help="folder of results; else train.output")

    def command(name, run, text, settings_too=True):
        added = commands.add_parser(name, help=text, parents=[settings] if settings_too else [])
        added.set_defaults(run=run)
        return added

    command("demo", _demo, "train, then show what was learned")
    train = command("train", _train, "train a model")
    train.add_argument("--resume", action="store_true", help="go on from the newest checkpoint")
    evaluate = command("evaluate", _evaluate, "error rates in noise and by voice")
    evaluate.add_argument("--checkpoint", help="folder of a run; else --output")
    evaluate.add_argument("--full", action="store_true", help="train several seeds and compare")
    listen = command("listen", _listen, "from a wav file to a work order", settings_too=False)
    listen.add_argument("--checkpoint", default="runs/demo", help="folder of a run")
    listen.add_argument("--wav", required=True, help="a file; - reads raw int16 from stdin")
    command("synth", _synth, "write the synthetic corpus as wav files and manifests")
    export = command("export", _export, "write MindIR files to deploy", settings_too=False)
    export.add_argument("--checkpoint", default="runs/demo", help="folder of a run")
    export.add_argument("--output", help="folder of the files; else <checkpoint>/export")
    return parser


if __name__ == "__main__":
    sys.exit(main())
