"""What ties theta~, which moves between integers, to its integer copy delta: ADMM's algebra.

theta~ and delta are in the codes of theta_d. Under `unit` each variable counts in its range in the penalty, so that no
range of hundreds outweighs a loss in [0, 1]; multipliers are then in ranges too. `raw` is the paper's: codes
themselves.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from spacelang.draws.codes import Array
from spacelang.targets.admm import AdmmPoint, Mask, ThetaBox

Weighed: TypeAlias = Literal["unit", "raw"]
"""What a distance between theta~ and delta is counted in: the range of the variable, or 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """What one iteration of ADMM leaves to the next. Nobody writes to its arrays.

    `point` has z, the orders, theta_c and, as theta_d, theta~ (D,), which need not be whole. `delta` (D,) is its copy
    in D, `multipliers` (D,) is lambda. `slack` and `mu`, both (M,), are those of the black-box constraints
    (`residuals`), empty where there are none.
    """

    point: AdmmPoint
    delta: Array
    multipliers: Array
    slack: Array
    mu: Array

    @property
    def relaxed(self) -> Array:
        """theta~, (D,)."""
        return self.point.theta_d


@dataclass(frozen=True, slots=True, eq=False)
class Splitting:
    """The steps of an iteration that evaluate nothing; `widths` (D,) is what each variable counts in.

    One after the other they are `moved`, with what theta-min has found, `copied`, `chosen`, with what z-min has found,
    and `updated`.
    """

    box: ThetaBox
    rho: float
    widths: Array

    @classmethod
    def of(cls, box: ThetaBox, rho: float, weighed: Weighed = "unit") -> "Splitting":
        """The splitting of theta_d in its box, with rho > 0."""
        return cls(box, rho, box.unit if weighed == "unit" else np.ones(len(box)))

    def start(self, point: AdmmPoint) -> Iterate:
        """The state before the first iteration: theta of a point, delta its P_D, and multipliers of 0."""
        empty = np.zeros(0)
        return Iterate(point, self.box.nearest(point.theta_d), np.zeros(len(self.box)), empty, empty)

    def target(self, state: Iterate) -> Array:
        """b = delta - lambda / rho, (D,): where the penalty of theta-min is smallest."""
        return np.asarray(state.delta - state.multipliers * self.widths / self.rho)

    def penalty(self, relaxed: Array, target: Array, owned: Array) -> Array:
        """rho / 2 times the squared distance of theta~ (..., D) from b over what is `owned` (D,): shape (...)."""
        return np.asarray(self.rho / 2 * np.square((relaxed - target) / self.widths)[..., owned].sum(axis=-1))

    def moved(self, state: Iterate, found: AdmmPoint, owned: Mask) -> Iterate:
        """After theta-min: what is owned has the values of `found`, kept to the box.

        Of all else theta~ is b, which costs nothing, and theta_c stays.
        """
        theta_c = np.where(owned.theta_c, found.theta_c, state.point.theta_c)
        relaxed = self.box.clip(np.where(owned.theta_d, found.theta_d, self.target(state)))
        return replace(state, point=replace(state.point, theta_c=theta_c, theta_d=relaxed))

    def copied(self, state: Iterate) -> Iterate:
        """After delta-min: the member of D nearest to a = theta~ + lambda / rho, the upper one of two."""
        return replace(state, delta=self.box.nearest(state.relaxed + state.multipliers * self.widths / self.rho))

    def begun(self, state: Iterate, found: AdmmPoint, owned: Mask) -> Iterate:
        """As at the beginning, from a point: of what is owned theta~ and delta are its values, lambda is 0."""
        mine = owned.theta_d
        theta_c = np.where(owned.theta_c, found.theta_c, state.point.theta_c)
        relaxed = np.where(mine, found.theta_d, state.relaxed)
        return replace(
            state,
            point=replace(found, theta_c=theta_c, theta_d=relaxed),
            delta=np.where(mine, self.box.nearest(relaxed), state.delta),
            multipliers=np.where(mine, 0.0, state.multipliers),
        )

    def chosen(self, state: Iterate, found: AdmmPoint) -> Iterate:
        """After z-min: z and the orders of `found`, whatever its theta is."""
        return replace(state, point=replace(state.point, z=found.z, orders=found.orders))

    def updated(self, state: Iterate) -> Iterate:
        """After an iteration: lambda + rho (theta~ - delta)."""
        return replace(state, multipliers=state.multipliers + self.rho * (state.relaxed - state.delta) / self.widths)
