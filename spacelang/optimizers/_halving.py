"""Successive halving: many candidates on few rows, then the best of them on more rows.

See spacelang/optimizers/README.md, section "Successive halving".
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain
from math import ceil, floor
from typing import Generic, Literal, TypeAlias

from spacelang.ir.asking import Asking
from spacelang.ir.trial import Order, Trial
from spacelang.optimizers._candidates import Candidates
from spacelang.optimizers._leaves import TRIES
from spacelang.optimizers._turn import K, Turn, fill


@dataclass(frozen=True, slots=True)
class Bracket:
    """The plan of a bracket: the number of candidates on the first rung, and the rows of each rung."""

    candidates: int
    sizes: tuple[int, ...]

    def kept(self, eta: float) -> tuple[int, ...]:
        """Return the number of survivors of each rung.

        On rung i these are floor(n_i / eta) candidates, at least one, with n_i = floor(n eta^-i). The last entry is 0,
        since no candidate is promoted from the last rung.
        """
        # Rounding errors may make a quotient fall slightly below the exact whole number.
        counts = [floor(self.candidates * eta**-rung * (1 + 1e-12)) for rung in range(len(self.sizes) - 1)]
        return (*(max(1, floor(count / eta * (1 + 1e-12))) for count in counts), 0)


def brackets_on(grid: tuple[int, ...], eta: float, rule: Literal["ceil", "floor"]) -> Iterator[Bracket]:
    """Yield the brackets of one Hyperband iteration over a grid of rungs.

    The first bracket starts on the first rung, the last bracket on the last rung.
    """
    largest = len(grid) - 1
    for s in range(largest, -1, -1):
        yield Bracket(candidates_of(s, largest, eta, rule), grid[largest - s :])


def candidates_of(s: int, largest: int, eta: float, rule: Literal["ceil", "floor"]) -> int:
    """Return the initial number of candidates of bracket s.

    With `ceil` it is ceil((s_max + 1) eta^s / (s + 1)), with `floor` floor(floor((s_max + 1) / (s + 1)) eta^s).
    `largest` is s_max.
    """
    # Rounding errors may move a quotient slightly off the exact whole number.
    if rule == "ceil":
        return ceil((largest + 1) * eta**s / (s + 1) * (1 - 1e-12))
    return floor((largest + 1) // (s + 1) * eta**s * (1 + 1e-12))


class Race(Generic[K]):
    """A running bracket: its candidates in drawing order and their results rung by rung."""

    def __init__(self, candidates: Sequence[K], bracket: Bracket, eta: float) -> None:
        self.candidates = candidates
        self.sizes = bracket.sizes
        self._kept = bracket.kept(eta)
        self._known: list[list[tuple[Order, int]]] = [[] for _ in bracket.sizes]
        """For each rung the sorted results: sort key and position among the candidates."""

    def note(self, rung: int, place: int, order: Order) -> int | None:
        """Record the result of a candidate on a rung, and return the candidate that is promoted now.

        `place` and the result are positions in `candidates`; None if no candidate is promoted. The best candidates of a
        rung are promoted; of equal ones the first drawn. A candidate is promoted as soon as too few results are missing
        to displace it.
        """
        known = self._known[rung]
        found = bisect(known, (order, place))
        known.insert(found, (order, place))
        certain = self._kept[rung] - (self._entering(rung) - len(known))
        # Better ones were promoted already: it is the new one if it is among the certain ones, else the last of these.
        return known[min(found, certain - 1)][1] if certain > 0 else None

    @property
    def is_over(self) -> bool:
        """True if all results of the last rung are known."""
        return len(self._known[-1]) == self._entering(len(self.sizes) - 1)

    def _entering(self, rung: int) -> int:
        """Return how many candidates are trained on a rung."""
        everybody = len(self.candidates)
        return everybody if rung == 0 else min(self._kept[rung - 1], everybody)


class Races(Generic[K]):
    """Brackets that run concurrently, earlier ones first; a training is requested once and shared by all of them."""

    def __init__(self, turn: Turn[K], candidates: Candidates[K], brackets: Iterator[Bracket], eta: float) -> None:
        self._turn = turn
        self._candidates = candidates
        self._brackets = brackets
        self._eta = eta
        self._size = turn.selection.size
        self._known: dict[tuple[K, int], Order] = {}
        self._finished = 0
        self._repeated = 0
        """How many trainings on all rows in a row were already known."""
        self._races: dict[int, Race[K]] = {}
        self._begun = 0
        self._waiting: list[_Want] = []
        """The trainings that brackets need: a heap, ordered by bracket, rung and draw."""
        self._flying: dict[tuple[K, int], list[_Want]] = {}
        """The running trainings, each with the entries that wait for it."""
        self._left: Iterator[K] | None = None
        """The remaining candidates, to be trained on all rows, once draws find nothing new."""

    def run(self) -> Asking[None]:
        """Run all brackets to the end; if their sequence is endless, train every candidate on all rows in the end.

        Idle workers start the next bracket.
        """
        yield from fill(self._turn, self)

    def draw(self, count: int) -> Iterator[tuple[K, int]]:
        """Yield up to `count` trainings that should start next, each a candidate and a number of rows."""
        for _ in range(count):
            training = self._next()
            if training is None:
                return
            yield training

    def note(self, candidate: K, rows: int, trial: Trial) -> None:
        """Record the trial of a training for every bracket that waits for it."""
        order = self._learn(candidate, rows, trial)
        for want in self._flying.pop((candidate, rows)):
            self._enter(want, order)

    def _next(self) -> tuple[K, int] | None:
        """Return the next training that was not started; None if there is none before a running one has finished."""
        barren = 0
        while True:
            while self._waiting:
                number, rung, place = want = heappop(self._waiting)
                race = self._races[number]
                training = race.candidates[place], race.sizes[rung]
                if training in self._flying:
                    self._flying[training].append(want)
                elif (order := self._order_of(*training)) is None:
                    self._flying[training] = [want]
                    return training
                else:
                    self._enter(want, order)
            if self._candidates.are_all(self._finished) or (self._flying and barren):
                return None
            if not (self._begin_bracket() if self._left is None else self._begin_rest()):
                return None
            barren += 1

    def _begin_bracket(self) -> bool:
        """Start the next bracket, and return False if nothing can be started at present.

        If the sequence of brackets is endless and draws find nothing new any more, switch to the remaining candidates
        once no training is running.
        """
        is_endless = self._turn.iterations is None
        if not is_endless or (self._repeated < TRIES and not self._candidates.are_exhausted):
            bracket = next(self._brackets, None)
            if bracket is not None and (drawn := self._candidates.draw(bracket.candidates)):
                self._add(Race(drawn, bracket, self._eta))
            return bracket is not None
        if self._flying:
            return False
        self._left = self._rest()
        return True

    def _begin_rest(self) -> bool:
        """Start one of the remaining candidates in a bracket of its own; return False if there is none."""
        assert self._left is not None
        candidate = next(self._left, None)
        if candidate is not None:
            self._add(Race([candidate], Bracket(1, (self._size,)), self._eta))
        return candidate is not None

    def _add(self, race: Race[K]) -> None:
        """Add a bracket and queue the first rung of all its candidates."""
        number, self._begun = self._begun, self._begun + 1
        self._races[number] = race
        for place in range(len(race.candidates)):
            heappush(self._waiting, (number, 0, place))

    def _order_of(self, candidate: K, rows: int) -> Order | None:
        """Return the sort key of a known training, from this or an earlier selector call; None if it is unknown."""
        if order := self._known.get((candidate, rows)):
            self._repeated += rows == self._size
            return order
        recalled = self._turn.recall(candidate, rows)
        return self._learn(candidate, rows, recalled[0]) if recalled else None

    def _learn(self, candidate: K, rows: int, trial: Trial) -> Order:
        """Store the sort key of a finished training."""
        order = self._known[candidate, rows] = self._turn.selection.order(trial)
        if rows == self._size:
            self._finished += 1
            self._repeated = 0
        return order

    def _enter(self, want: "_Want", order: Order) -> None:
        """Apply a result to a bracket, and queue the candidate that it promotes."""
        number, rung, place = want
        race = self._races[number]
        other = race.note(rung, place, order)
        if other is not None:
            heappush(self._waiting, (number, rung + 1, other))
        if race.is_over:
            del self._races[number]

    def _rest(self) -> Iterator[K]:
        """Yield the candidates that were not trained on all rows.

        Those that reached the highest rung come first, and better ones first among equals.
        """
        reached: dict[K, tuple[int, Order]] = {}
        for (candidate, rows), order in self._known.items():
            reached[candidate] = min(reached.get(candidate, (0, order)), (-rows, order))
        everything = chain(sorted(reached, key=reached.__getitem__), self._candidates.in_order())
        return (each for each in everything if (each, self._size) not in self._known)


_Want: TypeAlias = tuple[int, int, int]
"""The number of a bracket, one of its rungs, and the position of a candidate."""
