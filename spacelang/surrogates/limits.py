"""Limits of surrogates: the number of training points, and one thread for linear algebra.

Fitting a Gaussian process is O(n^3), so long histories are subsampled.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

MAX_POINTS: Final = 500
POINTS_WHEN_FITTED: Final = 384
"""The number of points to which a model is fitted if there are more: half the best, half the latest."""
SUBSAMPLING_NOTE: Final = f"Surrogate models use at most {MAX_POINTS} trials: the best ones and the latest ones."
"""The sentence in the summary of a search that had more trials than a model uses."""


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which NumPy and SciPy use one thread; the previous setting is restored afterwards."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> "ThreadpoolController":
    import scipy.linalg  # noqa: F401 - the controller finds only libraries that are already loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
