"""The parts of the optimizer ADMM; here its algebra, its points as configurations, their trials, and compilation.

The algebra is about the relaxed integers theta~, their integer copy delta, and the multipliers between them.

theta~ and delta hold codes of theta_d. Under `widths` the penalty divides each variable by the width of its range, so
that an integer range of hundreds does not outweigh a loss in [0, 1]. Multipliers are then in the same units. `raw` uses
the codes themselves, as in the paper.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Literal, TypeAlias, TypeVar

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, SearchCoroutine, SearchEvent
from spacelang.ir.task import AnyBound
from spacelang.ir.trial import Request, Status, Trial
from spacelang.plugins import OptionError
from spacelang.sampling.value_codes import Array
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Preservation, RefusedError
from spacelang.targets.admm import Admm, AdmmForm, AdmmPoint, AdmmPoints, ThetaCoordinates, VariableMask

PenaltyUnits: TypeAlias = Literal["unit", "raw"]
"""The unit of the distance between theta~ and delta: the width of the range of the variable, or 1."""


@dataclass(frozen=True, slots=True, eq=False)
class AdmmState:
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
class AdmmUpdateSteps:
    """The steps of an iteration that evaluate nothing.

    `widths` (D,) is the unit of each variable in the penalty. The steps of one iteration are, in this order:

    - `with_theta` with the result of theta-min,
    - `with_delta`, which is delta-min,
    - `with_multipliers`, the update of the multipliers.
    """

    box: ThetaCoordinates
    rho: float
    widths: Array

    @classmethod
    def from_box(cls, box: ThetaCoordinates, rho: float, weighed: PenaltyUnits = "unit") -> "AdmmUpdateSteps":
        """Return the steps for theta_d in `box`, with rho > 0; all `widths` are 1 unless `weighed` is `unit`."""
        return cls(box, rho, box.penalty_scales if weighed == "unit" else np.ones(len(box)))

    def initial_state(self, point: AdmmPoint) -> AdmmState:
        """Return the first state: delta is the projection P_D of theta; no multipliers and no constraints yet."""
        empty = np.zeros(0)
        return AdmmState(point, self.box.nearest(point.theta_d), np.zeros(len(self.box)), empty, empty)

    def theta_with_least_penalty(self, state: AdmmState) -> Array:
        """Return b = delta - widths * lambda / rho, shape (D,): the theta~ with the smallest penalty in theta-min."""
        return np.asarray(state.delta - state.multipliers * self.widths / self.rho)

    def penalty(self, relaxed: Array, target: Array, owned: Array) -> Array:
        """Return rho / 2 times the sum of ((theta~ - b) / widths)^2 over the owned variables, with b as `target`."""
        return np.asarray(self.rho / 2 * np.square((relaxed - target) / self.widths)[..., owned].sum(axis=-1))

    def with_theta(self, state: AdmmState, found: AdmmPoint, owned: VariableMask) -> AdmmState:
        """Return the state after theta-min: the owned variables have the values of `found`.

        All other variables of theta~ become b, where their penalty is 0, and those of theta_c stay as they are. theta~
        is clipped to the box.
        """
        theta_c = np.where(owned.theta_c, found.theta_c, state.point.theta_c)
        relaxed = self.box.clip(np.where(owned.theta_d, found.theta_d, self.theta_with_least_penalty(state)))
        return replace(state, point=replace(state.point, theta_c=theta_c, theta_d=relaxed))

    def with_delta(self, state: AdmmState) -> AdmmState:
        """Return the state after delta-min: delta is the member of D nearest to theta~ + widths * lambda / rho."""
        wanted = state.relaxed_integers + state.multipliers * self.widths / self.rho
        return replace(state, delta=self.box.nearest(wanted))

    def restart_at(self, state: AdmmState, found: AdmmPoint, owned: VariableMask) -> AdmmState:
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

    def with_multipliers(self, state: AdmmState) -> AdmmState:
        """Return the state after the update of the multipliers: lambda + rho (theta~ - delta) / widths."""
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
    def initial_multipliers(self) -> Array:
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
        """Return the slacks from 0 to `max_slack` whose residuals, `excess` plus slack, have the smallest penalty."""
        return np.clip(-excess - mu / self.rho, 0.0, self.max_slack)

    def penalty(self, residuals: Array, mu: Array) -> Array:
        """Return the penalty, shape (...): rho / 2 times the sum of (residuals + mu / rho)^2 over the bounds."""
        return np.asarray(self.rho / 2 * np.square(residuals + mu / self.rho).sum(axis=-1))

    def updated_multipliers(self, mu: Array, residuals: Array) -> Array:
        """Return the multipliers after an iteration, mu + rho * residuals; they grow as long as a bound is violated."""
        return np.asarray(mu + self.rho * residuals)

    def trial_residuals(self, trial: Trial, slack: Array) -> Array:
        """Return `excess` of a trial plus its slacks, shape (M,); zeros for a failure, which changes no multiplier."""
        return np.zeros(len(self)) if trial.loss is None else self.excess(constraint_values(trial)) + slack

    def trial_penalty(self, trial: Trial, slack: Array, mu: Array) -> float:
        """Return the penalty of a trial for given slacks, which is added to its normalized loss."""
        return float(self.penalty(self.trial_residuals(trial, slack), mu))


def constraint_values(trial: Trial) -> Array:
    """Return the values of g of a successful trial, shape (M,): bounds of the task, then functions of the user."""
    return np.array([measurement.value for measurement in trial.constraints], float)


Theta: TypeAlias = tuple[Array, Array]
"""Values of the variables of theta_c and of theta_d that a pipeline owns; these are what theta-min searches."""
MAX_CACHED_MEMBERS: Final = 512


def nearest_members(form: AdmmForm, points: AdmmPoints | Sequence[AdmmPoint]) -> list[Configuration | None]:
    """Return for each point the nearest member with the same z and orders; None, a failure, if no member has them."""
    given = form.to_points(points)
    projected = form.project_all(given)
    kept = (projected.z == given.z).all(axis=1)
    for mine, theirs in zip(projected.orders, given.orders, strict=True):
        kept &= (mine == theirs).all(axis=(1, 2))
    rows = np.flatnonzero(kept)
    found: list[Configuration | None] = [None] * len(given)
    for row, configuration in zip(rows.tolist(), form.decode_all(projected.take(rows)), strict=True):
        found[row] = configuration
    return found


class NearestMemberCache:
    """A cache of `nearest_members`, emptied when full: theta-min proposes many points that stand for few members."""

    def __init__(self, form: AdmmForm) -> None:
        self._form = form
        self._cached_members: dict[tuple[bytes, ...], Configuration | None] = {}

    def __call__(self, point: AdmmPoint) -> Configuration | None:
        """Return the configuration to evaluate for a point, or None."""
        theta = self._form.theta_c.nearest(point.theta_c), self._form.theta_d.nearest(point.theta_d)
        key = tuple(each.tobytes() for each in (point.z, *theta, *point.orders))
        if key not in self._cached_members:
            if len(self._cached_members) == MAX_CACHED_MEMBERS:
                self._cached_members.clear()
            self._cached_members[key] = nearest_members(self._form, [point])[0]
        return self._cached_members[key]


@dataclass(frozen=True, slots=True, eq=False)
class ThetaCube:
    """The unit cube that theta-min searches: the owned variables of theta_c, then those of theta_d, not rounded.

    `numbers` and `integers` are the columns of these variables in theta_c and theta_d. `theta_c` and `theta_d` are the
    boxes of these columns alone.
    """

    numbers: Array
    integers: Array
    theta_c: ThetaCoordinates
    theta_d: ThetaCoordinates

    @classmethod
    def from_mask(cls, form: AdmmForm, owned: VariableMask) -> "ThetaCube":
        """Return the cube of the variables in a mask, such as `AdmmForm.variables_of_selected_alternatives`."""
        numbers, integers = np.flatnonzero(owned.theta_c), np.flatnonzero(owned.theta_d)
        return cls(numbers, integers, form.theta_c.take(numbers), form.theta_d.take(integers))

    @property
    def variable_count(self) -> int:
        """The number of variables; 0 if there is nothing to minimise over."""
        return len(self.numbers) + len(self.integers)

    @property
    def max_members(self) -> float:
        """An upper bound on the number of members that differ in these variables; infinite with a continuous range."""
        box = self.theta_d
        sizes = box.upper - box.lower + 1
        for column, members in box.lattice.items():
            sizes[column] = len(members)
        return inf if len(self.numbers) else float(np.prod(sizes))

    def theta_of(self, point: AdmmPoint) -> Theta:
        """Return the values of the variables of the cube at a point."""
        return point.theta_c[self.numbers], point.theta_d[self.integers]

    def encode(self, theta: Theta) -> Array:
        """Return the coordinates of theta in the unit cube, shape (width,)."""
        return np.concatenate([self.theta_c.to_unit(theta[0]), self.theta_d.to_unit(theta[1])])

    def copy_with_theta(self, theta: Theta, base: AdmmPoint) -> AdmmPoint:
        """Return a copy of `base` with these values of the variables of the cube."""
        theta_c, theta_d = base.theta_c.copy(), base.theta_d.copy()
        theta_c[self.numbers], theta_d[self.integers] = theta
        return replace(base, theta_c=theta_c, theta_d=theta_d)

    def decode(self, place: Array, base: AdmmPoint) -> AdmmPoint:
        """Return a copy of `base` in which the variables of the cube have the values at its coordinates `place`.

        Integers are not rounded. Values whose coordinate is unchanged stay as they are to the last bit, so that known
        trials are not repeated.
        """
        numbers, integers = np.split(np.asarray(place, float), [len(self.numbers)])
        theta_c, theta_d = base.theta_c.copy(), base.theta_d.copy()
        _move_columns(theta_c, self.numbers, self.theta_c, numbers)
        _move_columns(theta_d, self.integers, self.theta_d, integers)
        return replace(base, theta_c=theta_c, theta_d=theta_d)


def _move_columns(theta: Array, columns: Array, box: ThetaCoordinates, place: Array) -> None:
    before = theta[columns]
    theta[columns] = np.where(box.to_unit(before) == place, before, box.from_unit(place))


T = TypeVar("T")
NO_MEMBER_KEY: Final = ""
"""A key that no member has. A configuration with this key stands for alternatives that no member has."""


class TrialCache:
    """A cache of trials on all training rows, which also tracks the number of idle workers."""

    def __init__(self) -> None:
        self.trials: dict[Request, Trial] = {}
        """The known trials by request, without their predictions, which are large and not needed here."""
        self.new_trial_count = 0
        """The number of trials so far that provided new information."""
        self.idle_workers = 1

    def run_with_cached_trials(
        self, part: SearchCoroutine[T], note: Callable[[Trial], None] = lambda _: None
    ) -> SearchCoroutine[T]:
        """Run a part of the search, and answer its requests from the cache where possible.

        A request that stands for no member of the space is answered with a failed trial. `note` is called with every
        trial on all rows that was not in the cache. Returns the result of the part.
        """
        owed: deque[tuple[Request, Trial]] = deque()
        requests: tuple[Request | LazyRequest, ...] = ()
        try:
            ask = next(part)
            while True:
                requests += tuple(each for each in ask.requests if not self._answer_from_cache(each, owed))
                if owed:
                    wanted, known = owed.popleft()
                    event = SearchEvent(known, max(self.idle_workers - len(requests), 0), request=wanted)
                else:
                    event = yield Ask(requests, tuple(filter(_is_member, ask.speculative)))
                    requests, self.idle_workers = (), event.idle_workers
                if event.finished is not None:
                    self._store(event.finished, note)
                ask = part.send(event)
        except StopIteration as end:
            found: T = end.value
            return found

    def _store(self, trial: Trial, note: Callable[[Trial], None]) -> None:
        if trial.request.fidelity is not None:
            self.new_trial_count += trial.cost > 0  # a trial from memory has no cost
        elif _is_member(trial.request) and trial.request not in self.trials:
            self.new_trial_count += 1
            self.trials[trial.request] = kept = trial if trial.predictions is None else replace(trial, predictions=None)
            note(kept)

    def _answer_from_cache(self, wanted: Request | LazyRequest, owed: deque[tuple[Request, Trial]]) -> bool:
        """Append a request and its trial to `owed` and return True if it is no lazy one and the trial is known.

        The trial of a request that stands for no member of the space is known: a failure.
        """
        if isinstance(wanted, LazyRequest):
            return False
        reason = "no configuration has these alternatives together with the current hyperparameters"
        failure = Trial(wanted, None, status=Status.INVALID, reason=reason)
        known = self.trials.get(wanted) if _is_member(wanted) else failure
        if known is not None:
            owed.append((wanted, replace(known, request=wanted, cost=0.0)))
        return known is not None


def _is_member(request: Request) -> bool:
    return NO_MEMBER_KEY not in request.configuration


def lower_for_admm(target: Admm, structures: Structures) -> AdmmForm:
    """Compile the space. Raise OptionError, with the lines of the text, if the target refuses it."""
    try:
        return target.lower(structures).form
    except RefusedError as error:
        refused = (each for each in error.report if each.status is Preservation.REFUSED)
        reason = "; ".join(f"{each.construct}{each.lines_text}: {each.message}" for each in refused)
        message = f"this optimizer cannot search `{structures.space.name}`: {reason}"
        raise OptionError(message, "try another optimizer; `random` can search any space") from error
