"""Single-threaded linear algebra: with several threads, the order of summation is not deterministic."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401 - the controller finds only libraries that are already loaded
from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which NumPy and SciPy use one thread; the previous setting is restored afterwards."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
