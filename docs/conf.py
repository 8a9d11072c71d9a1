# SPDX-License-Identifier: Apache-2.0
"""Sphinx settings of the site that `make docs` builds."""

import inspect
from importlib.metadata import version as version_of

from sphinx.util.inspect import stringify_signature

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


def setup(app):
    app.connect("autodoc-process-signature", signature_of_init)


def signature_of_init(app, what, name, thing, options, signature, return_annotation):
    """MindSpore's Cells hide it behind (*args, **kwargs)."""
    if what == "class" and signature == "(*args, **kwargs)":
        of_init = inspect.signature(thing.__init__)
        parameters = list(of_init.parameters.values())[1:]
        signature = stringify_signature(of_init.replace(parameters=parameters), False)
    return signature, return_annotation
