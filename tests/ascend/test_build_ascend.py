# SPDX-License-Identifier: Apache-2.0
"""build-ascend against a fake CANN; MindSpore's custom_compiler is the real one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mindspore_rnnt
from mindspore_rnnt.ascend import build as build_ascend
from mindspore_rnnt.ascend.sources import operators_version

ROOT = Path(__file__).resolve().parents[2]


def run(tmp_path, *more):
    return build_ascend.main([f"--install-path={tmp_path / 'opp'}", *more])


def test_builds_every_operator_and_installs(no_ascend, fake_cann, tmp_path, capsys):
    no_ascend.setenv("ASCEND_HOME_PATH", str(fake_cann()))
    assert run(tmp_path) == 0
    package = tmp_path / "opp" / "vendors" / "mindspore_rnnt"
    headers = sorted(path.name for path in (package / "op_api" / "include").iterdir())
    assert headers == [
        "aclnn_rnnt_backward.h",
        "aclnn_rnnt_forward.h",
        "aclnn_rnnt_fused.h",
        "aclnn_rnnt_lattice.h",
        "aclnn_rnnt_loss_fused.h",
        "aclnn_rnnt_row_grad.h",
        "aclnn_rnnt_row_stats.h",
        "aclnn_rnnt_scale_grad.h",
        "aclnn_rnnt_tdt_lattice.h",
    ]
    sources = (package / "sources.txt").read_text().split()
    for folder in ("op_host", "op_kernel"):
        ours = {path.name for path in (ROOT / "ascendc_op" / folder).iterdir()}
        assert ours <= set(sources), f"{folder} must be flat: only its own .cpp and .h are copied"
    assert "add_custom.cpp" not in sources
    assert (package / "mindspore_rnnt.version").read_text().strip() == operators_version()
    assert sorted(path.name for path in package.parent.iterdir()) == ["mindspore_rnnt"]
    assert f"export ASCEND_CUSTOM_OPP_PATH={package}" in capsys.readouterr().out


def test_builds_for_both_chips(no_ascend, fake_cann, tmp_path):
    no_ascend.setenv("ASCEND_HOME_PATH", str(fake_cann()))
    assert run(tmp_path, "--soc-version=ascend910b;ascend910_93") == 0
    kernels = tmp_path / "opp/vendors/mindspore_rnnt/op_impl/ai_core/tbe/kernel"
    assert sorted(path.name for path in kernels.iterdir()) == ["ascend910_93", "ascend910b"]


def test_refuses_a_chip_the_operators_are_not_for(capsys):
    with pytest.raises(SystemExit):
        build_ascend.main(["--soc-version=ascend310p"])
    assert "ascend910b" in capsys.readouterr().err


def test_says_where_cann_was_sought(no_ascend, tmp_path, capsys):
    assert run(tmp_path) == 1
    message = capsys.readouterr().err
    assert "no CANN toolkit found in $ASCEND_HOME_PATH" in message and "--cann" in message


@pytest.mark.parametrize("variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
def test_never_passes_over_the_cann_that_the_user_named(
    no_ascend, fake_cann, tmp_path, capsys, variable
):
    no_ascend.setattr("mindspore_rnnt.ascend.toolkit._USUAL_PLACES", (str(fake_cann()),))
    no_ascend.setenv(variable, str(tmp_path / "gone"))
    assert run(tmp_path) == 1
    assert f"gone, named by {variable}, is not a folder" in capsys.readouterr().err


def test_finds_cann_in_a_usual_place_behind_a_link(no_ascend, fake_cann, tmp_path):
    (tmp_path / "latest").symlink_to(fake_cann(), target_is_directory=True)
    no_ascend.setattr("mindspore_rnnt.ascend.toolkit._USUAL_PLACES", (str(tmp_path / "latest"),))
    assert run(tmp_path) == 0


def test_names_everything_that_is_missing_at_once(no_ascend, fake_cann, tmp_path, capsys):
    cann = fake_cann(version="8.2.RC1")
    shutil.rmtree(cann / "tools")
    shutil.rmtree(cann / "compiler" / "ccec_compiler")
    no_ascend.setattr(build_ascend, "_TOOLS", ("bash", "no_such_cmake"))
    assert run(tmp_path, f"--cann={cann}") == 1
    message = capsys.readouterr().err
    for fault in (
        "the operator project template is missing",
        "the device compiler is missing",
        "version 8.2.RC1 is too old: at least 8.3",
        "no_such_cmake is not in PATH",
    ):
        assert fault in message
    assert not (tmp_path / "opp").exists()


def test_works_from_a_source_tree_with_links_and_spaces(no_ascend, fake_cann, tmp_path):
    copy = tmp_path / "my source"
    shutil.copytree(ROOT / "ascendc_op", copy / "ascendc_op")
    (tmp_path / "link").symlink_to(copy, target_is_directory=True)
    no_ascend.setattr(build_ascend, "SOURCE", tmp_path / "link" / "ascendc_op")
    assert run(tmp_path, f"--cann={fake_cann()}") == 0


def test_a_failed_build_leaves_the_installed_package_alone(no_ascend, fake_cann, tmp_path, capfd):
    assert run(tmp_path, f"--cann={fake_cann()}") == 0
    installed = tmp_path / "opp" / "vendors" / "mindspore_rnnt"
    before = sorted(installed.rglob("*"))
    broken = fake_cann(name="broken", before_packing="echo no device compiler; exit 3")
    assert run(tmp_path, f"--cann={broken}") == 1
    message = capfd.readouterr().err
    assert "custom_compiler failed" in message
    assert sorted(installed.rglob("*")) == before
    log = Path(message.split("The logs are kept in ")[1].split(".\n")[0], "build.log")
    assert log.read_text() == "no device compiler\n"
    shutil.rmtree(log.parents[1])


def test_a_new_package_takes_the_place_of_the_old_one_or_leaves_it(no_ascend, fake_cann, tmp_path):
    cann, rename = f"--cann={fake_cann()}", Path.rename
    assert run(tmp_path, cann) == 0
    installed = tmp_path / "opp" / "vendors" / "mindspore_rnnt"
    (installed / "of_the_old_one").touch()

    def no_new_one(path, target):
        if path.name == "new":
            raise OSError("the disk is full")
        return rename(path, target)

    no_ascend.setattr(Path, "rename", no_new_one)
    with pytest.raises(OSError, match="the disk is full"):
        run(tmp_path, cann)
    assert (installed / "of_the_old_one").exists()
    no_ascend.setattr(Path, "rename", rename)
    assert run(tmp_path, cann) == 0
    assert (installed / "sources.txt").exists() and not (installed / "of_the_old_one").exists()
    assert list(installed.parent.iterdir()) == [installed]


def test_folders_that_cann_cannot_use(no_ascend, fake_cann, tmp_path, capsys):
    cann, odd = f"--cann={fake_cann()}", tmp_path / "with blank"
    assert build_ascend.main([cann, f"--install-path={tmp_path}/a:b"]) == 1
    assert f"hold no ':', as ASCEND_CUSTOM_OPP_PATH lists paths: {tmp_path}/a:b" in (
        capsys.readouterr().err
    )
    odd.mkdir()
    no_ascend.setattr("tempfile.tempdir", str(odd))
    assert run(tmp_path, cann) == 1
    message = f"the temporary folder {odd} has characters that CANN refuses: set TMPDIR"
    assert message in capsys.readouterr().err
    assert not list(odd.iterdir()) and not (tmp_path / "opp").exists()


def test_a_build_without_a_kernel_is_not_installed(no_ascend, fake_cann, tmp_path, capsys):
    """CANN's build goes on when a kernel does not compile."""
    partial = fake_cann(before_packing="rm -r $root/op_impl/*/*/*/*/rnnt_lattice")
    assert run(tmp_path, f"--cann={partial}") == 1
    message = capsys.readouterr().err
    assert "the build lacks:\n  op_impl/ai_core/tbe/kernel/ascend910b/rnnt_lattice" in message
    assert not (tmp_path / "opp").exists()


