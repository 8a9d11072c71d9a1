# SPDX-License-Identifier: Apache-2.0
"""CANN compiles op_kernel/<operator in snake case>.cpp and calls the function of that name with the
operands of the OpDef in order, then workspace and tiling."""

import re
from pathlib import Path

import pytest

from mindspore_rnnt.ascend.build import snake_case
from mindspore_rnnt.kernels.signatures import signatures_of

OP_KERNEL = Path(__file__).resolve().parents[2] / "ascendc_op" / "op_kernel"


@pytest.mark.parametrize("op", ["RnntLossFused", *signatures_of("Ascend")])
def test_entry_takes_the_operands_in_order(definitions, op):
    entry = snake_case(op)
    source = (OP_KERNEL / f"{entry}.cpp").read_text()
    found = re.search(rf'extern "C" __global__ __aicore__ void {entry}\(([^)]*)\)', source)
    assert found, f"no entry {entry}"
    parameters = [parameter.split() for parameter in found.group(1).split(",")]
    assert {kind for kind, _ in parameters} == {"GM_ADDR"}
    operands = [*definitions[op]["inputs"], *definitions[op]["outputs"]]
    expected = [operand["name"] for operand in operands] + ["workspace", "tiling"]
    assert [name for _, name in parameters] == expected


@pytest.mark.parametrize("op", ["RnntLossFused", *signatures_of("Ascend")])
def test_entry_registers_its_tiling_and_its_kind(op):
    """SyncAll needs the mixed kind, as the schedule of pure vector kernels knows no other cores.
    The others are pure vector kernels, which need no workspace of the framework."""
    source = (OP_KERNEL / f"{snake_case(op)}.cpp").read_text()
    assert "REGISTER_TILING_DEFAULT(RnntTiling)" in source
    assert "GET_TILING_DATA_WITH_STRUCT(RnntTiling" in source
    waits = "Lattice" in op or op in ("RnntLossFused", "RnntFused", "RnntForward")
    kind = "KERNEL_TYPE_MIX_AIV_1_0" if waits else "KERNEL_TYPE_AIV_ONLY"
    assert f"KERNEL_TASK_TYPE_DEFAULT({kind})" in source


def test_folders_are_flat():
    """MindSpore's custom_compiler copies only .cpp and .h at the top level."""
    for folder in (OP_KERNEL, OP_KERNEL.parent / "op_host"):
        assert {path.suffix for path in folder.iterdir()} == {".cpp", ".h"}
