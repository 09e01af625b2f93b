"""The algebra of ADMM: the relaxed integers theta~, their integer copy delta, and the multipliers between them.

theta~ and delta hold codes of theta_d. Under `widths` the penalty divides each variable by the width of its range, so
that an integer range of hundreds does not outweigh a loss in [0, 1]. Multipliers are then in the same units. `raw` uses
the codes themselves, as in the paper.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

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
    def relaxed(self) -> Array:
        """The relaxed integers theta~, shape (D,)."""
        return self.point.theta_d


@dataclass(frozen=True, slots=True, eq=False)
class Splitting:
    """The steps of an iteration that evaluate nothing.

    `widths` (D,) is the unit of each variable in the penalty. The steps of one iteration are, in this order:

    - `with_theta` with the result of theta-min,
    - `with_delta`, which is delta-min,
    - `with_z` with the result of z-min,
    - `with_multipliers`, the update of the multipliers.
    """

    box: ThetaBox
    rho: float
    widths: Array

    @classmethod
    def from_box(cls, box: ThetaBox, rho: float, weighed: PenaltyUnits = "unit") -> "Splitting":
        """Return the splitting of theta_d in its box, with rho > 0."""
        return cls(box, rho, box.widths if weighed == "unit" else np.ones(len(box)))

    def initial_state(self, point: AdmmPoint) -> Iterate:
        """Return the state before the first iteration.

        theta is that of the point, delta is its projection P_D, and the multipliers are 0. There are no black-box
        constraints in it yet.
        """
        empty = np.zeros(0)
        return Iterate(point, self.box.nearest(point.theta_d), np.zeros(len(self.box)), empty, empty)

    def target(self, state: Iterate) -> Array:
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
        relaxed = self.box.clip(np.where(owned.theta_d, found.theta_d, self.target(state)))
        return replace(state, point=replace(state.point, theta_c=theta_c, theta_d=relaxed))

    def with_delta(self, state: Iterate) -> Iterate:
        """Return the state after delta-min: delta is the member of D nearest to a = theta~ + lambda / rho.

        If two members are equally near, delta is the larger one.
        """
        return replace(state, delta=self.box.nearest(state.relaxed + state.multipliers * self.widths / self.rho))

    def restarted_at(self, state: Iterate, found: AdmmPoint, owned: Mask) -> Iterate:
        """Return the state restarted at a point.

        z, the orders and the owned variables of theta_c and theta~ are those of `found`. The owned variables of delta
        are the projection of these, and their multipliers are 0. Variables that are not owned stay as they are.
        """
        mine = owned.theta_d
        theta_c = np.where(owned.theta_c, found.theta_c, state.point.theta_c)
        relaxed = np.where(mine, found.theta_d, state.relaxed)
        return replace(
            state,
            point=replace(found, theta_c=theta_c, theta_d=relaxed),
            delta=np.where(mine, self.box.nearest(relaxed), state.delta),
            multipliers=np.where(mine, 0.0, state.multipliers),
        )

    def with_z(self, state: Iterate, found: AdmmPoint) -> Iterate:
        """Return the state after z-min: z and the orders are those of `found`, while theta stays."""
        return replace(state, point=replace(state.point, z=found.z, orders=found.orders))

    def with_multipliers(self, state: Iterate) -> Iterate:
        """Return the state after the update of the multipliers: lambda + rho (theta~ - delta)."""
        return replace(state, multipliers=state.multipliers + self.rho * (state.relaxed - state.delta) / self.widths)
