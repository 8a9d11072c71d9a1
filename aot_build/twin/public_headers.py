# SPDX-License-Identifier: Apache-2.0
"""Checks the kernel's AscendC calls against the public headers, without CANN and without an NPU.

    python -m aot_build.twin.public_headers --asc-devkit DIR --asc-tools DIR

DIR are checkouts of the public repositories of these names. The bodies behind the declarations
need the device compiler, so errors inside the headers are expected and ignored. What counts are
errors in the kernel's own files: a call that the real declarations do not accept. Calls that must
be refused are compiled along, to show that the check can fail.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from aot_build.twin.build_twin import DTYPES, OP_KERNEL, TENSORS_OF_LOGITS_TYPE

# What the build generates or the device compiler has built in.
STUBS = {
    "stub_fun.h": """
#pragma once
enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_FIX };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5 };
enum QuantMode_t { NoQuant };
enum mem_t {};
enum Order_t {};
enum class cache_line_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class dcci_dst_t { CACHELINE_ALL, CACHELINE_OUT };
""",
    "kernel_tiling/kernel_tiling.h": "#pragma once\n",
    # The umbrella would also pull in libraries that the kernel does not use.
    "kernel_operator.h": """
#pragma once
#define __ASCENDC_INCLUDE_INTERNAL_HEADERS__
#include <cstdint>
#include "basic_api/kernel_tpipe.h"
#include "basic_api/kernel_tensor.h"
#include "basic_api/kernel_type.h"
#include "basic_api/kernel_basic_intf.h"
#define GET_TILING_DATA_WITH_STRUCT(type, name, argument) type name; (void)(argument)
""",
}

REFUSED = """
#include "kernel_operator.h"
using namespace AscendC;
void Wrong(LocalTensor<float> f, GlobalTensor<float> g) {
  Adds(f, f, 1.0, 16);
  Add(f, f, 16);
  Gather(f, f, f, 0, 8);
  DataCopyPad(f, g, DataCopyExtParams(1, 32, 0, 0));
}
"""


def errors(source: str, dtype: str, asc_devkit: Path, asc_tools: Path, own: Path) -> list[str]:
    """Compiler errors at lines of `source` itself or of files below `own`."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in STUBS.items():
            path = Path(scratch) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        (Path(scratch) / "probe.cpp").write_text(source)
        folders = [Path(scratch), own]
        folders += [asc_devkit / part for part in ("", "include", "include/basic_api", "impl")]
        folders += [asc_devkit / "impl/basic_api", asc_tools / "cpudebug/include"]
        command = ["g++", "-std=c++17", "-fsyntax-only", "-w", "-fmax-errors=0"]
        command += ["-DASCENDC_CPU_DEBUG=1", "-D__NPU_ARCH__=2201", "-D__DAV_VEC__"]
        command += [f"-DDTYPE_{name}={DTYPES[dtype][0]}" for name in TENSORS_OF_LOGITS_TYPE]
        command += [f"-I{folder}" for folder in folders] + [f"{scratch}/probe.cpp"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "fatal error" in done.stderr:
        raise SystemExit(next(line for line in done.stderr.splitlines() if "fatal error" in line))
    ours = re.compile(rf"^({re.escape(str(own))}|{re.escape(scratch)}/probe\.cpp).*error: ")
    return [line for line in done.stderr.splitlines() if ours.match(line)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--asc-devkit", type=Path, required=True)
    parser.add_argument("--asc-tools", type=Path, required=True)
    parser.add_argument("--op-kernel", type=Path, default=OP_KERNEL)
    options = parser.parse_args()
    where = options.asc_devkit, options.asc_tools, options.op_kernel
    refused = errors(REFUSED, "float32", *where)
    if len(refused) != 4:
        raise SystemExit(f"the check itself is broken: it refused {len(refused)} of 4 wrong calls")
    entries = sorted(options.op_kernel.glob("*.cpp"))
    source = "".join(f'#include "{path.name}"\n' for path in entries)
    found = 0
    for dtype in DTYPES:
        lines = errors(source, dtype, *where)
        print(f"{dtype}: {len(entries)} entries, {len(lines)} calls refused", *lines, sep="\n  ")
        found += len(lines)
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
