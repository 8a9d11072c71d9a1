# SPDX-License-Identifier: Apache-2.0
"""What a device's operator cannot hold."""

import mindspore as ms

from ..checks import refuse

# ascendc_op/op_kernel/rnnt_tdt_sizes.h has the same; a test compares them.
ASCEND_MOST_DURATIONS = 32
ASCEND_LONGEST_DURATION = 256


def check_limits_of_device(caller: str, durations: tuple[int, ...]) -> None:
    if ms.get_context("device_target") != "Ascend":
        return
    if len(durations) > ASCEND_MOST_DURATIONS:
        expected = f"at most {ASCEND_MOST_DURATIONS} on Ascend"
        refuse(caller, ValueError, "durations", expected, f"{len(durations)}: {durations}")
    if max(durations) > ASCEND_LONGEST_DURATION:
        expected = f"at most {ASCEND_LONGEST_DURATION} each on Ascend"
        refuse(caller, ValueError, "durations", expected, durations)
