"""Calls: points are proposed, evaluated and numbered, as many at a time as there is room for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from spacelang.draws.codes import Array
from spacelang.ir.asking import Ask, Asking, Later
from spacelang.ir.trial import Request, Trial
from spacelang.minimizers._protocol import Box, Point, Value

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What proposals are made of: n points and their numbers, and m that are under way.

    Shapes: `points` (n, d), `numbers` (n,), `pending` (m, d). What was known comes first, then what was told, in order.
    """

    points: Array
    numbers: Array
    pending: Array

    @property
    def count(self) -> int:
        """How many points there are, those under way included."""
        return len(self.points) + len(self.pending)

    @property
    def best(self) -> Array:
        """The point with the least number, the first of several; there must be one."""
        return np.asarray(self.points[self.numbers.argmin()])


Propose: TypeAlias = "Callable[[Seen, Generator], Iterable[float]]"
"""The next point after what is seen; it depends on nothing else but the generator."""


def minimised(
    propose: Propose,
    value: Value,
    box: Box,
    calls: int,
    start: Point,
    seconds: float | None,
    *,
    at_once: float = inf,
) -> Asking[Point]:
    """The best point of so many calls or seconds, at most `at_once` of them under way; see `Minimizer.minimise`."""
    made = _Calls(propose, value, box, calls, start)
    left, room = inf if seconds is None else seconds, value.room
    while True:
        begin = made.begin(min(room, at_once - made.out)) if left > 0 else ()
        if not begin and not made.out:
            return made.best
        told = yield Ask(begin)
        room = told.room
        if told.ended is not None:
            assert isinstance(told.asked, Later), "only what is made later is asked for"
            left -= told.ended.cost
            made.tell(told.asked, told.ended)


class _Calls:
    """The calls of one search: what is known, what is under way, and how many are left."""

    def __init__(self, propose: Propose, value: Value, box: Box, calls: int, start: Point) -> None:
        self._propose, self._value, self._start, self._width = propose, value, start, len(box)
        self._points = [point for point, _ in value.known]
        self._numbers = [number for _, number in value.known]
        self._asks_start = start not in self._points
        self._left = calls if box else min(calls, int(self._asks_start))
        """How many calls are neither made nor reserved for what is being begun."""
        self._pending: dict[Later, tuple[Point, ...]] = {}
        """The points of each proposal that was begun: those without request first, then the one that is evaluated."""
        self.out = 0
        """How many proposals wait for their trial."""

    @property
    def best(self) -> Point:
        """The point with the least number, the first of several; the start where there is none."""
        return self._points[int(np.argmin(self._numbers))] if self._points else self._start

    def begin(self, room: float) -> tuple[Later, ...]:
        """As many proposals as there is room and calls are left; one at least where nothing is under way."""
        count = int(min(max(room, 0 if self.out else 1), self._left))
        self.out += count
        self._left -= count
        return tuple(self._later() for _ in range(count))

    def tell(self, asked: Later, trial: Trial) -> None:
        """Number the points of a proposal."""
        *refused, last = self._pending.pop(asked)
        self.out -= 1
        for point in refused:
            self._note(point, None)
        self._note(last, trial)

    def _later(self) -> Later:
        def begun(request: Request) -> None:
            points = _remembered(request, self._width)
            self._pending[later] = points
            self._asks_start = False
            self._left -= len(points) - 1

        later = Later(self._make, begun)
        return later

    def _make(self, rng: "Generator") -> Request:
        """The request of the next point that has one; the start's, which is known by then, where the last has none."""
        from spacelang.surrogates.threads import one_thread

        refused: list[Point] = []
        while True:
            with one_thread():
                point = self._next(refused, rng)
            request = self._value.request(point)
            if request is not None:
                return _with_memo(request, (*refused, point))
            if len(refused) >= self._left:
                break
            refused.append(point)
        request = self._value.request(self._start)
        if request is None:
            raise ValueError("the start has no configuration")
        return _with_memo(request, (*refused, self._start))

    def _next(self, refused: Sequence[Point], rng: "Generator") -> Point:
        if self._asks_start and not refused:
            return self._start
        return tuple(float(each) for each in self._propose(self._seen(refused), rng))

    def _seen(self, refused: Sequence[Point]) -> Seen:
        numbers = list(self._numbers)
        for point in refused:
            numbers.append(self._value.number(point, None, tuple(numbers)))
        pending = [point for points in self._pending.values() for point in points]
        return Seen(self._rows([*self._points, *refused]), np.array(numbers, float), self._rows(pending))

    def _rows(self, points: Sequence[Point]) -> Array:
        return np.array(points, float).reshape(len(points), self._width)

    def _note(self, point: Point, trial: Trial | None) -> None:
        self._numbers.append(self._value.number(point, trial, tuple(self._numbers)))
        self._points.append(point)


def _with_memo(request: Request, points: Sequence[Point]) -> Request:
    memo = tuple(number for point in points for number in point)
    return replace(request, memo=(*request.memo, *memo, len(points)))


def _remembered(request: Request, width: int) -> tuple[Point, ...]:
    """The points that the memo of a request ends with."""
    count = request.memo[-1]
    assert isinstance(count, int), "the memo ends with the number of points"
    numbers = [float(number) for number in request.memo[-1 - count * width : -1]]
    return tuple(tuple(numbers[place * width : (place + 1) * width]) for place in range(count))
