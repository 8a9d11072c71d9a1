# SPDX-License-Identifier: Apache-2.0
"""From weights and audio to text, tickets and error rates."""
