# SPDX-License-Identifier: Apache-2.0
"""A CANN toolkit as far as building goes: what MindSpore's custom_compiler reads of it, with
scripts in place of its compilers. Nothing here needs an NPU."""

import json
import textwrap
from pathlib import Path

import pytest

ASCEND_VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_CUSTOM_OPP_PATH",
)

# Stands for cmake, op_build and the device compiler: a .run package that holds the headers,
# a kernel folder each, and a listing of the sources it was given.
BUILD_SCRIPT = r"""
set -e
mkdir -p build_out && cd build_out
soc=$(python3 -c "import json; v = json.load(open('../CMakePresets.json'))\
['configurePresets'][0]['cacheVariables']; print(v['ASCEND_COMPUTE_UNIT']['value'])")
vendor=$(python3 -c "import json; v = json.load(open('../CMakePresets.json'))\
['configurePresets'][0]['cacheVariables']; print(v['vendor_name']['value'])")
root=vendors/$vendor
mkdir -p $root/op_api/include $root/op_api/lib
touch $root/op_api/lib/libcust_opapi.so
for op in $(grep -oh 'OP_ADD([A-Za-z]*)' ../op_host/*.cpp | sed 's/.*(//; s/)//'); do
  snake=$(echo $op | sed 's/\([A-Z]\)/_\L\1/g; s/^_//')
  touch $root/op_api/include/aclnn_$snake.h
  for s in ${soc//;/ }; do mkdir -p $root/op_impl/ai_core/tbe/kernel/$s/$snake; done
done
ls ../op_host ../op_kernel > $root/sources.txt
@BEFORE_PACKING@
cat > custom_opp.run <<RUN
set -e
cp -r $PWD/vendors "\$ASCEND_CUSTOM_OPP_PATH/"
RUN
"""


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


@pytest.fixture
def no_ascend(monkeypatch, tmp_path):
    """No CANN and no operator package, whatever the machine has."""
    for variable in ASCEND_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("mindspore_rnnt.cann._USUAL_PLACES", (str(tmp_path / "no_such_cann"),))
    monkeypatch.setattr("mindspore_rnnt.opp.package_path", lambda root=tmp_path: root / "ours")
    return monkeypatch


@pytest.fixture
def fake_cann(tmp_path):
    """A function that makes a toolkit and returns its root."""

    def make(version="8.3.RC1", name="cann", before_packing=""):
        root = tmp_path / name
        write(root / "compiler" / "version.info", f"Version={version}\nversion_dir=8\n")
        (root / "compiler" / "ccec_compiler" / "bin").mkdir(parents=True)
        write(root / "toolkit" / "tools" / "opbuild" / "op_build")
        template = root / "tools" / "op_project_templates" / "ascendc"
        (template / "common" / "util").mkdir(parents=True)
        project = template / "customize"
        variables = ("ASCEND_COMPUTE_UNIT", "ASCEND_CANN_PACKAGE_PATH", "vendor_name")
        preset = {"name": "default", "cacheVariables": {v: {"value": ""} for v in variables}}
        write(project / "CMakePresets.json", json.dumps({"configurePresets": [preset]}))
        build = BUILD_SCRIPT.replace("@BEFORE_PACKING@", before_packing)
        write(project / "build.sh", build)
        write(project / "op_host" / "CMakeLists.txt")
        write(project / "op_host" / "add_custom.cpp", "OP_ADD(AddCustom);\n")
        write(project / "op_kernel" / "CMakeLists.txt")
        return root

    return make
