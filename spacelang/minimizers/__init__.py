"""Minimizers: one module per method that searches the unit cube for the smallest value by requesting trials.

The function to minimise is given by a `MinimizationProblem`. `minimize_with_proposals` requests the trials for the
points that a minimizer proposes, and stops after the given calls or seconds. A minimizer therefore only has to propose
the next point, given the observations so far (`Observations`).

See spacelang/optimizers/README.md, section "Minimizers".
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.random import Generator

from spacelang.deprecation import renamed_attributes
from spacelang.ir.search_protocol import Ask, LazyRequest, SearchCoroutine
from spacelang.ir.trial import Request, Trial
from spacelang.plugins import PluginRegistry
from spacelang.sampling.value_codes import Array
from spacelang.surrogates import Dimension, apply_priors, limit_to_one_thread, random_point

__all__ = [
    "MINIMIZERS", "Box", "Dimension", "MinimizationProblem", "Minimizer", "Observations", "Point", "ProposalFunction",
    "minimize_with_proposals",
]  # fmt: skip

MINIMIZERS = PluginRegistry("spacelang.minimizers", "spacelang.minimizers")
"""All minimizers by name; each loads as a class that implements `Minimizer`."""


Point: TypeAlias = tuple[float, ...]  # A point of the unit cube
Box: TypeAlias = tuple[Dimension, ...]
"""The dimension of each coordinate of a point: any number in [0, 1], or one of some members.

