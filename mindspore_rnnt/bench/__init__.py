# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt bench: loss and gradient against what else there is, in one run.

Every contender gets the same problem and a warm-up, is waited for, and includes its log-softmax.
Threads are each contender's own default, or as many for each as the configuration says. Ours reads
packed logits; torchaudio has padded ones only and gets them padded.
"""

import argparse
from pathlib import Path

from ..requirements import check_requirements
from ..tools.command import prepare_folder, require_extra
from .config import BenchConfig


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m mindspore_rnnt bench", description=__doc__)
    parser.add_argument("--config", help="a YAML file, or bench.yaml for the README's table")
    parser.add_argument("--output", type=Path, help="folder for tables and plots")
    options = parser.parse_args(arguments)
    config = BenchConfig.load(options.config)
    if config.sweeps:
        require_extra("bench", "matplotlib")  # for the plot, at the end
    check_requirements()
    output = prepare_folder(options.output or Path(config.output))
    from .run import run

    run(config, output)
    return 0
