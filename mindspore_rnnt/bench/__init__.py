# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt bench: loss and gradient against what else there is, in one run.

Every contender gets the same problem and a warm-up, is waited for, and includes its log-softmax.
Threads are each contender's own default, or as many for each as the configuration says. Ours reads
packed logits; torchaudio has padded ones only and gets them padded.
"""

import argparse
from pathlib import Path

from ..requirements import check_requirements
from ..tools.command import NO_DEVICE, prepare_folder, require_extra, use_device
from .config import BenchConfig


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m mindspore_rnnt bench", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--config", help="a YAML file, or bench.yaml for the README's table")
    what.add_argument(
        "--device",
        choices=("Ascend", "CPU"),
        help="ours on this device instead, beside the least time that its memory allows",
    )
    parser.add_argument("--output", type=Path, help="folder for tables and plots")
    options = parser.parse_args(arguments)
    config = BenchConfig.load(options.config)
    if config.sweeps:
        require_extra("bench", "matplotlib")  # for the plot, at the end
    check_requirements()
    output = prepare_folder(options.output or Path(config.output))
    if options.device:
        if not use_device("bench", options.device):
            return NO_DEVICE
        from .device import bench_device

        bench_device(options.device, output)
        return 0
    from .run import run

    run(config, output)
    return 0
