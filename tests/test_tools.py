# SPDX-License-Identifier: Apache-2.0
"""The command line: doctor and bench."""

import builtins
import csv
import os
import signal
import subprocess
import sys

import pytest

from mindspore_rnnt.__main__ import COMMANDS, main
from mindspore_rnnt.bench import contenders, timing
from mindspore_rnnt.bench import run as bench_run
from mindspore_rnnt.bench.config import BenchConfig
from mindspore_rnnt.bench.contenders import memory_bytes
from mindspore_rnnt.bench.problems import librispeech, uniform
from mindspore_rnnt.bench.profile import KERNELS
from mindspore_rnnt.bench.report import Report

CONFIG = """
seconds: 0.01
sizes: [[2, 5, 3, 7]]
lengths: lengths.csv
utterances: [2]
vocabularies: [6]
profile: [[2, 5, 3, 7]]
sweep_base: [2, 5, 3, 7]
sweeps: {V: [5], threads: [1]}
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

    monkeypatch.setattr(native.library, "_LIBRARY", tmp_path / "none.so")
    assert main(["doctor"]) == 1
    assert "pip install" in capsys.readouterr().out


def test_doctor_says_which_simd_levels_there_are():
    command = [sys.executable, "-m", "mindspore_rnnt", "doctor"]
    environment = {**os.environ, "MINDSPORE_RNNT_CPU": "sse9"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "MINDSPORE_RNNT_CPU must be one of" in done.stdout and "portable" in done.stdout
    assert "but is 'sse9'" in done.stdout


def test_an_unknown_simd_level_is_an_error_of_the_stream_too():
    """In a process of its own: the level is chosen once, and a C++ exception would abort."""
    code = """
import numpy as np
from mindspore_rnnt import native
try:
    native.stream_seconds(np.zeros(64, np.uint8), np.zeros(64, np.uint8))
except RuntimeError as error:
    print(error)
"""
    environment = {**os.environ, "MINDSPORE_RNNT_CPU": "sse9"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("MINDSPORE_RNNT_CPU must be one of")
    assert done.stdout.endswith("but is 'sse9'\n")


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
    alone = [row["section"] for row in rows if row["contender"] == KERNELS]
    assert alone == ["profile", "threads"]
    assert {"two-op jit", "fused pynative", "torchaudio", "stream"} <= {
        r["contender"] for r in rows
    }
    assert all(float(row["low"]) <= float(row["ms"]) <= float(row["high"]) for row in rows)
    assert "torchaudio takes" in (output / "results.md").read_text()
    assert (output / "scaling.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "content, fault",
    [
        (b"frames,labels\n4,2\n3\n", "row 2 must have .* but has '3' and None"),
        (b"frames,labels\n0,2\n", "row 1 must have at least 1 frame"),
        (b"frames,labels\n4,two\n", "but has '4' and 'two'"),
        (b"T,U\n4,2\n", "must have columns 'frames' and 'labels', but has"),
        (b"", "must have columns"),
        (b"# source\nframes,labels\n", "has no utterance"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_a_bad_table_of_lengths_is_refused_before_anything_runs(tmp_path, content, fault):
    (tmp_path / "lengths.csv").write_bytes(content)
    file = tmp_path / "bench.yaml"
    file.write_text("lengths: lengths.csv\nutterances: [1]\nvocabularies: [5]\n")
    with pytest.raises(ValueError, match=f"lengths.csv.* {fault}"):
        BenchConfig.load(file)


def test_problems_keep_pairs_together_and_lay_out_the_same_logits(tmp_path):
    (tmp_path / "lengths.csv").write_text("frames,labels\n4,2\n3,3\n9,9\n")
    problem = librispeech(tmp_path / "lengths.csv", 2, 6)
    assert problem.lengths == ((4, 2), (3, 3)) and problem.bytes == (12 + 12) * 6 * 4
    packed, padded = problem.packed(), problem.padded()
    assert padded.shape == problem.padded_shape == (2, 4, 4, 6)
    assert (padded[0, :, :3].reshape(-1, 6) == packed[:12]).all()
    assert (padded[1, :3].reshape(-1, 6) == packed[12:]).all()
    assert uniform(2, 5, 3, 7, "float16").bytes == 2 * 5 * 4 * 7 * 2


def test_memory_of_contenders_that_share_their_logits():
    problem = uniform(1, 3, 2, 5)  # 45 entries
    ours, peers = ["fused pynative", "two-op jit"], ["torchaudio", "fast_rnnt"]
    assert memory_bytes(ours[:1], problem) == memory_bytes(ours, problem) == 3 * 4 * 45
    assert memory_bytes(peers, problem) == 2 * 3 * 4 * 45
    assert memory_bytes([*peers, "stream", *ours], problem) == 3 * 3 * 4 * 45 + 2 * 4 * 45
    assert memory_bytes([], problem) == 0


@pytest.fixture
def memory(monkeypatch):
    """A list of what the machine has to say of its free memory, call after call."""
    answers = []
    monkeypatch.setattr(timing, "_available_bytes", lambda: answers.pop(0))
    return answers


@pytest.fixture
def groups(monkeypatch):
    """The groups that are made, instead of making them."""
    made = []

    def make(group, problem, threads):
        made.append(group)
        return {name: lambda: None for name in group}

    monkeypatch.setattr(timing, "make", make)
    return made


ALL = ["two-op jit", "torchaudio", "fused jit", "stream"]


def test_contenders_run_side_by_side_where_memory_holds_all(memory, groups, capsys):
    problem = uniform(1, 3, 2, 5)
    need = memory_bytes(ALL, problem)
    memory[:] = [need, need]
    assert list(timing.measure(problem, ALL, 0, 0.0)) == ALL
    assert groups == [ALL] and capsys.readouterr().out == ""


def test_contenders_run_peers_first_where_memory_is_short(memory, groups, capsys):
    problem = uniform(1, 3, 2, 5)
    need = memory_bytes(ALL, problem)
    memory[:] = [need - 1, need, need, need]
    assert list(timing.measure(problem, ALL, 0, 0.0)) == ALL  # the order of the table
    assert groups == [["torchaudio"], ["stream"], ["two-op jit", "fused jit"]]
    assert capsys.readouterr().out == ""


def test_contenders_that_memory_does_not_hold_when_it_is_their_turn(memory, groups, capsys):
    problem = uniform(1, 3, 2, 5)
    peer, ours = memory_bytes(["torchaudio"], problem), memory_bytes(["fused jit"], problem)
    memory[:] = [0, peer, 0, ours - 1]
    assert list(timing.measure(problem, ALL, 0, 0.0)) == ["torchaudio"]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" is left out")[0] for line in lines] == [
        "stream",
        "two-op jit",
        "fused jit",
    ]


def test_no_table_where_every_contender_is_left_out(tmp_path, capsys):
    report, problem = Report(tmp_path), uniform(1, 3, 2, 5)
    report.add("sizes", problem, 0, {})
    assert capsys.readouterr().out == "" and report.rows == []
    report.add("sizes", problem, 0, {"torchaudio": timing.Timing(0.004, 0.003, 0.005, 3)})
    first = capsys.readouterr().out
    assert "| torchaudio | 4.00 (3.00 - 5.00) | 1.0x |  |" in first
    report.add("V", problem, 0, {})
    assert capsys.readouterr().out == "" and len(report.rows) == 1
    assert (tmp_path / "results.md").read_text().count("| torchaudio |") == 1


def test_what_bench_shows_is_in_its_files_already(tmp_path, monkeypatch):
    """Ctrl-C may come while a table is printed."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(builtins, "print", interrupted)
    report, problem = Report(tmp_path), uniform(1, 3, 2, 5)
    with pytest.raises(KeyboardInterrupt):
        report.add("sizes", problem, 0, {"stream": timing.Timing(0.004, 0.003, 0.005, 3)})
    with pytest.raises(KeyboardInterrupt):
        report.add_peak(problem, "fused", "jit", 2 * problem.bytes)
    assert "stream,4.0000,3.0000,5.0000,3" in (tmp_path / "results.csv").read_text()
    assert "= 2.000 S |" in (tmp_path / "results.md").read_text()


