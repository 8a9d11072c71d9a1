# SPDX-License-Identifier: Apache-2.0
"""The command line: doctor and bench."""

import csv
import os
import subprocess
import sys
from time import sleep

import pytest

from mindspore_rnnt.__main__ import COMMANDS, main
from mindspore_rnnt.bench import timing
from mindspore_rnnt.bench.contenders import memory_bytes
from mindspore_rnnt.bench.problems import librispeech, uniform

CONFIG = """
seconds: 0.01
sizes: [[2, 5, 3, 7]]
lengths: lengths.csv
utterances: [2]
vocabularies: [6]
profile: [[2, 5, 3, 7]]
sweep_base: [2, 5, 3, 7]
sweeps: {V: [5, 9], threads: [1, 2]}
peers: [torchaudio, stream]
"""


def test_doctor_finds_everything(capsys):
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    print(output)
    for what in (
        "mindspore_rnnt",
        "MindSpore",
        "SIMD level",
        "threads",
        "rnnt_loss",
        "NPU",
        "CANN",
    ):
        assert what in output


def test_doctor_says_how_to_mend_a_missing_library(capsys, monkeypatch, tmp_path):
    from mindspore_rnnt import native

    monkeypatch.setattr(native, "_LIBRARY", tmp_path / "none.so")
    assert main(["doctor"]) == 1
    assert "pip install" in capsys.readouterr().out


def test_doctor_says_which_simd_levels_there_are():
    command = [sys.executable, "-m", "mindspore_rnnt", "doctor"]
    environment = {**os.environ, "MINDSPORE_RNNT_CPU": "sse9"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "MINDSPORE_RNNT_CPU must be one of" in done.stdout and "portable" in done.stdout


def test_usage_names_every_command(capsys):
    assert main([]) == 2 and main(["--help"]) == 0 and main(["nonsense"]) == 2
    output = capsys.readouterr().out
    assert all(command in output for command in COMMANDS)


def test_bench_writes_table_csv_and_plot(tmp_path):
    (tmp_path / "lengths.csv").write_text("# source\nframes,labels\n4,2\n3,1\n9,9\n")
    (tmp_path / "bench.yaml").write_text(CONFIG)
    output = tmp_path / "out"
    assert main(["bench", "--config", str(tmp_path / "bench.yaml"), "--output", str(output)]) == 0
    with (output / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["section"] for row in rows} == {"sizes", "LibriSpeech", "profile", "V", "threads"}
    assert {"two-op jit", "fused pynative", "torchaudio", "stream"} <= {
        r["contender"] for r in rows
    }
    assert all(float(row["low"]) <= float(row["ms"]) <= float(row["high"]) for row in rows)
    assert "torchaudio takes" in (output / "results.md").read_text()
    assert (output / "scaling.png").stat().st_size > 1000


def test_bench_refuses_unknown_keys(tmp_path):
    (tmp_path / "bench.yaml").write_text("sises: []")
    with pytest.raises(ValueError, match=r"unknown keys \['sises'\]"):
        main(["bench", "--config", str(tmp_path / "bench.yaml")])


def test_problems_keep_pairs_together_and_lay_out_the_same_logits(tmp_path):
    (tmp_path / "lengths.csv").write_text("frames,labels\n4,2\n3,3\n9,9\n")
    problem = librispeech(tmp_path / "lengths.csv", 2, 6)
    assert problem.lengths == ((4, 2), (3, 3)) and problem.bytes == (12 + 12) * 6 * 4
    packed, padded = problem.packed(), problem.padded()
    assert padded.shape == (2, 4, 4, 6)
    assert (padded[0, :, :3].reshape(-1, 6) == packed[:12]).all()
    assert (padded[1, :3].reshape(-1, 6) == packed[12:]).all()
    assert uniform(2, 5, 3, 7, "float16").bytes == 2 * 5 * 4 * 7 * 2


def test_contenders_that_memory_does_not_hold(monkeypatch, capsys):
    problem = uniform(1, 3, 2, 5)
    need = memory_bytes("fused pynative", problem)
    assert memory_bytes("stream", problem) < need == memory_bytes("torchaudio", problem)
    both = ["fused pynative", "stream"]
    monkeypatch.setattr(timing, "_available_bytes", lambda: need)
    assert list(timing.measure(problem, both, 0, 0.0)) == both  # one after another
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(timing, "_available_bytes", lambda: need - 1)
    assert list(timing.measure(problem, both, 0, 0.0)) == ["stream"]
    assert "fused pynative is left out" in capsys.readouterr().out


def test_slow_calls_are_measured_once():
    calls = {"slow": lambda: sleep(0.02), "quick": lambda: None}
    timings = timing.measure_calls(calls, 0.001)
    assert timings["slow"].rounds == 1 and timings["slow"].median >= 0.02
    assert timings["quick"].rounds == timing.MOST_ROUNDS
