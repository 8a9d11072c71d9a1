# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests. The tolerance table is `tolerances.TOLERANCE`; oracles and batches are in `oracles`."""

from tolerances import TOLERANCE

__all__ = ["TOLERANCE"]
