"""Ensemble selection (Caruana et al. 2004): choose the models of a library that vote, and how often each votes.

It works on arrays only. A model is its predictions for some rows, and an ensemble predicts the mean of its models.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Predictions: TypeAlias = npt.NDArray[np.float64]
"""The predictions of one model for n rows: n x classes probabilities, or n numbers."""

Losses: TypeAlias = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""A function that returns the m losses of m predictions in one array."""

ROUNDING: Final = 1e-12
"""The relative difference of losses up to which they count as equal."""

MAX_COPIED: Final = 2**24
"""The maximum number of values that are copied at once, unless one model alone has more."""


@dataclass(frozen=True, slots=True)
class ModelMultiset:
    """A multiset of models, given by their indices in a library (from 0) in the order in which they were added.

    `losses[k]` is the loss of the first k + 1 of them together.
    """

    order: tuple[int, ...]
    losses: tuple[float, ...]

    @property
    def loss(self) -> float:
        """The loss of all of them."""
        return self.losses[-1]

    @property
    def votes(self) -> dict[int, int]:
        """The number of times that each model was added, in the order of the first additions."""
        return dict(Counter(self.order))

    @property
    def weights(self) -> dict[int, float]:
        """The share of all votes of each model; the shares sum to 1."""
        return {model: votes / len(self.order) for model, votes in self.votes.items()}

    def truncated(self, size: int) -> "ModelMultiset":
        """Return the multiset as it was with `size` models; the whole multiset if it has no more."""
        return ModelMultiset(self.order[:size], self.losses[:size])


def indices_of_lowest(losses: Sequence[float], most: int, usable: Callable[[int], bool] = lambda _: True) -> list[int]:
    """Return the indices, ascending, of the `most` lowest losses among the usable ones.

    Of equal losses the first ones are taken. `usable` is called in the order of the losses, and only until enough are
    found.
    """
    ranked = sorted(range(len(losses)), key=lambda place: (losses[place], place))
    return sorted(islice(filter(usable, ranked), most))


def select_models(library: Sequence[Predictions], losses: Losses, size: int) -> ModelMultiset:
    """Return the multiset built greedily: `size` times, add the model that gives the lowest loss.

    A model can be added repeatedly. Of equally good models, the first in the library is added. `losses` are minimized;
    NaN is worse than any other loss. Raises ValueError if the library is empty or `size` is less than 1.
    """
    if not library or size < 1:
        raise ValueError(f"cannot select {size} votes from {len(library)} models")
    models: Predictions = np.stack(library)
    total = np.zeros_like(models[0])
    order: list[int] = []
    found: list[float] = []
    for taken in range(1, size + 1):
        tried = np.concatenate([losses((total + part) / taken) for part in _chunks(models)])
        tried[np.isnan(tried)] = np.inf
        best = _first_lowest(tried)
        total += models[best]
        order.append(best)
        found.append(float(tried[best]))
    return ModelMultiset(tuple(order), tuple(found))


def average_predictions(library: Sequence[Predictions], votes: Sequence[int]) -> Predictions:
    """Return the mean of the predictions, weighted by the votes."""
    total: Any = sum(number * each for number, each in zip(votes, library, strict=True))
    mean: Predictions = total / sum(votes)
    return mean


def _chunks(models: Predictions) -> list[Predictions]:
    """Return the library in chunks that are small enough to copy."""
    at_once = max(1, MAX_COPIED // max(1, models[0].size))
    return [models[first : first + at_once] for first in range(0, len(models), at_once)]


def _first_lowest(losses: npt.NDArray[np.float64]) -> int:
    """Return the index of the first loss that equals the lowest one up to rounding."""
    finite = np.abs(losses[np.isfinite(losses)])
    tolerance = ROUNDING * finite.max() if finite.size else 0.0
    return int(np.argmax(losses <= losses.min() + tolerance))
