"""Black-box constraints g_i <= epsilon_i: residuals, slacks, multipliers and their penalty.

A residual is the excess of g over its bound, plus a slack u >= 0 that compensates for any room below the bound. By
default residuals are scaled by the bound: r = g / epsilon - 1 + u with u in [0, 1]. Without scaling, the penalty of a
latency in seconds would be about 1e-10 and have no effect, and that of a size in bytes would be about 1e16 and hide the
loss. Scaled residuals do not depend on the unit of g.

With `raw`, residuals are those of the paper: r = g - epsilon + u with u in [0, epsilon]. For a bound of 0, both are r =
g, without slack.

Shapes: M constraints; (..., M) is one row for each of many points.

See spacelang/optimizers/README.md, section "ADMM: constraints".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Trial
from spacelang.sampling.value_codes import Array

ResidualUnits: TypeAlias = Literal["scaled", "raw"]
"""The unit of residuals: the bound of each constraint, or the unit of g."""


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """The residuals of M black-box constraints.

    `epsilons` (M,) are the bounds, at least 0. `units` (M,) are the units in which residuals and their multipliers mu
    are counted. `rho` > 0 is the penalty weight of the whole augmented Lagrangian.
    """

    rho: float
    epsilons: Array
    units: Array

    @classmethod
    def from_bounds(cls, bounds: Sequence[AnyBound], rho: float, counted: ResidualUnits = "scaled") -> "Residuals":
        """Return the residuals of bounds, in their order, which must be that of `Trial.constraints`.

        Raises ValueError for a negative bound, because no slack could satisfy it.
        """
        epsilons = np.array([bound.limit for bound in bounds], float)
        for bound in bounds:
            if bound.limit < 0:
                raise ValueError(f"the bound of `{bound.name}` is below 0: {bound.limit}")
        return cls(rho, epsilons, np.where((epsilons == 0) | (counted == "raw"), 1.0, epsilons))

    def __len__(self) -> int:
        return len(self.epsilons)

    @property
    def zeros(self) -> Array:
        """M zeros, shape (M,): the multipliers and the slacks before the first iteration."""
        return np.zeros(len(self))

    @property
    def max_slack(self) -> Array:
        """The largest possible slacks, shape (M,): 1, or epsilon under `raw`; 0 for a bound of 0."""
        return np.asarray(self.epsilons / self.units)

    def excess(self, values: Array) -> Array:
        """Return the residuals of values of g without slack, shape (..., M); positive where the bound is exceeded.

        Negative values count as 0, since no slack is larger than its bound. A value that was not measured (NaN) or is
        infinite gets the residual of twice the bound, or 1 for a bound of 0. An infinite residual would hide the loss
        and spoil the multipliers.
        """
        with np.errstate(over="ignore"):
            found = np.maximum(values, 0.0) / self.units - self.max_slack
        return np.where(np.isfinite(found), found, np.where(self.epsilons == 0, 1.0, self.max_slack))

    def best_slack(self, excess: Array, mu: Array) -> Array:
        """Return the slacks with the smallest penalty for given excesses.

        They do not depend on the loss, so they need not be searched.
        """
        return np.clip(-excess - mu / self.rho, 0.0, self.max_slack)

    def penalty(self, residuals: Array, mu: Array) -> Array:
        """Return the penalty of residuals, shape (...): rho / 2 times the sum of the squares of r + mu / rho."""
        return np.asarray(self.rho / 2 * np.square(residuals + mu / self.rho).sum(axis=-1))

    def updated_multipliers(self, mu: Array, residuals: Array) -> Array:
        """Return the multipliers after an iteration, mu + rho r; they grow as long as a bound is violated."""
        return np.asarray(mu + self.rho * residuals)

    def trial_residuals(self, trial: Trial, slack: Array) -> Array:
        """Return the residuals of a trial for given slacks, shape (M,).

        A failed trial has residuals of 0, so that it changes no multiplier.
        """
        return np.zeros(len(self)) if trial.loss is None else self.excess(constraint_values(trial)) + slack

    def trial_penalty(self, trial: Trial, slack: Array, mu: Array) -> float:
        """Return the penalty of a trial for given slacks, which is added to its normalized loss."""
        return float(self.penalty(self.trial_residuals(trial, slack), mu))


def constraint_values(trial: Trial) -> Array:
    """Return the values of g of a successful trial, shape (M,): bounds of the task, then functions of the user."""
    return np.array([measurement.value for measurement in trial.constraints], float)
