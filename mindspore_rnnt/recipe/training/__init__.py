# SPDX-License-Identifier: Apache-2.0
"""From batches to weights."""
