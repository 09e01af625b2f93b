"""Theta-min: the objective over theta of one iteration, and the state after it.

See spacelang/optimizers/README.md, section "ADMM: theta-min".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from spacelang.deprecation import renamed_attributes
from spacelang.ir.trial import Request, Trial
from spacelang.minimizers import Box, Point
from spacelang.optimizers._admm.algebra import ConstraintResiduals, Iterate, Splitting, constraint_values
from spacelang.optimizers._admm.points import NearestMemberCache, Theta, ThetaCube
from spacelang.sampling.value_codes import Array
from spacelang.surrogates.dimensions import Dimension
from spacelang.targets.admm import AdmmForm, AdmmPoint


@renamed_attributes(number="value", room="idle_workers")
class ThetaSubproblem:
    """The augmented loss as a function of theta, for the z of a state; it implements the protocol `PointObjective`.

    Points are those of the unit cube of `ThetaCube`, followed by the slacks if these are searched. The augmented loss
    is the sum of

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
        residuals: ConstraintResiduals,
        state: Iterate,
        rng: Generator,
        *,
        room: int = 1,
        earlier: Iterable[tuple[Theta, Trial]] = (),
        searches_slack: bool = False,
        members: NearestMemberCache | None = None,
    ) -> None:
        """Create the objective of one theta-min.

        `earlier` are known trials with the same z and orders, each with its owned theta; their values are computed anew
        with the current penalty. `room` is the number of idle workers, according to the latest event. With
        `searches_slack`, the slacks are additional variables, unless there is no variable of theta. `members` is the
        cache of the form.
        """
        self._space = form.space
        self._splitting, self._residuals, self._state = splitting, residuals, state
        self._members = NearestMemberCache(form) if members is None else members
        self._owned = form.variables_of_selected_alternatives(state.point)
        self._target = splitting.theta_with_least_penalty(state)
        self.trials: dict[Point, Trial] = {}
        self._new: dict[Point, Trial] = {}
        self._exact_theta: dict[Point, Theta] = {}
        """The exact theta of known points, because decoding a point may change the last bits of floats."""
        self._largest_penalty = 0.0
        self.cube = ThetaCube.from_mask(form, self._owned)
        self._slack_count = len(residuals) if searches_slack and self.cube.variable_count else 0
        self.rng = rng
        self.idle_workers = room
        self.known: list[tuple[Point, float]] = []
        self._add_known(earlier)

    def _add_known(self, earlier: Iterable[tuple[Theta, Trial]]) -> None:
        numbers: list[float] = []
        for theta, trial in earlier:
            place = self._encode(theta, self._state.slack if trial.loss is None else self._best_slack(trial))
            if place not in self._exact_theta:
                self._exact_theta[place] = theta
                numbers.append(self.value(place, trial, numbers))
                self.known.append((place, numbers[-1]))
        self._new.clear()

    @property
    def box(self) -> Box:
        """The dimensions, each [0, 1] without members, since the penalty also changes between two integers."""
        found = [*self.cube.theta_c.quantiles(self._space), *self.cube.theta_d.quantiles(self._space)]
        return (*(Dimension(quantiles=each) for each in found), *[Dimension()] * self._slack_count)

    @property
    def start_point(self) -> Point:
        """The point of the current theta."""
        return self._encode(self.cube.theta_of(self._state.point), self._state.slack)

    def request(self, place: Point) -> Request | None:
        """Return the request for the nearest member of a point with the same z, or None if there is none."""
        found = self._members(self._decode(place))
        return None if found is None else Request(found)

    def value(self, place: Point, trial: Trial | None, seen: Sequence[float]) -> float:
        """Return the augmented loss of a point, given its trial, or None if the point represents no member."""
        if trial is not None:
            self.trials[place] = self._new[place] = trial
        if trial is None or trial.loss is None:
            return max(max(seen, default=0.0), 1.0 + self._largest_penalty)
        penalty = self._penalty(place, trial)
        self._largest_penalty = max(self._largest_penalty, penalty)
        return trial.normalized_loss + penalty

    def state_after(self, best: Point) -> Iterate:
        """Return the state with theta and the slacks of the best point; a failed trial changes no slacks."""
        state = self._splitting.with_theta(self._state, self._decode(best), self._owned)
        trial = self.trials.get(best)
        return state if trial is None or trial.loss is None else replace(state, slack=self._slack_at(best, trial))

    @property
    def new_trials(self) -> Iterator[tuple[Theta, Trial]]:
        """The trials that were not known before, each with its theta; the next theta-min gets them as `earlier`."""
        return ((self.cube.theta_of(self._decode(place)), trial) for place, trial in self._new.items())

    def _encode(self, theta: Theta, slack: Array) -> Point:
        place = tuple(self.cube.encode(theta).tolist())
        most = self._residuals.max_slack
        shares = np.divide(slack, most, out=np.zeros_like(most), where=most > 0) if self._slack_count else ()
        return (*place, *(float(share) for share in shares))

    def _decode(self, place: Point) -> AdmmPoint:
        if place in self._exact_theta:
            return self.cube.copy_with_theta(self._exact_theta[place], self._state.point)
        return self.cube.decode(np.array(place[: self.cube.variable_count]), self._state.point)

    def _penalty(self, place: Point, trial: Trial) -> float:
        apart = self._splitting.penalty(self._decode(place).theta_d, self._target, self._owned.theta_d)
        return float(apart) + self._residuals.trial_penalty(trial, self._slack_at(place, trial), self._state.mu)

    def _slack_at(self, place: Point, trial: Trial) -> Array:
        if not self._slack_count:
            return self._best_slack(trial)
        return np.asarray(self._residuals.max_slack * np.array(place[self.cube.variable_count :]))

    def _best_slack(self, trial: Trial) -> Array:
        return self._residuals.best_slack(self._residuals.excess(constraint_values(trial)), self._state.mu)
