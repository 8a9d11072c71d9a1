# SPDX-License-Identifier: Apache-2.0
"""What of Ascend is on this machine: the toolkit, our operator package, and their state. Nothing
here imports MindSpore."""
