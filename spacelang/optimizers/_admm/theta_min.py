"""theta-min: what is minimised over theta in an iteration, and what it leaves behind.

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
    """The augmented value of every theta for the z of a state, a `Value` of minimizers: places are points of its cube.

    It is the standing of the trial, the penalty of theta~ being away from b, and that of constraints with the slack
    that suits them best, or with that of the place where slacks are searched for. A failure is worth the largest number
    so far, and no less than 1 and the largest penalty so far: it stands behind every success. It bears no penalty of
    constraints, and their residuals are 0.
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
        """`earlier` is what was evaluated with the same z and orders, what is owned of it: it is judged anew.

        `room` is how many workers have nothing to do, as far as the caller was told. With `searches_slack` slacks are
        further variables, unless nothing else is moved. `members` are those of the form.
        """
        self._splitting, self._residuals, self._state = splitting, residuals, state
        self._members = MemberCache(form) if members is None else members
        self._owned = form.owned(state.point)
        self._target = splitting.target(state)
        self._trials: dict[Point, Trial] = {}
        self._fresh: dict[Point, Trial] = {}
        self._exact: dict[Point, Theta] = {}
        """What earlier places stand for: floats do not come back from the cube to the last bit."""
        self._largest = 0.0
        """The largest penalty of a success so far."""
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
        """Any numbers in [0, 1], also where theta is whole in the end: its penalty changes between members."""
        return (Dimension(),) * (self.cube.width + self._slacks)

    @property
    def start(self) -> Point:
        """Where theta is at present."""
        return self._place(self.cube.theta(self._state.point), self._state.slack)

    def request(self, place: Point) -> Request | None:
        """The request for the nearest member with the same z; None where there is none."""
        found = self._members(self._point(place))
        return None if found is None else Request(found)

    def number(self, place: Point, trial: Trial | None, seen: Sequence[float]) -> float:
        """The augmented value of a place by its trial; None is a place without a member."""
        if trial is not None:
            self._trials[place] = self._fresh[place] = trial
        if trial is None or trial.loss is None:
            return max(max(seen, default=0.0), 1.0 + self._largest)
        penalty = self._penalty(place, trial)
        self._largest = max(self._largest, penalty)
        return trial.standing + penalty

    def after(self, best: Point) -> Iterate:
        """The state with theta of the best place and its slacks; those of before where it failed."""
        state = self._splitting.moved(self._state, self._point(best), self._owned)
        trial = self._trials.get(best)
        return state if trial is None or trial.loss is None else replace(state, slack=self._slack(best, trial))

    def trial(self, place: Point) -> Trial | None:
        """What came of a place; None where nothing is known of it."""
        return self._trials.get(place)

    @property
    def count(self) -> int:
        """Of how many places it is known what came of them."""
        return len(self._trials)

    @property
    def tried(self) -> Iterator[tuple[Theta, Trial]]:
        """What was told that was not known before: earlier ones for the next time."""
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
