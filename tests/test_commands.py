# SPDX-License-Identifier: Apache-2.0
"""What a user sees who makes a mistake, lacks an extra, or presses Ctrl-C."""

import signal
import subprocess
import sys
from importlib.metadata import requires

import pytest

from mindspore_rnnt import __version__
from mindspore_rnnt.__main__ import main
from mindspore_rnnt.tools import command
from mindspore_rnnt.tools.configs import config_path


def run(*arguments, **options):
    line = [sys.executable, "-m", "mindspore_rnnt", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, **options)


def without(*modules):
    """Python code after which these modules are not installed."""
    return (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        f"u.find_spec = lambda name, *more: None if name in {modules} else find(name, *more)\n"
        f"sys.modules.update(dict.fromkeys({modules}))\n"
    )


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mindspore_rnnt {__version__}\n"


@pytest.mark.parametrize(
    "text, message",
    [
        ("forms: [foo]", "forms must be a list of two-op, fused, evaluation, but got 'foo'"),
        ("modes: [graph]", "modes must be a list of pynative, jit, but got 'graph'"),
        ("peers: [xx]", "peers must be a list of torchaudio, fast_rnnt, stream, but got 'xx'"),
        ("dtypes: float32", "dtypes must be a list, but got 'float32'"),
        ("sizes: [[1, 2, 3]]", "sizes must be [B, T, U, V], but got [1, 2, 3]"),
        ("sizes: [[4, 0, 2, 9]]", "T of sizes must be an int of at least 1, but got 0"),
        ("memory: [[4, 2, 2, 1]]", "V of memory must be an int of at least 2, but got 1"),
        ("profile: [[4, 2, -1, 5]]", "U of profile must be an int of at least 0, but got -1"),
        ("sweep_base: 3", "sweep_base must be [B, T, U, V], but got 3"),
        ("sweeps: {W: [1]}", "sweeps must be by name, of threads, B, T, U, V, but got 'W'"),
        ("sweeps: {V: [1.5]}", "sweeps of V must be an int of at least 2, but got 1.5"),
        ("threads: -1", "threads must be an int of at least 0, but got -1"),
        ("seconds: soon", "seconds must be a number above 0, but got 'soon'"),
        ("utterances: [0]", "utterances must be an int of at least 1, but got 0"),
        ("utterances: [2]", "lengths must be a file, as utterances are asked for, but got ''"),
        ("sises: []", "unknown keys ['sises']"),
        ("[1]", "must hold keys and values, but holds [1]"),
        ("a: [", "is no YAML: while parsing"),
    ],
)
def test_a_bad_configuration_is_one_line(text, message, tmp_path, capsys):
    (tmp_path / "bench.yaml").write_text(text)
    assert main(["bench", "--config", str(tmp_path / "bench.yaml")]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("bench: ") and message in lines[0]


def test_a_fault_of_the_program_is_one_line_too(capsys):
    def fail():
        return {}["lost"]

    assert command.run_command("bench", fail) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("bench: unexpected KeyError: 'lost' (at ")
    assert f"{__file__}:{fail.__code__.co_firstlineno + 1};" in line and "--debug" in line
    with pytest.raises(KeyError):
        command.run_command("bench", fail, debug=True)


def test_an_unknown_configuration_is_told_the_known_ones(capsys):
    assert main(["bench", "--config", "none.yaml"]) == 1
    line = capsys.readouterr().err
    assert "none.yaml is neither a file nor" in line and "bench.yaml, " in line


def test_a_configuration_by_name_from_any_folder(tmp_path, monkeypatch):
    from mindspore_rnnt.bench.config import BenchConfig

    monkeypatch.chdir(tmp_path)
    config = BenchConfig.load("bench.yaml")
    assert config.utterances and config_path("bench.yaml").is_file()  # so its lengths were found


@pytest.mark.parametrize("name", ["bench", "verify"])
def test_a_folder_that_cannot_be_written_is_found_before_the_work(name, tmp_path, capsys):
    (tmp_path / "file").touch()
    options = ["--device", "CPU"] if name == "verify" else []
    assert main([name, *options, "--output", str(tmp_path / "file" / "results")]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1 and "file" in captured.err


def test_a_file_is_tried_without_a_change(tmp_path):
    old = tmp_path / "old.md"
    old.write_text("kept")
    assert command.prepare_file(old).read_text() == "kept"
    assert not command.prepare_file(tmp_path / "new" / "report.md").exists()
    with pytest.raises(IsADirectoryError):
        command.prepare_file(tmp_path)


@pytest.mark.parametrize("name", ["doctor", "bench", "verify"])
def test_help_needs_no_extra_and_no_mindspore(name):
    gone = ("yaml", "matplotlib", "mindspore", "torch")
    code = without(*gone) + (
        "from mindspore_rnnt.__main__ import main\n"
        f"try: main([{name!r}, '--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "--help" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "module, config", [("yaml", "threads: 0"), ("matplotlib", "sweeps: {V: [5]}")]
)
def test_a_missing_extra_is_one_line_that_names_it(module, config, tmp_path):
    (tmp_path / "bench.yaml").write_text(config)
    code = without(module) + (
        "from mindspore_rnnt.__main__ import main\n"
        f"sys.exit(main(['bench', '--config', {str(tmp_path / 'bench.yaml')!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"bench: {module} of the extra 'bench' must be installed: pip")


def test_the_table_of_extras_is_that_of_the_package():
    for extra, modules in command._MODULES.items():
        declared = {line.split(">")[0] for line in requires("mindspore-rnnt") if extra in line}
        assert set(modules.values()) >= {d for d in declared if "[" not in d}, extra


def test_errors_are_one_line_and_debug_shows_them(capsys):
    def fail():
        raise RuntimeError("first line\nand more")

    assert command.run_command("bench", fail) == 1
    assert capsys.readouterr().err == "bench: first line\n"
    with pytest.raises(RuntimeError, match="and more"):
        command.run_command("bench", fail, debug=True)
    assert command.run_command("bench", lambda: None) == 0


def interrupt_after(marker, *arguments, cwd):
    """The exit code and output of a command that gets SIGINT when it has printed `marker`. Of the
    statements about the loss it knows one."""
    code = (
        "import sys\n"
        "from mindspore_rnnt.__main__ import main\n"
        "from mindspore_rnnt.conformance import STATEMENTS\n"
        "STATEMENTS[:] = [s for s in STATEMENTS if s.name == 'one_class']\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    line = [sys.executable, "-u", "-c", code, *arguments]
    with subprocess.Popen(
        line, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        output = ""
        for text in process.stdout:
            output += text
            if marker in text and output.count(marker) == 1:
                process.send_signal(signal.SIGINT)
    print(output)
    return process.returncode, output


def test_ctrl_c_keeps_what_verify_has_done(tmp_path):
    """MindSpore has compiled by then, and has put its own handler of SIGINT in place."""
    code, output = interrupt_after("ok   modes", "verify", "--device=CPU", "--quick", cwd=tmp_path)
    assert code == command.INTERRUPTED and "Traceback" not in output
    report = (tmp_path / "verify.md").read_text()
    assert "stopped before the end" in report and "| passed |" in report


def test_ctrl_c_keeps_what_bench_has_done(tmp_path):
    sizes = [[1, 3, 2, 5]] + [[2, 100, 50, 500]] * 20
    (tmp_path / "bench.yaml").write_text(f"sizes: {sizes}\npeers: [stream]\nseconds: 20\n")
    code, output = interrupt_after("| stream |", "bench", "--config=bench.yaml", cwd=tmp_path)
    assert code == command.INTERRUPTED and "Traceback" not in output
    assert "results are in runs/bench" in output
    assert "(1, 3, 2, 5)" in (tmp_path / "runs" / "bench" / "results.csv").read_text()
