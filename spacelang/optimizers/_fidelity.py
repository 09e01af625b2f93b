"""The fidelity grid (the numbers of training rows of successive trainings), and brackets of successive halving.

See spacelang/optimizers/README.md, sections "Fidelity grid" and "Brackets in a time budget".
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count, islice
from math import ceil, floor, log
from typing import Final, Literal, Protocol, TypeAlias

import numpy as np


def rungs(size: int, b: int, eta: float) -> tuple[int, ...]:
    """Return the numbers of rows n_k = min(size, floor(b * eta^(k - 1))) for k = 1, 2, ... up to `size` itself.

    The result is strictly increasing: a number that rounding repeats is listed once, because training on the same rows
    again gives no new information. `size` and `b` are at least 1, and `eta` is greater than 1.
    """
    found = [min(size, b)]
    exponent = 0
    while found[-1] < size:
        # Skip exponents that cannot exceed the last number, so that an eta near 1 takes no longer.
        exponent = max(exponent + 1, floor(log((found[-1] + 1) / b) / log(eta)))
        # Rounding errors may make a product fall slightly below the exact whole number.
        rows = floor(min(size, b * eta**exponent * (1 + 1e-12)))
        if rows > found[-1]:
            found.append(rows)
    return tuple(found)


def rungs_by_division(size: int, least: float, eta: float) -> tuple[int, ...]:
    """Return the numbers of rows size / eta^k, rounded, for k = s, ..., 1, 0.

    Here s is the largest k for which the number is not below `least`. The result is ascending. A number may occur twice
    if there are few rows. `least` is more than 0 and at most `size`.
    """
    last = min(floor(log(size / least) / log(eta) + 1e-9), size - ceil(least))
    return tuple(max(1, round(size * eta**-k)) for k in range(last, -1, -1))


def fidelity_of_rows(rows: int, size: int) -> int | None:
    """Return the `fidelity` of a request on `rows` of `size` rows: the number of rows, or None for all of them."""
    return None if rows == size else rows


PROBE_CANDIDATES: Final = 8
"""How many configurations are trained on few rows to measure costs, before the first bracket is planned."""

OVERHEAD_FACTOR: Final = 2.0
"""A fit on the first rung of a bracket costs at least this many times the cost that does not depend on the rows."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """The plan of a bracket: the number of candidates on the first rung, and the rows of each rung.

    If it `continues`, its candidates are the best known ones that were not trained on all rows; only without any, they
    are new.
    """

    candidates: int
    sizes: tuple[int, ...]
    continues: bool = False

    def survivor_counts(self, eta: float) -> tuple[int, ...]:
        """Return the number of survivors of each rung.

        On rung i these are floor(n_i / eta) candidates, at least one, with n_i = floor(n eta^-i). The last entry is 0,
        since no candidate is promoted from the last rung.
        """
        # Rounding errors may make a quotient fall slightly below the exact whole number.
        counts = [floor(self.candidates * eta**-rung * (1 + 1e-12)) for rung in range(len(self.sizes) - 1)]
        return (*(max(1, floor(count / eta * (1 + 1e-12))) for count in counts), 0)


def hyperband_brackets(grid: tuple[int, ...], eta: float, rule: Literal["ceil", "floor"]) -> Iterator[Bracket]:
    """Yield the brackets s = s_max, ..., 0 of one Hyperband iteration; each starts one rung above the previous one.

    With `ceil` a bracket has ceil((s_max + 1) eta^s / (s + 1)) candidates, with `floor` floor(floor((s_max + 1) /
    (s + 1)) eta^s).
    """
    for s in range(len(grid) - 1, -1, -1):
        # Rounding errors may move a quotient slightly off the exact whole number.
        above, below = len(grid) * eta**s / (s + 1) * (1 - 1e-12), len(grid) // (s + 1) * eta**s * (1 + 1e-12)
        yield Bracket(ceil(above) if rule == "ceil" else floor(below), grid[len(grid) - 1 - s :])


BracketPass: TypeAlias = Callable[[tuple[int, ...]], Iterable[Bracket]]
"""A function from the rows of the rungs, ascending, to the brackets of one iteration of a search."""


class BracketPlan(Protocol):
    """A sequence of brackets, each determined when it starts."""

    def next_bracket(self, unfinished: Iterable[tuple[int, int]]) -> Bracket | None:
        """Return the next bracket, or None if there is none.

        `unfinished` has pairs of a number of trainings and their rows: those that running brackets still need.
        """

    def record(self, rows: int, cost: float) -> None:
        """Record the cost of a finished training, in seconds."""


class FixedBracketPlan:
    """Brackets that do not depend on costs: some first ones, then passes, endless or a number of them."""

    def __init__(
        self, make_pass: BracketPass, grid: tuple[int, ...], first: Iterable[Bracket], passes: int | None
    ) -> None:
        repeated = chain.from_iterable(make_pass(grid) for _ in islice(count(), passes))
        self._brackets = chain(first, repeated)

    def next_bracket(self, unfinished: Iterable[tuple[int, int]]) -> Bracket | None:  # noqa: ARG002 - of the protocol
        """Return the next bracket, or None after the last one."""
        return next(self._brackets, None)

    def record(self, rows: int, cost: float) -> None:
        """Ignore the cost."""


@dataclass(slots=True)
class TrainingCostModel:
    """The costs of finished trainings, in seconds, and the cost that they predict for any number of rows."""

    spent: float = 0.0  # The sum of all costs
    rows: set[int] = field(default_factory=set)  # The numbers of rows of all trainings
    _known: dict[int, tuple[float, int]] = field(default_factory=dict)
    """For each number of rows the sum and the number of positive costs."""

    def record(self, rows: int, cost: float) -> None:
        """Record the cost of a finished training. A cost of 0 says nothing: the result came from memory."""
        self.rows.add(rows)
        if cost > 0:
            total, number = self._known.get(rows, (0.0, 0))
            self._known[rows] = total + cost, number + 1
            self.spent += cost

    def predict(self, rows: int) -> float:
        """Return the expected cost of a training on a number of rows; 0 if no cost is known.

        It is the mean cost on this number of rows, or linear between the nearest known numbers, or that of the smallest
        known one below it. Above the largest known number, the cost without the overhead grows in proportion to the
        rows. More rows never cost less than fewer.
        """
        if not self._known:
            return 0.0
        sizes, means = self._curve()
        if rows <= sizes[-1]:
            return float(np.interp(rows, sizes, means))
        return self.row_independent_cost + (means[-1] - self.row_independent_cost) * rows / sizes[-1]

    @property
    def row_independent_cost(self) -> float:
        """The cost that does not depend on the rows: the line through the two smallest known numbers, at 0 rows.

        It is at least 0, and 0 if fewer than two numbers are known.
        """
        if len(self._known) < 2:
            return 0.0
        (first, second, *_), (low, high, *_) = self._curve()
        return max(0.0, low - (high - low) / (second - first) * first)

    def _curve(self) -> tuple[list[int], list[float]]:
        sizes = sorted(self._known)
        means = [total / number for total, number in map(self._known.__getitem__, sizes)]
        return sizes, np.maximum.accumulate(means).tolist()


class TimeBudgetBracketPlan:
    """Brackets reduced to what is left of a time budget, by the costs of the trainings that have finished."""

    def __init__(
        self, make_pass: BracketPass, grid: tuple[int, ...], first: Iterable[Bracket], eta: float, seconds: float
    ) -> None:
        self._make_pass, self._grid, self._eta, self._seconds = make_pass, grid, eta, seconds
        self._first = deque(first)
        """The brackets that start before any other, uncut."""
        self._pass: deque[Bracket] = deque()
        """The brackets of the present pass that have not started."""
        self._costs = TrainingCostModel()
        # The rows of these two rungs tell apart what a fit costs at least, and what each row adds.
        self._probe = Bracket(PROBE_CANDIDATES, (grid[0], grid[len(grid) // 2])) if len(set(grid)) > 1 else None
        self._has_answer = self._probe is None
        """True once the best configuration of the probe was promoted to all rows, or could not be."""

    def next_bracket(self, unfinished: Iterable[tuple[int, int]]) -> Bracket:
        """Return the next bracket, reduced to the time that is left.

        First come the initial brackets, then one that measures costs while they are unknown, then a single candidate on
        all rows if there is time for it, then the brackets of one pass after another. Never returns None.
        """
        if self._first:
            return self._first.popleft()
        if self._probe is not None and not self._costs.rows.issuperset(self._probe.sizes):
            return self._probe
        pending = sum(number * self._costs.predict(rows) for number, rows in unfinished)
        rest = self._seconds - self._costs.spent - pending
        if not self._has_answer:
            self._has_answer = True
            if self._costs.predict(self._grid[-1]) <= rest:
                return Bracket(1, self._grid[-1:], continues=True)
        if not self._pass:
            self._pass.extend(self._make_pass(self._rungs(rest)))
        bracket = self._pass.popleft()
        return bracket if rest <= 0 else self._reduce_to_time(bracket, rest)

    def record(self, rows: int, cost: float) -> None:
        """Record the cost of a finished training, in seconds."""
        self._costs.record(rows, cost)

    def _rungs(self, rest: float) -> tuple[int, ...]:
        """Return the rungs of the next pass.

        The last one has all rows, unless no training on all rows has finished and one is expected to cost more than
        `rest`, in seconds. From there downwards, the next rung is the largest on which a fit costs at most 1 / `eta` as
        much, and at least `OVERHEAD_FACTOR` times the overhead.
        """
        costs, size = self._costs, self._grid[-1]
        is_possible = rest <= 0 or size in costs.rows
        allowed = [rows for rows in self._grid if is_possible or costs.predict(rows) <= rest] or [self._grid[0]]
        found = [allowed.pop()]
        for rows in reversed(allowed):
            least, most = (
                OVERHEAD_FACTOR * costs.row_independent_cost,
                costs.predict(found[-1]) / self._eta * (1 + 1e-9),
            )
            if least <= costs.predict(rows) <= most:
                found.append(rows)
        return tuple(reversed(found))

    def _reduce_to_time(self, bracket: Bracket, rest: float) -> Bracket:
        """Return `bracket`, reduced until its expected cost is at most half of `rest`, in seconds.

        A bracket that costs more gets fewer candidates, and loses its first rung if these are too few to be divided by
        `eta` on every rung. If a single rung remains, it may cost all of `rest`, and continues with candidates that
        were trained on fewer rows.
        """
        most, sizes = bracket.candidates, bracket.sizes
        while len(sizes) > 1:
            number = self._affordable(most, sizes, rest / 2)
            if number >= min(most, ceil(self._eta ** (len(sizes) - 1) * (1 - 1e-12))):
                return Bracket(number, sizes)
            most, sizes = max(1, floor(most / self._eta)), sizes[1:]
        return Bracket(max(1, self._affordable(most, sizes, rest)), sizes, continues=len(bracket.sizes) > 1)

    def _affordable(self, most: int, sizes: tuple[int, ...], seconds: float) -> int:
        """Return the largest number of candidates, up to `most`, for which the rungs `sizes` cost at most `seconds`."""

        def cost(candidates: int) -> float:
            counts = (candidates, *Bracket(candidates, sizes).survivor_counts(self._eta))
            return sum(number * self._costs.predict(rows) for number, rows in zip(counts, sizes, strict=False))

        return bisect_right(range(1, most + 1), seconds, key=cost)
