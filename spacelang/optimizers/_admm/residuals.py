"""Black-box constraints g_i <= epsilon_i: residuals, slacks, multipliers and their penalty.

A residual is how far g lies beyond its bound, plus a slack u >= 0 that makes up for what lies within. It is counted in
bounds, r = g / epsilon - 1 + u with u in [0, 1]: in seconds the penalty of a latency would be 1e-10 and do nothing, in
bytes that of a size 1e16 and do nothing else. Counted so, it is the same whatever the unit of g. `raw` is the paper's,
r = g - epsilon + u with u in [0, epsilon]. Under a bound of 0 both are r = g, and nothing lies within.

Shapes: M constraints; (..., M) is one row for each of many points.

See spacelang/optimizers/README.md, section "ADMM: constraints".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from spacelang.draws.codes import Array
from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Trial

Counted: TypeAlias = Literal["scaled", "raw"]
"""What residuals are counted in: each in its bound, or in the unit of g."""


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """The residuals of M constraints: `epsilons` (M,) are their bounds, 0 or more, `units` (M,) what they count in.

    `rho` > 0 is that of the whole augmented Lagrangian. Multipliers mu are in the same units, 0 at first.
    """

    rho: float
    epsilons: Array
    units: Array

    @classmethod
    def of(cls, bounds: Sequence[AnyBound], rho: float, counted: Counted = "scaled") -> "Residuals":
        """The residuals of bounds, in their order: those of a successful trial (`Trial.constraints`) are all of them.

        Raises ValueError for a bound below 0, which no slack reaches.
        """
        epsilons = np.array([bound.limit for bound in bounds], float)
        for bound in bounds:
            if bound.limit < 0:
                raise ValueError(f"the bound of `{bound.name}` is below 0: {bound.limit}")
        return cls(rho, epsilons, np.where((epsilons == 0) | (counted == "raw"), 1.0, epsilons))

    def __len__(self) -> int:
        return len(self.epsilons)

    @property
    def start(self) -> Array:
        """The multipliers before the first iteration, (M,)."""
        return np.zeros(len(self))

    @property
    def most(self) -> Array:
        """The largest slacks, (M,): 1, or epsilon where it is `raw`; 0 under a bound of 0."""
        return np.asarray(self.epsilons / self.units)

    def excess(self, values: Array) -> Array:
        """The residuals of values of g without any slack: above 0 where they are beyond the bound.

        Values below 0 count as 0, since no slack is larger than its bound. What could not be measured (nan), or not by
        a finite number, is beyond the bound by as much as the bound is, by 1 under a bound of 0: an infinite residual
        would leave nothing of the loss, nor of the multipliers.
        """
        with np.errstate(over="ignore"):
            found = np.maximum(values, 0.0) / self.units - self.most
        return np.where(np.isfinite(found), found, np.where(self.epsilons == 0, 1.0, self.most))

    def slack(self, excess: Array, mu: Array) -> Array:
        """The slacks with the smallest penalty, whatever the loss: they need not be searched for."""
        return np.clip(-excess - mu / self.rho, 0.0, self.most)

    def penalty(self, residuals: Array, mu: Array) -> Array:
        """What is added to the loss, shape (...): rho / 2 times the sum of the squares of r + mu / rho."""
        return np.asarray(self.rho / 2 * np.square(residuals + mu / self.rho).sum(axis=-1))

    def updated(self, mu: Array, residuals: Array) -> Array:
        """The multipliers after an iteration: mu + rho r, so that they grow as long as a bound is not kept to."""
        return np.asarray(mu + self.rho * residuals)

    def of_trial(self, trial: Trial, slack: Array) -> Array:
        """The residuals (M,) of a trial for given slacks: 0 where it failed, so that no multiplier is updated by it."""
        return np.zeros(len(self)) if trial.loss is None else self.excess(measured(trial)) + slack

    def penalty_of(self, trial: Trial, slack: Array, mu: Array) -> float:
        """What a trial has to bear beside its loss for given slacks."""
        return float(self.penalty(self.of_trial(trial, slack), mu))


def measured(trial: Trial) -> Array:
    """The values of g of a successful trial, (M,): of the bounds of the task, then of the user's own functions."""
    return np.array([measurement.value for measurement in trial.constraints], float)
