# SPDX-License-Identifier: Apache-2.0
"""Commands of `python -m mindspore_rnnt` that are a single file."""
