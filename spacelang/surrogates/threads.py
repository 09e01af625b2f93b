"""One thread for linear algebra: what two threads share out is summed in an order that nobody fixes."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401 - the control knows the libraries that are loaded when it is made
from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """A context in which NumPy and SciPy compute with one thread; what was set before is set again after it."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