def test_bench_survives_a_peers_error_but_not_ours(monkeypatch, capsys):
    def failing(problem, threads):
        def once():
            raise RuntimeError("no luck\nsecond line")

        return once

    problem = uniform(1, 3, 2, 5)
    monkeypatch.setitem(contenders._OTHERS, "torchaudio", failing)
    assert list(timing.measure(problem, ["torchaudio", "stream"], 0, 0.0)) == ["stream"]
    assert capsys.readouterr().out == "torchaudio is left out: RuntimeError: no luck\n"
    monkeypatch.setitem(contenders._OTHERS, "stream", failing)
    with pytest.raises(RuntimeError, match="no luck"):
        timing.measure(problem, ["stream"], 0, 0.0)


def test_torch_gets_its_own_number_of_threads_back():
    import torch

    contenders._default_torch_threads.cache_clear()
    default = torch.get_num_threads()
    try:
        for threads, expected in ((default + 1, default + 1), (0, default), (1, 1), (0, default)):
            contenders.make(["torchaudio"], uniform(1, 3, 2, 5), threads)
            assert torch.get_num_threads() == expected
    finally:
        torch.set_num_threads(default)


@pytest.mark.parametrize(
    "seconds_of_call, rounds",
    [(0.0, timing.MOST_ROUNDS), (0.25, 4), (1.0, 3), (4.5, 3), (5.0, 2), (9.0, 2), (10.0, 1)],
)
def test_rounds_of_a_call_in_one_second(monkeypatch, seconds_of_call, rounds):
    """At least three, but for calls that take five times as long and more."""
    monkeypatch.setattr(timing, "_seconds", lambda call: call())
    calls = []

    def call():
        calls.append(None)
        return seconds_of_call

    taken = timing.measure_calls({"call": call, "quick": lambda: 0.0}, 1.0)
    assert taken["call"] == (seconds_of_call, seconds_of_call, seconds_of_call, rounds)
    assert len(calls) == rounds + 1  # and a warm-up
    assert taken["quick"].rounds == timing.MOST_ROUNDS


def test_each_problem_has_a_process_of_its_own_with_the_users_threads(monkeypatch, capfd):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    os.putenv("OMP_NUM_THREADS", "1")  # as `import mindspore` does
    assert bench_run._apart(os.getenv, "OMP_NUM_THREADS") is None
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert bench_run._apart(os.getenv, "OMP_NUM_THREADS") == "5"
    assert bench_run._apart(signal.raise_signal, signal.SIGKILL) == {}  # it has a name, too
    assert "SIGKILL is left out: its process died" in capfd.readouterr().out
