"""theta-min: what is minimised over theta in an iteration, and what it leaves behind (ALGORITHMS.md 4.2, 4.7)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from spacelang.ir.codes import Array
from spacelang.ir.trial import Request, Trial
from spacelang.minimizers import Box
from spacelang.minimizers import Point as Place
from spacelang.optimizers._admm.points import Cube, member
from spacelang.optimizers._admm.residuals import Residuals, measured
from spacelang.optimizers._admm.splitting import Splitting, State
from spacelang.surrogates.dimensions import Dimension
from spacelang.targets.admm import AdmmForm, Point

if TYPE_CHECKING:
    from numpy.random import Generator


class ThetaMin:
    """The augmented value of every theta for the z of a state, a `Value` of minimizers: places are points of its cube.

    It is the standing of the trial, the penalty of theta~ being away from b, and that of constraints with the slack
    that suits them best. A failure is worth the largest number so far, and no less than 1 and the largest penalty so
    far: it stands behind every success. It bears no penalty of constraints, and their residuals are 0.
    """

    def __init__(
        self,
        form: AdmmForm,
        splitting: Splitting,
        residuals: Residuals,
        state: State,
        rng: "Generator",
        *,
        room: int = 1,
        earlier: Iterable[tuple[Point, Trial]] = (),
    ) -> None:
        """`earlier` are points that were evaluated with the same z and orders: they are judged anew by the present b.

        `room` is how many workers have nothing to do, as far as the caller was told.
        """
        self._form, self._splitting, self._residuals, self._state = form, splitting, residuals, state
        self._owned = form.owned(state.point)
        self._target = splitting.target(state)
        self._told: dict[Place, Trial] = {}
        self._largest = 0.0
        """The largest penalty of a success so far."""
        self.cube = Cube.of(form, self._owned)
        self.rng = rng
        self.room = room
        self.known: list[tuple[Place, float]] = []
        for point, trial in earlier:
            place = tuple(self.cube.place(point).tolist())
            numbers = [number for _, number in self.known]
            self.known.append((place, self.number(place, trial, numbers)))

    @property
    def box(self) -> Box:
        """Any numbers in [0, 1], also where theta is whole in the end: its penalty changes between members."""
        return (Dimension(),) * self.cube.width

    @property
    def start(self) -> Place:
        """Where theta is at present."""
        return tuple(self.cube.place(self._state.point).tolist())

    def request(self, place: Place) -> Request | None:
        """The request for the nearest member with the same z; None where there is none."""
        found = member(self._form, self._point(place))
        return None if found is None else Request(found)

    def number(self, place: Place, trial: Trial | None, seen: Sequence[float]) -> float:
        """The augmented value of a place by its trial; None is a place without a member."""
        if trial is None or trial.loss is None:
            return max([*seen, 1.0 + self._largest])
        penalty = self._penalty(place, trial)
        self._told[place], self._largest = trial, max(self._largest, penalty)
        return trial.standing + penalty

    def after(self, best: Place) -> State:
        """The state with theta of the best place and its slacks; those of before where it failed."""
        state = self._splitting.moved(self._state, self._point(best), self._owned)
        return replace(state, slack=self._slack(self._told[best])) if best in self._told else state

    def _point(self, place: Place) -> Point:
        return self.cube.point(np.array(place), self._state.point)

    def _penalty(self, place: Place, trial: Trial) -> float:
        relaxed = self._point(place).theta_d
        apart = self._splitting.penalty(relaxed, self._target, self._owned.theta_d)
        return float(apart) + self._residuals.penalty_of(trial, self._slack(trial), self._state.mu)

    def _slack(self, trial: Trial) -> Array:
        return self._residuals.slack(self._residuals.excess(measured(trial)), self._state.mu)
