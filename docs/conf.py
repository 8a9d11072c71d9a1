# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings of the site that `make docs` builds."""

from importlib.metadata import version as version_of

project = "mindspore_rnnt"
version = release = version_of("mindspore-rnnt")
copyright = "the mindspore_rnnt authors, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

# Docstrings are in MindSpore's order: sections that Google's style does not have.
napoleon_custom_sections = ["Inputs", "Outputs", "Supported Platforms"]
autodoc_typehints = "none"  # the Args sections state the types

html_theme = "furo"
html_title = f"mindspore_rnnt {release}"
