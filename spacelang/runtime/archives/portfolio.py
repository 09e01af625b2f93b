"""Choose a portfolio: configurations that together do well on many tables, by gain per second.

See spacelang/optimizers/README.md, section "AUTO: portfolio".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

K = TypeVar("K")
Floats = npt.NDArray[np.float64]
SHORTEST: Final = 1e-3  # Shorter evaluations count as these seconds in a geometric mean
MIN_SECONDS: Final = 0.05  # A faster evaluation counts as if it took so long, which is what a trial costs besides


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The loss of a configuration on a table, None if it failed, and the seconds that it took."""

    loss: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class PortfolioStep(Generic[K]):
    """A chosen configuration, the geometric mean of its seconds, and the mean regret of the portfolio with it."""

    configuration: K
    seconds: float
    regret: float


def choose_portfolio(tables: Sequence[Mapping[K, Evaluation]], size: int) -> list[PortfolioStep[K]]:
    """Return at most `size` configurations, each with the largest gain per second after those before it.

    The regret of a configuration on a table is 0 for the smallest loss there, 1 for the median loss and more, and 1 for
    a failure or without evaluation. The regret of a portfolio on a table is the smallest one of its configurations.
    The gain is the decrease of the mean over all tables, beginning with 1. The seconds of a configuration are their
    geometric mean over the tables that have it. Of equal gains the first is chosen.
    """
    names = [*dict.fromkeys(each for table in tables for each in table)]
    regrets = np.ones((len(names), len(tables)))
    seconds = np.full((len(names), len(tables)), np.nan)
    for column, table in enumerate(tables):
        known = np.array([each.loss for each in table.values() if each.loss is not None])
        for row, name in enumerate(names):
            found = table.get(name)
            if found is None:
                continue
            seconds[row, column] = found.seconds
            if found.loss is not None:
                regrets[row, column] = _regret(found.loss, known)
    cost = np.maximum(np.exp(np.nanmean(np.log(np.maximum(seconds, SHORTEST)), axis=1)), MIN_SECONDS)
    chosen: list[PortfolioStep[K]] = []
    left, current = [*range(len(names))], np.ones(len(tables))
    while left and len(chosen) < size:
        gains = np.array([(current - np.minimum(current, regrets[row])).mean() / cost[row] for row in left])
        if not gains.max() > 0:
            break
        row = left.pop(int(gains.argmax()))
        current = np.minimum(current, regrets[row])
        chosen.append(PortfolioStep(names[row], float(cost[row]), float(current.mean())))
    return chosen


def _regret(loss: float, known: Floats) -> float:
    best, middle = float(known.min()), float(np.median(known))
    return 0.0 if loss <= best else min((loss - best) / (middle - best), 1.0) if middle > best else 1.0


def restrict(tables: Iterable[Mapping[K, Evaluation]], kept: Iterable[K]) -> list[dict[K, Evaluation]]:
    """Return the tables with some of the configurations only."""
    wanted = {*kept}
    return [{name: each for name, each in table.items() if name in wanted} for table in tables]
