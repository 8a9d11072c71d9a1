# SPDX-License-Identifier: Apache-2.0
"""Builds the twin: the AscendC kernel, unchanged, with g++ against the host model of AscendC.

Every build is cached under a hash of all that goes into it, so that tests share one build.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

TWIN = Path(__file__).resolve().parent
OP_KERNEL = TWIN.parents[1] / "ascendc_op" / "op_kernel"
FLAGS = ["-std=c++17", "-O2", "-ftree-vectorize", "-g1", "-fPIC", "-ffp-contract=off"]
FLAGS += ["-fno-gnu-unique", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror=narrowing"]
INCLUDES = [f"-I{TWIN}", f"-I{TWIN / 'include'}"]

# What the op build defines with -D for each data type of the logits.
DTYPES = {
    "float32": ("float", "DT_FLOAT"),
    "float16": ("half", "DT_FLOAT16"),
    "bfloat16": ("bfloat16_t", "DT_BF16"),
}
TENSORS_OF_LOGITS_TYPE = ("LOGITS", "GRAD", "DLOGITS")


class TwinBuildError(RuntimeError):
    """The compiler refused the kernel; the message is the compiler's."""


def build_op_kernel(
    dtype: str,
    op_kernel: Path = OP_KERNEL,
    entries: Iterable[str] | None = None,
    flags: Iterable[str] = (),
) -> Path:
    """The library with the entries of `op_kernel` (default: all) for one type of logits."""
    names = sorted(path.stem for path in op_kernel.glob("*.cpp")) if entries is None else entries
    text = "".join(f'#include "{name}.cpp"\n' for name in names)
    defines = {}
    for tensor in TENSORS_OF_LOGITS_TYPE:
        defines[f"DTYPE_{tensor}"], defines[f"ORIG_DTYPE_{tensor}"] = DTYPES[dtype]
    return build_kernel(text, f"op_{dtype}", defines, [op_kernel], flags)


def build_kernel(
    text: str,
    name: str,
    defines: Mapping[str, str] | None = None,
    include_dirs: Iterable[Path] = (),
    flags: Iterable[str] = (),
) -> Path:
    """Compiles C++ source text against the twin; returns the shared library.

    The cache knows what the text includes by content, so `include_dirs` may be copies.
    """
    include_dirs = list(include_dirs)
    flags = [*FLAGS, *flags]
    flags += [f"-D{key}={value}" for key, value in (defines or {}).items()]
    headers = [path for folder in include_dirs for path in sorted(folder.glob("*.[hc]*"))]
    key = _digest([text, *flags], [*_twin_sources(), *headers])
    library = _cache() / f"{name}_{key}.so"
    if library.exists():
        return library
    flags += INCLUDES + [f"-I{folder}" for folder in include_dirs]
    runtime = _build_runtime()
    with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
        source = Path(scratch) / f"{name}.cpp"
        source.write_text(text)
        built = Path(scratch) / library.name
        _compile(["-shared", "-Wl,-Bsymbolic", *flags, str(source), *map(str, runtime)], built)
        built.replace(library)
    return library


@lru_cache(maxsize=256)
def accepts(text: str) -> bool:
    """Whether source text compiles against the twin."""
    with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
        source = Path(scratch) / "probe.cpp"
        source.write_text(text)
        command = [_compiler(), "-fsyntax-only", *FLAGS, *INCLUDES, str(source)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def build_host(op_host: Path) -> Path:
    """Compiles op_host, in C++11 as CANN does, against the mocks of host/."""
    mocks = TWIN / "host"
    sources = [*sorted(mocks.glob("*.cpp")), *sorted(op_host.glob("*.cpp"))]
    headers = [*mocks.glob("**/*.h"), *op_host.glob("*.h"), *op_host.parent.glob("op_kernel/*.h")]
    flags = ["-std=c++11", "-O1", "-g1", "-fPIC", "-fno-gnu-unique", "-Wall", "-Wextra", "-shared"]
    flags += ["-Wno-unused-variable", "-Wl,-Bsymbolic", f"-I{mocks}", f"-I{mocks / 'include'}"]
    library = _cache() / f"op_host_{_digest(flags, [*sources, *sorted(headers)])}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
            built = Path(scratch) / library.name
            _compile([*flags, *map(str, sources)], built)
            built.replace(library)
    return library


def _build_runtime() -> list[Path]:
    """Object files of the model; the same for every kernel."""
    key = _digest(FLAGS, _twin_sources())
    objects = []
    jobs = []
    for source in sorted(TWIN.glob("model/*.cpp")):
        built = _cache() / f"{source.stem}_{key}.o"
        objects.append(built)
        if not built.exists():
            jobs.append((source, built))
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda job: _compile_object(*job), jobs))
    return objects


def _compile_object(source: Path, built: Path) -> None:
    with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
        partial = Path(scratch) / built.name
        _compile(["-c", *FLAGS, *INCLUDES, str(source)], partial)
        partial.replace(built)


def _compile(arguments: list[str], output: Path) -> None:
    command = [_compiler(), *arguments, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TwinBuildError(done.stderr[-20000:])


def _compiler() -> str:
    return os.environ.get("CXX", "g++")


def _twin_sources() -> list[Path]:
    return sorted([*TWIN.glob("model/*"), *TWIN.glob("include/**/*.h")])


def _digest(texts: Iterable[str], files: Iterable[Path]) -> str:
    digest = hashlib.sha256(str(TWIN).encode())  # debug lines name this checkout's files
    for text in texts:
        digest.update(text.encode() + b"\0")
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    default = Path(tempfile.gettempdir()) / f"mindspore_rnnt_twin_{os.getuid()}"
    folder = Path(os.environ.get("MINDSPORE_RNNT_TWIN_CACHE", default))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
        raise TwinBuildError(
            f"the cache {folder} holds code that is run: it must be a folder that only its owner, "
            f"user {os.getuid()}, can write. Remove it, or set MINDSPORE_RNNT_TWIN_CACHE."
        )
    return folder
