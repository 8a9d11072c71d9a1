# SPDX-License-Identifier: Apache-2.0
"""An error inside a PyNative gradient leaves MindSpore's recorder on, and the next compiled
gradient would fail for no reason of its own. The executor's own reset mends that; call this before
raising, but never in a backward pass, which is running in the executor."""

from contextlib import contextmanager


def forget_recorded_gradient():
    """The executor is private to MindSpore: without it there is nothing to mend."""
    try:
        from mindspore.common.api import _pynative_executor as executor
    except ImportError:
        return
    if executor.requires_grad():
        executor.clear_res()


@contextmanager
def forgetting_on_error():
    """The same for whatever is raised inside."""
    try:
        yield
    except Exception:
        forget_recorded_gradient()
        raise
