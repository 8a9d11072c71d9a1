# SPDX-License-Identifier: Apache-2.0
"""What a reader may copy runs: docstrings, examples/, Python blocks of README and docs."""

import doctest
import importlib
import inspect
import re
import runpy
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import mindspore_rnnt

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
DOCS = [page for page in sorted((ROOT / "docs").glob("*.md")) if BLOCK.search(page.read_text())]
PAGES = ["README.md", "README_CN.md", *(f"docs/{page.name}" for page in DOCS)]
# A NamedTuple is described by the function that returns it.
DOCUMENTED = [
    name
    for name in mindspore_rnnt.__all__
    if name != "__version__" and not hasattr(getattr(mindspore_rnnt, name), "_fields")
]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_examples(name):
    thing = getattr(mindspore_rnnt, name)
    module = importlib.import_module(thing.__module__)
    examples = doctest.DocTestFinder(recurse=False).find(thing, name, module, globs={})
    assert sum(len(test.examples) for test in examples) > 0, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples:
        runner.run(test)
    assert runner.failures == 0


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstrings_follow_mindspores_order(name):
    thing = getattr(mindspore_rnnt, name)
    sections = ["Args:", "Inputs:", "Outputs:", "Returns:", "Raises:", "Supported Platforms:"]
    found = [line.strip() for line in inspect.getdoc(thing).splitlines()]
    order = [found.index(s) for s in [*sections, "Examples:"] if s in found]
    needed = {"Args:", "Raises:", "Examples:"} if inspect.signature(thing).parameters else set()
    assert order == sorted(order) and needed <= set(found)


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_of_a_page(page, tmp_path, monkeypatch):
    """One after another, as a reader runs them: a block may use the names of those before it."""
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks, f"{page} has no Python example"
    monkeypatch.chdir(tmp_path)
    # MindSpore compiles a function from its source and its module, so both have to be there.
    module = types.ModuleType(f"page_{Path(page).stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for number, block in enumerate(blocks):
        print(block)
        file = tmp_path / f"block_{number}.py"
        file.write_text(block)
        exec(compile(block, str(file), "exec"), module.__dict__)


@pytest.mark.parametrize("page", ["README.md", "README_CN.md", "docs"])
def test_links_to_files(page):
    for file in (ROOT / page).glob("*.md") if page == "docs" else [ROOT / page]:
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", file.read_text())
        missing = [link for link in links if not (file.parent / link).exists()]
        assert not missing, f"{file.name} links to files that are not there: {missing}"


@pytest.mark.slow
def test_minimal_training_learns():
    losses = runpy.run_path(str(ROOT / "examples" / "train_minimal.py"))["losses"]
    assert np.mean(losses[-10:]) < np.mean(losses[:5]) / 4
