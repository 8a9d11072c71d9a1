# SPDX-License-Identifier: Apache-2.0
"""Imports within the recipe go one way, and no two of its modules import each other."""

import ast
import graphlib
from pathlib import Path

from mindspore_rnnt import recipe

LAYERS = [
    "bar",
    "settings",
    "config",
    "sound",
    "data",
    "model",
    "decoding",
    "training",
    "commands",
    "__main__",
]
FOLDER = Path(recipe.__file__).parent


def imported():
    """Module -> the modules of the recipe that it imports, as dotted names below the recipe."""
    files = {f.relative_to(FOLDER).with_suffix("").parts: f for f in FOLDER.rglob("*.py")}
    modules = {".".join(parts): file for parts, file in files.items() if parts[-1] != "__init__"}
    found = {}
    for name, file in modules.items():
        found[name] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = name.split(".")[: -node.level]
                base += (node.module or "").split(".") if node.module else []
                for alias in node.names:
                    choices = (".".join([*base, alias.name]), ".".join(base))
                    found[name].update(next(([c] for c in choices if c in modules), []))
    return found


def layer(module):
    first = module.split(".")[0]
    return LAYERS.index(first if first in LAYERS else "settings")


def test_imports_go_one_way():
    edges = imported()
    assert edges["training.step"] >= {"settings", "model.transducer", "training.parallel"}
    for module, others in edges.items():
        for other in others:
            assert layer(other) <= layer(module), f"{module} imports {other}"


def test_there_is_no_cycle():
    graphlib.TopologicalSorter(imported()).prepare()
