# SPDX-License-Identifier: Apache-2.0
"""Where the operator package is found, what the environment becomes, and what doctor says."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from mindspore_rnnt import __version__
from mindspore_rnnt.ascend import package as opp
from mindspore_rnnt.ascend import sources, toolkit
from mindspore_rnnt.ascend.sources import operators_version
from mindspore_rnnt.ascend.status import ascend_status


@pytest.fixture
def install(no_ascend):
    """A function: folder -> an operator package in it."""

    def make(package):
        header = package / "op_api" / "include" / "aclnn_rnnt_fused.h"
        header.parent.mkdir(parents=True)
        header.touch()
        (package / opp.VERSION_FILE).write_text(f"{operators_version()}\n")
        return package

    return make


def value():
    return os.environ.get("ASCEND_CUSTOM_OPP_PATH")


def test_nothing_is_set_without_a_package(no_ascend):
    assert opp.expose() is None
    assert value() is None


def test_ours_is_set_once(install):
    ours = install(opp.package_path())
    assert opp.expose() == ours and opp.expose() == ours
    assert value() == str(ours)


def test_ours_goes_in_front_of_other_packages(install, no_ascend, tmp_path):
    ours = install(opp.package_path())
    no_ascend.setenv("ASCEND_CUSTOM_OPP_PATH", f"/some/other/package:{tmp_path}")
    assert opp.expose() == ours
    assert value() == f"{ours}:/some/other/package:{tmp_path}"


def test_the_users_own_build_wins(install, no_ascend, tmp_path):
    install(opp.package_path())
    users = install(tmp_path / "users")
    no_ascend.setenv("ASCEND_CUSTOM_OPP_PATH", f"/some/other/package:{users}")
    assert opp.expose() == users
    assert value() == f"/some/other/package:{users}"


def test_a_package_among_canns_vendors_wins(install, no_ascend, tmp_path):
    install(opp.package_path())
    vendor = install(tmp_path / "opp" / "vendors" / "mindspore_rnnt")
    no_ascend.setenv("ASCEND_OPP_PATH", str(tmp_path / "opp"))
    assert opp.expose() == vendor
    assert value() is None


def test_without_a_package_the_error_names_the_command(no_ascend):
    with pytest.raises(RuntimeError, match=r"'python -m mindspore_rnnt build-ascend'") as error:
        opp.require_package()
    assert str(opp.package_path()) in str(error.value)


@pytest.mark.parametrize(
    "loaded, late",
    [
        ([], False),
        (["/cann/lib64/libopapi.so"], True),
        (["/cann/lib64/libopapi_math.so", "{package}/op_api/lib/libcust_opapi.so"], False),
        (["/cann/lib64/libopapi.so", "/other/op_api/lib/libcust_opapi.so"], True),
    ],
)
def test_tells_when_cann_read_the_variable_before_us(tmp_path, loaded, late):
    package = tmp_path / "package"
    lines = ["7f00-7f01 rw-p 00000000 00:00 0"]
    lines += [f"7f01-7f02 r-xp 0 08:01 42  {path.format(package=package)}" for path in loaded]
    maps = tmp_path / "maps"
    maps.write_text("\n".join(lines))
    assert opp.came_too_late(package, maps) is late
    assert not opp.came_too_late(package), "this process has loaded nothing of CANN"


def test_only_importing_a_loss_exposes_the_package(install, tmp_path):
    """CANN and MindSpore read the variable once, so it must stand before either is asked."""
    code = (
        "import os, pathlib, sys\n"
        "before = dict(os.environ)\n"
        "import mindspore_rnnt.ascend.package as opp\n"
        "assert 'mindspore' not in sys.modules and os.environ == before\n"
        "ours = pathlib.Path(sys.argv[1])\n"
        "opp.package_path = lambda root=None: ours\n"
        "from mindspore_rnnt import rnnt_loss\n"
        "print(os.environ['ASCEND_CUSTOM_OPP_PATH'])\n"
    )
    ours = install(tmp_path / "ours")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND")}
    command = [sys.executable, "-c", code, str(ours)]
    run = subprocess.run(command, env=clean, capture_output=True, text=True)
    assert run.stdout.split()[-1:] == [str(ours)], run.stderr


def test_status_of_a_machine_without_ascend(no_ascend):
    status = {finding.what: finding for finding in ascend_status()}
    assert list(status) == ["NPU", "CANN", "host compiler", "MindSpore plugin", "operator package"]
    assert status["CANN"].value == "none" and "ASCEND_HOME_PATH" in status["CANN"].remedy
    assert status["operator package"].remedy == "run 'python -m mindspore_rnnt build-ascend'"


def test_status_of_a_machine_with_everything_built(install, no_ascend, fake_cann):
    no_ascend.setenv("ASCEND_HOME_PATH", str(fake_cann()))
    no_ascend.setenv("ASCEND_OPP_PATH", "/somewhere/opp")
    ours = install(opp.package_path())
    status = {finding.what: finding for finding in ascend_status()}
    assert status["CANN"].value.startswith("8.3.RC1 in ") and not status["CANN"].remedy
    value = f"{ours} (version {operators_version()})"
    assert status["operator package"] == ("operator package", value, "")


def test_status_tells_that_canns_environment_is_not_set(no_ascend, fake_cann):
    no_ascend.setenv("ASCEND_HOME_PATH", str(fake_cann()))
    status = {finding.what: finding for finding in ascend_status()}
    assert "set_env.sh" in status["CANN"].remedy


@pytest.mark.parametrize(
    "version, fault",
    [("8.3.RC1", ""), ("9.1.0", ""), ("10.0", ""), ("8.2.0", "too old"), ("", "no version")],
)
def test_versions_of_cann(no_ascend, fake_cann, version, fault):
    found = toolkit.find_cann(fake_cann(version=version))
    assert found.version == version
    assert fault in "".join(found.missing()) and bool(fault) == bool(found.missing())


@pytest.mark.parametrize("version", ["0.0.9\n", f"{__version__}\n", None])
def test_a_package_of_another_version_is_refused(install, version):
    """An upgrade of mindspore_rnnt must not run the operators of the version before."""
    package = install(opp.package_path())
    file = package / opp.VERSION_FILE
    file.unlink()
    if version is not None:
        file.write_text(version)
    found = version.strip() if version else "unknown"
    expected = re.escape(operators_version())
    with pytest.raises(RuntimeError, match=f"must be of version {expected}.*is of version {found}"):
        opp.require_package()
    line = next(finding for finding in ascend_status() if finding.what == "operator package")
    assert found in line.value and "build-ascend" in line.remedy


def test_a_package_in_a_path_with_blanks_is_found_among_the_loaded(install, tmp_path):
    package = install(tmp_path / "my packages" / "rnnt loss")
    maps = tmp_path / "maps"
    ours = f"7f00-7f10 r-xp 00000000 08:01 42   {package}/op_api/lib/libcust_opapi.so"
    canns = "7f20-7f30 r-xp 00000000 08:01 43   /usr/local/Ascend dir/lib64/libopapi.so"
    maps.write_text(f"{ours}\n{canns}\n7f40-7f50 rw-p 00000000 00:00 0\n")
    assert not opp.came_too_late(package, maps)
    maps.write_text(f"{canns}\n")
    assert opp.came_too_late(package, maps)


@pytest.mark.parametrize("change", ["edit", "add", "rename", "move"])
def test_any_change_of_the_sources_makes_a_package_stale(install, tmp_path, no_ascend, change):
    package = install(opp.package_path())
    copy = tmp_path / "ascendc_op"
    shutil.copytree(sources.SOURCE, copy)
    no_ascend.setattr(sources, "SOURCE", copy)
    assert opp.require_package() == package
    kernel = next((copy / "op_kernel").glob("*.h"))
    if change == "edit":
        kernel.write_text(kernel.read_text() + "\n")
    elif change == "add":
        (copy / "op_kernel" / "new.h").touch()
    elif change == "rename":
        kernel.rename(kernel.with_name("new.h"))
    else:
        kernel.rename(copy / "op_host" / kernel.name)
    with pytest.raises(RuntimeError, match="Build it again"):
        opp.require_package()
