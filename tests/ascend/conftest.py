# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for CANN. For building: what MindSpore's custom_compiler reads of a toolkit, with
scripts in place of its compilers. For calling: acl headers, and those of the operators as op_build
writes them. Nothing here needs an NPU."""

import json
import subprocess
import textwrap
from pathlib import Path

import pytest

from mindspore_rnnt.ascend import package, toolkit

ROOT = Path(__file__).resolve().parents[2]

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
    monkeypatch.setattr(toolkit, "_USUAL_PLACES", (str(tmp_path / "no_such_cann"),))
    monkeypatch.setattr(package, "package_path", lambda root=tmp_path: root / "ours")
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


HEADER = """\
#include "aclnn/acl_meta.h"
extern "C" {{
aclnnStatus aclnn{op}GetWorkspaceSize({parameters});
aclnnStatus aclnn{op}(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                      aclrtStream stream);
}}
"""
ATTRIBUTE_TYPES = {"int": "int64_t", "float": "double", "bool": "bool"}


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def parameters_of(definition: dict) -> list[str]:
    """CANN's rule: inputs, attributes, outputs; an only output is `out`, several end in `Out`."""
    outputs = definition["outputs"]
    return [
        *(f"const aclTensor *{camel_case(i['name'])}" for i in definition["inputs"]),
        *(f"{ATTRIBUTE_TYPES[a['type']]} {camel_case(a['name'])}" for a in definition["attrs"]),
        *(f"const aclTensor *{camel_case(o['name'])}Out" for o in outputs if len(outputs) > 1),
        *("const aclTensor *out" for _ in outputs if len(outputs) == 1),
        "uint64_t *workspaceSize",
        "aclOpExecutor **executor",
    ]


@pytest.fixture(scope="session")
def definitions():
    """The operators as op_host registers them."""
    from aot_build.twin import host_driver

    return host_driver.load().operators()


@pytest.fixture(scope="session")
def aclnn_parameters(definitions):
    """The parameters of aclnn<Op>GetWorkspaceSize, by operator."""
    return {op: parameters_of(definition) for op, definition in definitions.items()}


@pytest.fixture(scope="session")
def acl(tmp_path_factory, aclnn_parameters):
    """A folder with acl's headers in include/ and ours in package/op_api/include/."""
    from mindspore_rnnt.ascend.build import snake_case

    root = tmp_path_factory.mktemp("acl")
    (root / "include").symlink_to(ROOT / "tests" / "ascend" / "include")
    for op, parameters in aclnn_parameters.items():
        header = root / "package" / "op_api" / "include" / f"aclnn_{snake_case(op)}.h"
        write(header, HEADER.format(op=op, parameters="\n    " + ",\n    ".join(parameters)))
    return root


@pytest.fixture(scope="session")
def compile_cpp(acl, tmp_path_factory):
    """A function: source and flags -> program or library, with the headers of `acl` in reach."""
    folder = tmp_path_factory.mktemp("compiled")
    includes = [acl / "include", acl / "package/op_api/include", ROOT / "ascendc_op" / "op_kernel"]

    def run(source, *flags, standard="c++14"):
        output = folder / Path(source).stem
        command = ["g++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", str(source)]
        command += [f"-I{include}" for include in includes]
        done = subprocess.run(
            [*command, *map(str, flags), "-o", output], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return output

    return run
