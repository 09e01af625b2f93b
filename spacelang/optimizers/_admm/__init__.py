"""The parts of the optimizer ADMM; here its algebra.

It is about the relaxed integers theta~, their integer copy delta, and the multipliers between them.

theta~ and delta hold codes of theta_d. Under `widths` the penalty divides each variable by the width of its range, so
that an integer range of hundreds does not outweigh a loss in [0, 1]. Multipliers are then in the same units. `raw` uses
the codes themselves, as in the paper.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Trial
from spacelang.sampling.value_codes import Array
from spacelang.targets.admm import AdmmPoint, Mask, ThetaBox

PenaltyUnits: TypeAlias = Literal["unit", "raw"]
"""The unit of the distance between theta~ and delta: the width of the range of the variable, or 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """The state that one iteration of ADMM passes to the next. Do not write to its arrays.

    `point` has z, the orders, theta_c and, as theta_d, theta~ (D,), whose entries need not be integers. `delta` (D,) is
    the copy of theta~ in D, and `multipliers` (D,) is lambda. `slack` and `mu`, both (M,), belong to the black-box
    constraints (`residuals`), and are empty without constraints.
    """

    point: AdmmPoint
    delta: Array
    multipliers: Array
    slack: Array
    mu: Array

    @property
    def relaxed_integers(self) -> Array:
        """The relaxed integers theta~, shape (D,)."""
        return self.point.theta_d


@dataclass(frozen=True, slots=True, eq=False)
class Splitting:
    """The steps of an iteration that evaluate nothing.

    `widths` (D,) is the unit of each variable in the penalty. The steps of one iteration are, in this order:

    - `with_theta` with the result of theta-min,
    - `with_delta`, which is delta-min,
    - `with_multipliers`, the update of the multipliers.
    """

    box: ThetaBox
    rho: float
    widths: Array

    @classmethod
    def from_box(cls, box: ThetaBox, rho: float, weighed: PenaltyUnits = "unit") -> "Splitting":
        """Return the splitting of theta_d in its box, with rho > 0."""
        return cls(box, rho, box.penalty_scales if weighed == "unit" else np.ones(len(box)))

    def initial_state(self, point: AdmmPoint) -> Iterate:
        """Return the first state: delta is the projection P_D of theta; no multipliers and no constraints yet."""
        empty = np.zeros(0)
        return Iterate(point, self.box.nearest(point.theta_d), np.zeros(len(self.box)), empty, empty)

    def theta_with_least_penalty(self, state: Iterate) -> Array:
        """Return b = delta - lambda / rho, shape (D,): the theta~ with the smallest penalty in theta-min."""
        return np.asarray(state.delta - state.multipliers * self.widths / self.rho)

    def penalty(self, relaxed: Array, target: Array, owned: Array) -> Array:
        """Return rho / 2 times the squared distance of theta~ (..., D) from b over the owned variables, shape (...)."""
        return np.asarray(self.rho / 2 * np.square((relaxed - target) / self.widths)[..., owned].sum(axis=-1))

    def with_theta(self, state: Iterate, found: AdmmPoint, owned: Mask) -> Iterate:
        """Return the state after theta-min: the owned variables have the values of `found`.

        All other variables of theta~ become b, where their penalty is 0, and those of theta_c stay as they are. theta~
        is clipped to the box.
        """
        theta_c = np.where(owned.theta_c, found.theta_c, state.point.theta_c)
        relaxed = self.box.clip(np.where(owned.theta_d, found.theta_d, self.theta_with_least_penalty(state)))
        return replace(state, point=replace(state.point, theta_c=theta_c, theta_d=relaxed))

    def with_delta(self, state: Iterate) -> Iterate:
        """Return the state after delta-min: delta is the member of D nearest to theta~ + lambda / rho."""
        wanted = state.relaxed_integers + state.multipliers * self.widths / self.rho
        return replace(state, delta=self.box.nearest(wanted))

    def restarted_at(self, state: Iterate, found: AdmmPoint, owned: Mask) -> Iterate:
        """Return the state restarted at a point.

        z, the orders and the owned variables of theta_c and theta~ are those of `found`. The owned variables of delta
        are the projection of these, and their multipliers are 0. Variables that are not owned stay as they are.
        """
        mine = owned.theta_d
        theta_c = np.where(owned.theta_c, found.theta_c, state.point.theta_c)
        relaxed = np.where(mine, found.theta_d, state.relaxed_integers)
        return replace(
            state,
            point=replace(found, theta_c=theta_c, theta_d=relaxed),
            delta=np.where(mine, self.box.nearest(relaxed), state.delta),
            multipliers=np.where(mine, 0.0, state.multipliers),
        )

    def with_multipliers(self, state: Iterate) -> Iterate:
        """Return the state after the update of the multipliers: lambda + rho (theta~ - delta)."""
        step = self.rho * (state.relaxed_integers - state.delta) / self.widths
        return replace(state, multipliers=state.multipliers + step)


ResidualUnits: TypeAlias = Literal["scaled", "raw"]
"""The unit of residuals: the bound of each constraint, or the unit of g."""


@dataclass(frozen=True, slots=True, eq=False)
class ConstraintResiduals:
    """The residuals of M black-box constraints.

    `epsilons` (M,) are the bounds, at least 0. `units` (M,) are the units in which residuals and their multipliers mu
    are counted. `rho` > 0 is the penalty weight of the whole augmented Lagrangian.
    """

    rho: float
    epsilons: Array
    units: Array

    @classmethod
    def from_bounds(
        cls, bounds: Sequence[AnyBound], rho: float, counted: ResidualUnits = "scaled"
    ) -> "ConstraintResiduals":
        """Return the residuals of bounds in the order of `Trial.constraints`; raises ValueError for one below 0."""
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
        """Return the slacks with the smallest penalty, which do not depend on the loss and need not be searched."""
        return np.clip(-excess - mu / self.rho, 0.0, self.max_slack)

    def penalty(self, residuals: Array, mu: Array) -> Array:
        """Return the penalty of residuals, shape (...): rho / 2 times the sum of the squares of r + mu / rho."""
        return np.asarray(self.rho / 2 * np.square(residuals + mu / self.rho).sum(axis=-1))

    def updated_multipliers(self, mu: Array, residuals: Array) -> Array:
        """Return the multipliers after an iteration, mu + rho r; they grow as long as a bound is violated."""
        return np.asarray(mu + self.rho * residuals)

    def trial_residuals(self, trial: Trial, slack: Array) -> Array:
        """Return the residuals of a trial for given slacks, shape (M,); 0 for a failure: it changes no multiplier."""
        return np.zeros(len(self)) if trial.loss is None else self.excess(constraint_values(trial)) + slack

    def trial_penalty(self, trial: Trial, slack: Array, mu: Array) -> float:
        """Return the penalty of a trial for given slacks, which is added to its normalized loss."""
        return float(self.penalty(self.trial_residuals(trial, slack), mu))


def constraint_values(trial: Trial) -> Array:
    """Return the values of g of a successful trial, shape (M,): bounds of the task, then functions of the user."""
    return np.array([measurement.value for measurement in trial.constraints], float)
