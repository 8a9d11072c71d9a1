# SPDX-License-Identifier: Apache-2.0
"""Every example that a reader may copy runs: docstrings, and the README's Python blocks."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import mindspore_rnnt

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README_CN.md")


@pytest.mark.parametrize("name", [n for n in mindspore_rnnt.__all__ if n != "__version__"])
def test_docstring_examples(name):
    thing = getattr(mindspore_rnnt, name)
    module = importlib.import_module(thing.__module__)
    examples = doctest.DocTestFinder(recurse=False).find(thing, name, module, globs={})
    assert sum(len(test.examples) for test in examples) > 0, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples:
        runner.run(test)
    assert runner.failures == 0


@pytest.mark.parametrize("name", [n for n in mindspore_rnnt.__all__ if n != "__version__"])
def test_docstrings_follow_mindspores_order(name):
    thing = getattr(mindspore_rnnt, name)
    sections = ["Args:", "Inputs:", "Outputs:", "Returns:", "Raises:", "Supported Platforms:"]
    found = [line.strip() for line in inspect.getdoc(thing).splitlines()]
    order = [found.index(s) for s in [*sections, "Examples:"] if s in found]
    needed = {"Args:", "Raises:", "Examples:"} if inspect.signature(thing).parameters else set()
    assert order == sorted(order) and needed <= set(found)


@pytest.mark.parametrize("readme", READMES)
def test_readme_examples(readme, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(), re.DOTALL)
    assert blocks, f"{readme} has no Python example"
    monkeypatch.chdir(tmp_path)
    for number, block in enumerate(blocks):
        print(block)
        # MindSpore compiles functions from their source, so that has to be in a file.
        file = tmp_path / f"block_{number}.py"
        file.write_text(block)
        exec(compile(block, str(file), "exec"), {"__name__": f"readme_{number}"})
