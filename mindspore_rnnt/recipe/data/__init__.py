# SPDX-License-Identifier: Apache-2.0
"""Speech, features and batches."""
