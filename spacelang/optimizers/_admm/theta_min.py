"""Theta-min: the objective over theta of one iteration, and the state after it.

See spacelang/optimizers/README.md, section "ADMM: theta-min".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from spacelang.draws.codes import Array
from spacelang.ir.trial import Request, Trial
from spacelang.minimizers import Box, Point
from spacelang.optimizers._admm.points import Cube, MemberCache, Theta
from spacelang.optimizers._admm.residuals import Residuals, measured
from spacelang.optimizers._admm.splitting import Iterate, Splitting
from spacelang.surrogates.dimensions import Dimension
from spacelang.targets.admm import AdmmForm, AdmmPoint

if TYPE_CHECKING:
    from numpy.random import Generator


class ThetaMin:
    """The augmented loss as a function of theta, for the z of a state; it implements the protocol `Value`.

    Points are those of the unit cube of `Cube`, followed by the slacks if these are searched. The augmented loss is the
    sum of

    - the normalized loss of the trial,
    - the penalty for the distance of theta~ from b,
    - the penalty of the black-box constraints, with the best slacks, or with those of the point if slacks are searched.

    A failure has the largest value so far, and at least 1 plus the largest penalty so far, which puts it behind every
    success. It has no penalty of constraints, and its residuals are 0.
    """

    def __init__(
        self,
        form: AdmmForm,
        splitting: Splitting,
        residuals: Residuals,
        state: Iterate,
        rng: "Generator",
        *,
        room: int = 1,
        earlier: Iterable[tuple[Theta, Trial]] = (),
        searches_slack: bool = False,
        members: MemberCache | None = None,
    ) -> None:
        """Create the objective of one theta-min.

        `earlier` are known trials with the same z and orders, each with its owned theta; their values are computed anew
        with the current penalty. `room` is the number of idle workers, according to the latest event. With
        `searches_slack`, the slacks are additional variables, unless there is no variable of theta. `members` is the
        cache of the form.
        """
        self._splitting, self._residuals, self._state = splitting, residuals, state
        self._members = MemberCache(form) if members is None else members
        self._owned = form.owned(state.point)
        self._target = splitting.target(state)
        self._trials: dict[Point, Trial] = {}
        self._fresh: dict[Point, Trial] = {}
        self._exact: dict[Point, Theta] = {}
        """The exact theta of known points, because decoding a point may change the last bits of floats."""
        self._largest = 0.0
        """The largest penalty of a successful trial so far."""
        self.cube = Cube.of(form, self._owned)
        self._slacks = len(residuals) if searches_slack and self.cube.width else 0
        self.rng = rng
        self.room = room
        self.known: list[tuple[Point, float]] = []
        self._judge(earlier)

    def _judge(self, earlier: Iterable[tuple[Theta, Trial]]) -> None:
        numbers: list[float] = []
        for theta, trial in earlier:
            slack = self._state.slack if trial.loss is None else self._suited(trial)
            place = self._place(theta, slack)
            if place not in self._exact:
                self._exact[place] = theta
                numbers.append(self.number(place, trial, numbers))
                self.known.append((place, numbers[-1]))
        self._fresh.clear()

    @property
    def box(self) -> Box:
        """The dimensions of the cube, each [0, 1] without members.

        Integer variables have none either, because their penalty also changes between two integers.
        """
        return (Dimension(),) * (self.cube.width + self._slacks)

    @property
    def start(self) -> Point:
        """The point of the current theta."""
        return self._place(self.cube.theta(self._state.point), self._state.slack)

    def request(self, place: Point) -> Request | None:
        """Return the request for the nearest member with the same z; None if there is none."""
        found = self._members(self._point(place))
        return None if found is None else Request(found)

    def number(self, place: Point, trial: Trial | None, seen: Sequence[float]) -> float:
        """Return the augmented loss of a point, given its trial; None means that the point stands for no member."""
        if trial is not None:
            self._trials[place] = self._fresh[place] = trial
        if trial is None or trial.loss is None:
            return max(max(seen, default=0.0), 1.0 + self._largest)
        penalty = self._penalty(place, trial)
        self._largest = max(self._largest, penalty)
        return trial.standing + penalty

    def after(self, best: Point) -> Iterate:
        """Return the state with theta and the slacks of the best point; the slacks stay if its trial failed."""
        state = self._splitting.moved(self._state, self._point(best), self._owned)
        trial = self._trials.get(best)
        return state if trial is None or trial.loss is None else replace(state, slack=self._slack(best, trial))

    def trial(self, place: Point) -> Trial | None:
        """Return the trial of a point, or None if none is known."""
        return self._trials.get(place)

    @property
    def count(self) -> int:
        """The number of points with a known trial."""
        return len(self._trials)

    @property
    def tried(self) -> Iterator[tuple[Theta, Trial]]:
        """The trials that were not known before, each with its theta.

        The next theta-min with the same z gets them as `earlier`.
        """
        return ((self.cube.theta(self._point(place)), trial) for place, trial in self._fresh.items())

    def _place(self, theta: Theta, slack: Array) -> Point:
        place = tuple(self.cube.place(theta).tolist())
        most = self._residuals.most
        shares = np.divide(slack, most, out=np.zeros_like(most), where=most > 0) if self._slacks else ()
        return (*place, *(float(share) for share in shares))

    def _point(self, place: Point) -> AdmmPoint:
        if place in self._exact:
            return self.cube.with_theta(self._exact[place], self._state.point)
        return self.cube.point(np.array(place[: self.cube.width]), self._state.point)

    def _penalty(self, place: Point, trial: Trial) -> float:
        relaxed = self._point(place).theta_d
        apart = self._splitting.penalty(relaxed, self._target, self._owned.theta_d)
        return float(apart) + self._residuals.penalty_of(trial, self._slack(place, trial), self._state.mu)

    def _slack(self, place: Point, trial: Trial) -> Array:
        if not self._slacks:
            return self._suited(trial)
        return np.asarray(self._residuals.most * np.array(place[self.cube.width :]))

    def _suited(self, trial: Trial) -> Array:
        return self._residuals.slack(self._residuals.excess(measured(trial)), self._state.mu)
