# SPDX-License-Identifier: Apache-2.0
"""kernels/ascend.py with MindSpore's own code: registration, callback and folders, without an NPU.

MindSpore decides by the device_target what an operator is made of. Told "Ascend", it reads the
aclnn header, writes a callback in C++ and compiles it, all here. The operators cannot run.
"""

import copy
import os
import subprocess
from pathlib import Path

import mindspore as ms
import pytest

from mindspore_rnnt.ascend import package as opp
from mindspore_rnnt.kernels import ascend
from mindspore_rnnt.kernels.signatures import SIGNATURES, signatures_of

PROBE = """
#include <dlfcn.h>
#include <cstdio>
#include <vector>
#include "aclnn_{snake}.h"

namespace {{ std::vector<const void*> seen; }}

// The same parameters as in the header, or the compiler finds two functions of one name.
aclnnStatus aclnn{op}GetWorkspaceSize({parameters}) {{
  seen = {{{names}}};
  *workspaceSize = 77;
  *executor = reinterpret_cast<aclOpExecutor*>(uintptr_t{{99}});
  return 0;
}}

int main(int, char** argv) {{
  using Callback = int (*)(void*, std::vector<void*>, std::vector<void*>, uint64_t*,
                           aclOpExecutor**);
  auto callback = reinterpret_cast<Callback>(
      dlsym(dlopen(argv[1], RTLD_NOW), "aclnn{op}GetWorkSpaceSize"));
  if (callback == nullptr) return 2;
  std::vector<void*> inputs, outputs;
  for (uintptr_t i = 1; i <= {inputs}; ++i) inputs.push_back(reinterpret_cast<void*>(i));
  for (uintptr_t i = 1; i <= {outputs}; ++i) outputs.push_back(reinterpret_cast<void*>(100 + i));
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  const int status = callback(reinterpret_cast<void*>(&aclnn{op}GetWorkspaceSize), inputs, outputs,
                              &workspace, &executor);
  for (const void* tensor : seen) std::printf("%zu ", reinterpret_cast<size_t>(tensor));
  return status != 0 || workspace != 77 || executor == nullptr;
}}
"""


@pytest.fixture
def on_ascend(no_ascend, acl, tmp_path):
    """MindSpore believes in an NPU; CANN's environment and the operator package are there."""
    get_context = ms.context.get_context
    no_ascend.setattr(
        "mindspore.context.get_context",
        lambda key: "Ascend" if key == "device_target" else get_context(key),
    )
    (acl / "package").mkdir(exist_ok=True)
    (acl / "package" / opp.VERSION_FILE).write_text(opp.operators_version())
    no_ascend.setenv("ASCEND_OPP_PATH", str(acl / "opp"))
    no_ascend.setenv("ASCEND_CUSTOM_OPP_PATH", str(acl / "package"))
    no_ascend.delenv("MS_COMPILER_CACHE_PATH", raising=False)
    no_ascend.chdir(tmp_path)
    return no_ascend


def bprop(*_):
    """Any function of a file."""


@pytest.mark.parametrize("op", signatures_of("Ascend"))
def test_operator_and_its_callback(on_ascend, aclnn_parameters, compile_cpp, tmp_path, op):
    from mindspore_rnnt.ascend.build import snake_case

    signature = SIGNATURES[op]
    primitive = ascend.create_op(signature, bprop)
    assert primitive.is_ascend_c and copy.deepcopy(primitive) is primitive
    operands = len(signature.inputs) + len(signature.outputs)
    assert operands <= 12, "more than PyNative on Ascend passes"
    assert primitive.attrs["custom_inputs_type"] == ["aclTensor*"] * operands
    assert primitive.attrs["input_names"] == [operand.name for operand in signature.inputs]
    assert primitive.attrs["output_names"] == [operand.name for operand in signature.outputs]
    assert primitive.attrs["cpp_infer_shape"] and primitive.attrs["cpp_infer_type"]
    assert primitive.multi_output == (len(signature.outputs) > 1)

    callback, function = primitive.attrs["custom_callback_func"].split(":")
    assert function == f"aclnn{op}" and os.path.isabs(callback)
    assert not list(tmp_path.iterdir()), "nothing is written into the current folder"

    parameters = aclnn_parameters[op]
    names = [parameter.split()[-1].lstrip("*") for parameter in parameters]
    source = tmp_path / f"probe_{op}.cpp"
    source.write_text(
        PROBE.format(
            op=op,
            snake=snake_case(op),
            parameters=", ".join(parameters),
            names=", ".join(names[:-2]),
            inputs=len(signature.inputs),
            outputs=len(signature.outputs),
        )
    )
    program = compile_cpp(source, "-ldl")
    done = subprocess.run([program, callback], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = [*range(1, len(signature.inputs) + 1)]
    expected += [101 + i for i in range(len(signature.outputs))]
    assert list(map(int, done.stdout.split())) == expected


def test_the_users_callback_folder_is_kept(on_ascend, tmp_path):
    chosen = tmp_path / "chosen"
    on_ascend.setenv("MS_COMPILER_CACHE_PATH", str(chosen))
    primitive = ascend.create_op(SIGNATURES["RnntScaleGrad"], bprop)
    assert primitive.attrs["custom_callback_func"].startswith(str(chosen))
    assert os.environ["MS_COMPILER_CACHE_PATH"] == str(chosen)


def test_our_callback_folder_does_not_stay_in_the_environment(on_ascend):
    ascend.create_op(SIGNATURES["RnntScaleGrad"], bprop)
    assert "MS_COMPILER_CACHE_PATH" not in os.environ


def test_a_package_that_came_too_late_is_told(on_ascend):
    on_ascend.setattr(ascend, "came_too_late", lambda package: True)
    with pytest.warns(RuntimeWarning, match="Import rnnt_loss or RNNTLoss before the first"):
        ascend.create_op(SIGNATURES["RnntScaleGrad"], bprop)


def test_without_a_package_the_error_names_the_command(on_ascend):
    on_ascend.delenv("ASCEND_CUSTOM_OPP_PATH")
    with pytest.raises(RuntimeError, match="'python -m mindspore_rnnt build-ascend'"):
        ascend.create_op(SIGNATURES["RnntFused"], bprop)


def test_without_canns_environment_the_error_names_the_script(on_ascend):
    on_ascend.delenv("ASCEND_OPP_PATH")
    with pytest.raises(RuntimeError, match=r"Source set_env\.sh"):
        ascend.create_op(SIGNATURES["RnntFused"], bprop)


def test_a_header_with_other_parameters_than_the_tables_is_refused(on_ascend, tmp_path):
    include = tmp_path / "other" / "op_api" / "include"
    include.mkdir(parents=True)
    (include / "aclnn_rnnt_fused.h").write_text(
        "aclnnStatus aclnnRnntFusedGetWorkspaceSize(const aclTensor *logits,\n"
        "    const aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);\n"
    )
    (include.parents[1] / opp.VERSION_FILE).write_text(opp.operators_version())
    on_ascend.setenv("ASCEND_CUSTOM_OPP_PATH", str(include.parents[1]))
    with pytest.raises(RuntimeError, match=r"RnntFused of .*other cannot be used: Reg info input"):
        ascend.create_op(SIGNATURES["RnntFused"], bprop)
    assert opp.find_package() == Path(include.parents[1])
