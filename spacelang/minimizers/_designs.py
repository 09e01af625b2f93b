"""Points to begin with, before there is anything to model."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from spacelang.draws.codes import Array
from spacelang.minimizers._calls import Propose, Seen
from spacelang.plugins import OptionError

if TYPE_CHECKING:
    from numpy.random import Generator


def latin_hypercube(size: int, dimensions: int, rng: "Generator") -> Array:
    """So many points of which each coordinate has one in each of `size` equal parts: shape (size, dimensions)."""
    if not dimensions:
        return np.empty((size, 0))
    from scipy.stats.qmc import LatinHypercube

    return np.asarray(LatinHypercube(dimensions, rng=rng).random(size))


def beginning_with(design: Array, propose: Propose) -> Propose:
    """The points of a design first, after them what is proposed; a uniform point as long as no number is known."""

    def next_point(seen: Seen, rng: "Generator") -> Iterable[float]:
        if seen.count < len(design):
            return np.asarray(design[seen.count])
        return propose(seen, rng) if len(seen.numbers) else np.asarray(rng.random(design.shape[1]))

    return next_point


def check_initial(initial: int) -> None:
    """Raise OptionError for a number of points to begin with that nothing can be modelled by."""
    if initial < 2:
        raise OptionError(f"`initial` is {initial}", "a model is made of at least 2 points")
