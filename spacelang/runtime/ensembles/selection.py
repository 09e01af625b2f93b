"""Ensemble selection by Caruana et al. (2004): which models of a library vote together, and how often each.

Nothing but arrays: a model is what it predicted for some rows, a bag predicts the mean of what its models did.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Predictions: TypeAlias = npt.NDArray[np.float64]
"""Of one model for n rows: n x classes probabilities, or n numbers."""

Losses: TypeAlias = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""Of m predictions in one array, their m losses."""

ROUNDING: Final = 1e-12
"""What differs by no more than this share of a loss differs by rounding."""

LARGEST: Final = 2**24
"""So many numbers, or those of one model, are copied at once."""


@dataclass(frozen=True, slots=True)
class Bag:
    """Models by their places in a library, from 0, in the order in which they were added, each as often as it was.

    `losses` has, for every size from 1 on, the loss of the first so many of them together.
    """

    order: tuple[int, ...]
    losses: tuple[float, ...]

    @property
    def loss(self) -> float:
        """The loss of all of them."""
        return self.losses[-1]

    @property
    def votes(self) -> dict[int, int]:
        """How often each model is in the bag; those that were added first come first."""
        return dict(Counter(self.order))

    @property
    def weights(self) -> dict[int, float]:
        """The share that each model has of all votes; together they are 1."""
        return {model: votes / len(self.order) for model, votes in self.votes.items()}

    def first(self, size: int) -> "Bag":
        """The bag when it had `size` models, or all where it has no more."""
        return Bag(self.order[:size], self.losses[:size])


def lowest(losses: Sequence[float], most: int, usable: Callable[[int], bool] = lambda _: True) -> list[int]:
    """The places of the `most` lowest losses among the usable ones, ascending; of equal ones the first are taken.

    Whether a place is usable is asked no more often than that takes.
    """
    ranked = sorted(range(len(losses)), key=lambda place: (losses[place], place))
    return sorted(islice(filter(usable, ranked), most))


def select(library: Sequence[Predictions], losses: Losses, size: int) -> Bag:
    """The bag that is empty at first and is given, `size` times, the model with which its loss is lowest.

    A model can be taken again and again; of equally good ones the first in the library is. `losses` are to be
    minimised; one that is nan is worse than any other. Raises ValueError for a library or a bag of none.
    """
    if not library or size < 1:
        raise ValueError(f"no bag of {size} can be made of {len(library)} models")
    models: Predictions = np.stack(library)
    total = np.zeros_like(models[0])
    order: list[int] = []
    found: list[float] = []
    for taken in range(1, size + 1):
        tried = np.concatenate([losses((total + part) / taken) for part in _parts(models)])
        tried[np.isnan(tried)] = np.inf
        best = _first_lowest(tried)
        total += models[best]
        order.append(best)
        found.append(float(tried[best]))
    return Bag(tuple(order), tuple(found))


def combined(library: Sequence[Predictions], votes: Sequence[int]) -> Predictions:
    """What models predict together, each with so many votes."""
    total: Any = sum(number * each for number, each in zip(votes, library, strict=True))
    mean: Predictions = total / sum(votes)
    return mean


def _parts(models: Predictions) -> list[Predictions]:
    """The library in parts that are not too large for a copy."""
    at_once = max(1, LARGEST // max(1, models[0].size))
    return [models[first : first + at_once] for first in range(0, len(models), at_once)]


def _first_lowest(losses: npt.NDArray[np.float64]) -> int:
    """The place of the lowest; what differs by rounding alone is equal."""
    finite = np.abs(losses[np.isfinite(losses)])
    tolerance = ROUNDING * finite.max() if finite.size else 0.0
    return int(np.argmax(losses <= losses.min() + tolerance))
