# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: the tolerance table is in `tolerances`, oracles and batches in `oracles`."""

from tolerances import TOLERANCE

__all__ = ["TOLERANCE"]