Points that round to the same members are the same to the objective. If the objective changes between two members, as
a penalty does, the coordinate must be declared without members.
"""


class MinimizationProblem(Protocol):
    """The problem of a minimizer: it maps points to requests, and their trials to the numbers to minimise.

    It also has the points that are known before the first request, the idle workers and the random generator.
    """

    @property
    def known(self) -> Sequence[tuple[Point, float]]:
        """The points whose numbers are known without new trials, such as those of earlier calls, with their numbers."""

    @property
    def idle_workers(self) -> int:
        """The number of idle workers, according to the latest event that the caller received."""

    @property
    def rng(self) -> Generator:
        """The random generator for all draws except those of proposals, which have generators of their own."""

    def request(self, point: Point) -> Request | None:
        """Return the request that evaluates a point; None if the point stands for no valid configuration."""

    def value(self, point: Point, trial: Trial | None, seen: Sequence[float]) -> float:
        """Return the finite number to minimise for a point.

        `trial` is the trial of the point, which may have failed, or None if the point has no request. `seen` has all
        numbers so far, starting with the known ones; a failure may, for example, get the largest of them. The result
        depends on nothing but the arguments.
        """


@renamed_attributes(best="best_point", count="count_with_pending")
@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """The observations for a proposal: n points with their numbers, and m points that are being evaluated.

    `points` has shape (n, d), `numbers` (n,) and `pending` (m, d). Points that were known from the start come first,
    then the evaluated ones in the order in which they finished.
    """

    points: Array
    numbers: Array
    pending: Array

    @property
    def count_with_pending(self) -> int:
        """The number of points, including those that are being evaluated."""
        return len(self.points) + len(self.pending)

    @property
    def best_point(self) -> Array:
        """The point with the smallest number, the first of several; there must be at least one."""
        return np.asarray(self.points[self.numbers.argmin()])


ProposalFunction: TypeAlias = Callable[[Observations, Generator], Iterable[float]]
"""A function that returns the next point; it may depend only on the observations and the generator."""


def minimize_with_proposals(
    propose: ProposalFunction,
    value: MinimizationProblem,
    box: Box,
    calls: int,
    start: Point,
    seconds: float | None,
    *,
    at_once: float = inf,
) -> SearchCoroutine[Point]:
    """Return the best point after the given number of calls or seconds; see `Minimizer.minimise` for the arguments.

    `propose` returns the next point. At most `at_once` proposals are evaluated at the same time.
    """
    made = _ProposalLoop(propose, value, box, calls, start)
    left, room = inf if seconds is None else seconds, value.idle_workers
    while True:
        begin = made.start_proposals(min(room, at_once - made.pending_count)) if left > 0 else ()
        if not begin and not made.pending_count:
            return made.best
        event = yield Ask(begin)
        room = event.idle_workers
        if event.finished is not None:
            assert isinstance(event.request, LazyRequest), "a minimizer must start every trial with a lazy request"
            left -= event.finished.cost
            made.record_trial(event.request, event.finished)


class _ProposalLoop:
    def __init__(
        self, propose: ProposalFunction, value: MinimizationProblem, box: Box, calls: int, start: Point
    ) -> None:
        self._propose, self._value, self._start, self._width = propose, value, start, len(box)
        self._points = [point for point, _ in value.known]
        self._numbers = [number for _, number in value.known]
        self._needs_start = start not in self._points
        self._remaining_calls = calls if box else min(calls, int(self._needs_start))
        """The number of calls that are neither used nor reserved for pending proposals."""
        self._pending: dict[LazyRequest, tuple[Point, ...]] = {}
        """The points of each started proposal: those without a request first, then the one to evaluate."""
        self.pending_count = 0

    @property
    def best(self) -> Point:
        return self._points[int(np.argmin(self._numbers))] if self._points else self._start

    def start_proposals(self, idle_workers: float) -> tuple[LazyRequest, ...]:
        """Return a lazy request per idle worker while calls remain; at least one if none is pending."""
        count = int(min(max(idle_workers, 0 if self.pending_count else 1), self._remaining_calls))
        self.pending_count += count
        self._remaining_calls -= count
        return tuple(self._make_lazy_request() for _ in range(count))

    def record_trial(self, asked: LazyRequest, trial: Trial) -> None:
        *refused, last = self._pending.pop(asked)
        self.pending_count -= 1
        for point in refused:
            self._record(point, None)
        self._record(last, trial)

    def _make_lazy_request(self) -> LazyRequest:
        def begun(request: Request) -> None:
            points = _points_in_memo(request, self._width)
            self._pending[later] = points
            self._needs_start = False
            self._remaining_calls -= len(points) - 1

        later = LazyRequest(self._make_request, begun)
        return later

    def _make_request(self, rng: Generator) -> Request:
        """Return the request of the next proposed point that has one.

        Once the calls are used up without such a point, it is the request of the start, whose number is known by then.
        """
        refused: list[Point] = []
        while True:
            with limit_to_one_thread():
                point = self._next_point(refused, rng)
            request = self._value.request(point)
            if request is not None:
                return _with_memo(request, (*refused, point))
            if len(refused) >= self._remaining_calls:
                break
            refused.append(point)
        request = self._value.request(self._start)
        if request is None:
            raise ValueError("the start point has no valid configuration")
        return _with_memo(request, (*refused, self._start))

    def _next_point(self, refused: Sequence[Point], rng: Generator) -> Point:
        if self._needs_start and not refused:
            return self._start
        return tuple(float(each) for each in self._propose(self._observations(refused), rng))

    def _observations(self, refused: Sequence[Point]) -> Observations:
        numbers = list(self._numbers)
        for point in refused:
            numbers.append(self._value.value(point, None, tuple(numbers)))
        pending = [point for points in self._pending.values() for point in points]
        points = self._to_array([*self._points, *refused])
        return Observations(points, np.array(numbers, float), self._to_array(pending))

    def _to_array(self, points: Sequence[Point]) -> Array:
        return np.array(points, float).reshape(len(points), self._width)

    def _record(self, point: Point, trial: Trial | None) -> None:
        self._numbers.append(self._value.value(point, trial, tuple(self._numbers)))
        self._points.append(point)


def _with_memo(request: Request, points: Sequence[Point]) -> Request:
    memo = tuple(number for point in points for number in point)
    return replace(request, memo=(*request.memo, *memo, len(points)))


def _points_in_memo(request: Request, width: int) -> tuple[Point, ...]:
    count = request.memo[-1]
    assert isinstance(count, int), "the last item in the memo of a request must be the number of its points"
    numbers = [float(number) for number in request.memo[-1 - count * width : -1]]
    return tuple(tuple(numbers[place * width : (place + 1) * width]) for place in range(count))


class Minimizer(Protocol):
    """A minimizer: a frozen dataclass whose fields are its options.

    It may declare `most_modelled: ClassVar[int]`, the number of points beyond which its model uses only some of them.
    Its caller then says so in the summary of the run.
    """

    paper: ClassVar[str]

    def minimise(
        self, value: MinimizationProblem, box: Box, calls: int, start: Point, seconds: float | None = None
    ) -> SearchCoroutine[Point]:
        """Return the point of the box with the smallest number, the first of equal ones, after some calls or seconds.

        Every proposed point counts as one of the `calls`, whether it was evaluated, answered from memory or had no
        request. The first point is `start`, unless its number is already known; `start` must have a request. Without
        dimensions, it is the only point. Once trials have cost `seconds` in total, no further one starts. The result is
        never worse than `start` or than any known point. No trial is pending when the method returns.

        The requested points depend only on the arguments, on the received events and on the generators of proposals.
        The `memo` of a request ends with the coordinates of the points that were proposed for it, and their number.
        """


def latin_hypercube(size: int, dimensions: int, rng: Generator) -> Array:
    """Return a Latin hypercube, shape (size, dimensions): a point in each of `size` intervals of each coordinate."""
    if not dimensions:
        return np.empty((size, 0))
    from scipy.stats.qmc import LatinHypercube

    return np.asarray(LatinHypercube(dimensions, rng=rng).random(size))


def prepend_initial_design(size: int, box: Box, rng: Generator, propose: ProposalFunction) -> ProposalFunction:
    """Return a function that proposes a Latin hypercube, then random points until a number is known, then `propose`.

    The hypercube has `size` points; its coordinates and those of the random points follow their priors.
    """
    design = apply_priors(box, latin_hypercube(size, len(box), rng))

    def next_point(seen: Observations, rng: Generator) -> Iterable[float]:
        if seen.count_with_pending < len(design):
            return np.asarray(design[seen.count_with_pending])
        return propose(seen, rng) if len(seen.numbers) else random_point(box, rng)

    return next_point
