# SPDX-License-Identifier: Apache-2.0
"""Two workers of msrun are one process with the joined batch."""

import csv
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from recipe_networks import CORPUS, NETWORK, report
from tolerances import TOLERANCE

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.training import loop, parallel

WORKER = """
import os, sys
import mindspore as ms
from mindspore_rnnt.recipe.training import checkpoint
from mindspore_rnnt.recipe.__main__ import main

kept = []
clear = checkpoint.Checkpoints.__init__
def remember(self, folder, parameters, keep):
    kept.extend(parameters)
    clear(self, folder, kept, keep)
checkpoint.Checkpoints.__init__ = remember
if main(sys.argv[1:]):
    sys.exit(1)
ms.save_checkpoint([{"name": p.name, "data": p} for p in kept], f"rank{os.environ['RANK_ID']}.ckpt")
"""


def settings(folder, batch_size):
    more = ["model.dropout=0.1", "train.epochs=2", f"train.batch_size={batch_size}"]
    return config.load(None, [*NETWORK, *CORPUS, "model.blocks=1", *more, f"train.output={folder}"])


def documented():
    """The words after msrun of the command that the docstring gives, for two workers of ours."""
    command = parallel.__doc__.split("msrun ")[1].split("\n\n")[0]
    for ours, theirs in [("8", "2"), ("mindspore_rnnt.recipe", "worker"), ("base", "two")]:
        assert ours in command
        command = command.replace(ours, theirs)
    return shlex.split(command)


def losses(folder):
    with (folder / "steps.csv").open(encoding="utf-8") as stream:
        return [(float(row["loss"]), float(row["norm"])) for row in csv.DictReader(stream)]


def test_two_workers_are_one_process_with_the_joined_batch(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    loop.run(settings(one, 4))

    config.save(settings(two, 2), tmp_path / "two.yaml")
    (tmp_path / "worker.py").write_text(WORKER, encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        [
            binaries / "msrun",
            f"--master_port={port}",
            f"--log_dir={tmp_path / 'log'}",
            *documented(),
        ],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}"},  # msrun calls `python`
        capture_output=True,
        text=True,
    )
    log = "\n".join(item.read_text() for item in (tmp_path / "log").glob("worker_*.log"))
    assert done.returncode == 0, log[-3000:] + done.stderr[-1000:]

    assert len(losses(one)) == len(losses(two)) == 8
    relative = np.array(losses(two)) / np.array(losses(one))
    assert report("loss and norm, relative", relative, 1.0) < TOLERANCE["recipe_update"]
    ranks = [ms.load_checkpoint(str(tmp_path / f"rank{rank}.ckpt")) for rank in (0, 1)]
    single = ms.load_checkpoint(str(one / "checkpoints" / "step-0000008.ckpt"))
    for name, ours in ranks[0].items():
        assert np.array_equal(ours.asnumpy(), ranks[1][name].asnumpy()), f"{name} differs by rank"
        if name in dict(single) and not name.startswith("moment"):
            error = report(name, ours.asnumpy(), single[name].asnumpy())
            assert error < TOLERANCE["recipe_weight"]
