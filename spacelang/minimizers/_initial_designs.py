"""Initial designs: points to evaluate before there are enough data for a model."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from spacelang.minimizers._proposal_loop import Observations, ProposalFunction
from spacelang.plugins import OptionError
from spacelang.sampling.value_codes import Array

if TYPE_CHECKING:
    from numpy.random import Generator


def latin_hypercube(size: int, dimensions: int, rng: "Generator") -> Array:
    """Return `size` points, shape (size, dimensions), that form a Latin hypercube.

    Each coordinate has exactly one point in each of `size` equal intervals of [0, 1].
    """
    if not dimensions:
        return np.empty((size, 0))
    from scipy.stats.qmc import LatinHypercube

    return np.asarray(LatinHypercube(dimensions, rng=rng).random(size))


def start_with_design(design: Array, propose: ProposalFunction) -> ProposalFunction:
    """Return a function that proposes the points of a design first and calls `propose` afterwards.

    While no number is known after the design, it proposes uniformly random points.
    """

    def next_point(seen: Observations, rng: "Generator") -> Iterable[float]:
        if seen.count < len(design):
            return np.asarray(design[seen.count])
        return propose(seen, rng) if len(seen.numbers) else np.asarray(rng.random(design.shape[1]))

    return next_point


def check_initial(initial: int) -> None:
    """Raise OptionError if there are fewer than 2 initial points."""
    if initial < 2:
        raise OptionError(f"`initial` is {initial}", "give at least 2, as a model needs 2 points")