@pytest.mark.parametrize("corrected", [True, False])
def test_mindspore_2_7_needs_no_folder_latest_beside_the_toolkit(
    no_ascend, fake_cann, tmp_path, corrected
):
    """Without the correction its script finds no template here."""
    compiler = tmp_path / "mindspore_2_7"
    shutil.copytree(build_ascend._custom_compiler(), compiler)
    script = compiler / "setup.py"
    text = script.read_text()
    script.write_text(text.replace('_path = "tools/', '_path = "../latest/tools/'))
    assert script.read_text() != text
    no_ascend.setattr(build_ascend, "_custom_compiler", lambda: compiler)
    if not corrected:
        no_ascend.setattr(build_ascend, "_look_in_the_toolkit_itself", lambda script: None)
    assert run(tmp_path, f"--cann={fake_cann()}") == (0 if corrected else 1)


def test_mindspore_without_custom_compiler(no_ascend, fake_cann, tmp_path, capsys):
    no_ascend.setattr(build_ascend, "find_spec", lambda name: None)
    assert run(tmp_path, f"--cann={fake_cann()}") == 1
    message = capsys.readouterr().err
    assert sys.executable in message and "custom_compiler" in message


def test_installs_into_the_package_that_is_imported(no_ascend):
    """An installed wheel gets the operators, not the source tree that they were built from."""
    assert build_ascend._python_package() == Path(mindspore_rnnt.__file__).parent


def test_builds_from_an_installed_wheel(no_ascend, fake_cann, tmp_path):
    """Which has no source tree beside it, but carries what CANN compiles."""
    package = tmp_path / "site" / "mindspore_rnnt"
    unneeded = shutil.ignore_patterns("_ascendc_op", "__pycache__")
    shutil.copytree(Path(mindspore_rnnt.__file__).parent, package, ignore=unneeded)
    for folder in ("op_host", "op_kernel"):
        shutil.copytree(ROOT / "ascendc_op" / folder, package / "_ascendc_op" / folder)
    done = subprocess.run(
        [sys.executable, "-m", "mindspore_rnnt", "build-ascend", f"--cann={fake_cann()}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    installed = package / "lib" / "ascend" / "vendors" / "mindspore_rnnt"
    assert f"installed {installed}" in done.stdout
    assert "rnnt_def.cpp" in (installed / "sources.txt").read_text()
    assert (installed / "mindspore_rnnt.version").read_text().strip() == operators_version()
