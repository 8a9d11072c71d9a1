# SPDX-License-Identifier: Apache-2.0
"""What `python -m mindspore_rnnt.recipe <command>` runs."""
