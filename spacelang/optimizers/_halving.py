"""Successive halving: many candidates on few rows, ever fewer on ever more.

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
    """So many candidates at the beginning, and the rows of each rung."""

    candidates: int
    sizes: tuple[int, ...]

    def kept(self, eta: float) -> tuple[int, ...]:
        """How many candidates of each rung go on: floor(n_i / eta) with n_i = floor(n eta^-i), and at least one.

        None go on from the last rung.
        """
        # A quotient that is a whole number on paper may fall short of it by a few units in the last place.
        counts = [floor(self.candidates * eta**-rung * (1 + 1e-12)) for rung in range(len(self.sizes) - 1)]
        return (*(max(1, floor(count / eta * (1 + 1e-12))) for count in counts), 0)


def brackets_on(grid: tuple[int, ...], eta: float, rule: Literal["ceil", "floor"]) -> Iterator[Bracket]:
    """The brackets of one iteration on such rungs: the first one begins on the first, the last one on the last."""
    largest = len(grid) - 1
    for s in range(largest, -1, -1):
        yield Bracket(candidates_of(s, largest, eta, rule), grid[largest - s :])


def candidates_of(s: int, largest: int, eta: float, rule: Literal["ceil", "floor"]) -> int:
    """With how many candidates bracket s begins: ceil((s_max + 1) eta^s / (s + 1)), or the other rule."""
    # A quotient that is a whole number on paper may miss it by a few units in the last place.
    if rule == "ceil":
        return ceil((largest + 1) * eta**s / (s + 1) * (1 - 1e-12))
    return floor((largest + 1) // (s + 1) * eta**s * (1 + 1e-12))


class Race(Generic[K]):
    """One bracket on its way: its candidates in the order in which they were drawn, rung by rung."""

    def __init__(self, candidates: Sequence[K], bracket: Bracket, eta: float) -> None:
        self.candidates = candidates
        self.sizes = bracket.sizes
        self._kept = bracket.kept(eta)
        self._known: list[list[tuple[Order, int]]] = [[] for _ in bracket.sizes]
        """Of each rung, in order, what is known of it and of whom, by their places among the candidates."""

    def note(self, rung: int, place: int, order: Order) -> int | None:
        """What came of a candidate on a rung; the place of the one that now goes on to the next for certain, if any.

        The best of a rung go on, the first drawn of equals: so one goes on as soon as too few are left to pass it.
        """
        known = self._known[rung]
        found = bisect(known, (order, place))
        known.insert(found, (order, place))
        certain = self._kept[rung] - (self._entering(rung) - len(known))
        # All before these went on when fewer were known: it is the new one if it is among them, else the last of them.
        return known[min(found, certain - 1)][1] if certain > 0 else None

    @property
    def is_over(self) -> bool:
        """Whether all is known of the last rung."""
        return len(self._known[-1]) == self._entering(len(self.sizes) - 1)

    def _entering(self, rung: int) -> int:
        """How many candidates are trained on a rung."""
        everybody = len(self.candidates)
        return everybody if rung == 0 else min(self._kept[rung - 1], everybody)


class Races(Generic[K]):
    """Brackets that go on side by side, earlier ones first; what one has trained no other one asks for again."""

    def __init__(self, turn: Turn[K], candidates: Candidates[K], brackets: Iterator[Bracket], eta: float) -> None:
        self._turn = turn
        self._candidates = candidates
        self._brackets = brackets
        self._eta = eta
        self._size = turn.selection.size
        self._known: dict[tuple[K, int], Order] = {}
        self._finished = 0
        self._repeated = 0
        """So many candidates in a row were to be trained on all rows and had been before."""
        self._races: dict[int, Race[K]] = {}
        self._begun = 0
        self._waiting: list[_Want] = []
        """What the races want: a heap, in the order of races, rungs and draws."""
        self._flying: dict[tuple[K, int], list[_Want]] = {}
        """What is being trained, and who wants it."""
        self._left: Iterator[K] | None = None
        """What is left to be trained on all rows, once draws do not find it any more."""

    def run(self) -> Asking[None]:
        """Every bracket to its end, and every candidate on all rows at last where there is no end of brackets.

        Idle workers begin the next bracket.
        """
        yield from fill(self._turn, self)

    def draw(self, count: int) -> Iterator[tuple[K, int]]:
        """So many trainings that are wanted next, or as many as there are."""
        for _ in range(count):
            training = self._next()
            if training is None:
                return
            yield training

    def note(self, candidate: K, rows: int, trial: Trial) -> None:
        """What came of a training: known to all who wanted it."""
        order = self._learn(candidate, rows, trial)
        for want in self._flying.pop((candidate, rows)):
            self._enter(want, order)

    def _next(self) -> tuple[K, int] | None:
        """The next training that nobody has begun; None where there is none before another one has ended."""
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
        """Draw another bracket, if there is one; where there is no end of them, and draws find nothing new any more, go
        on with what is left, once nothing flies.
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
        """One of those that are left, in a bracket of its own; whether there is any."""
        assert self._left is not None
        candidate = next(self._left, None)
        if candidate is not None:
            self._add(Race([candidate], Bracket(1, (self._size,)), self._eta))
        return candidate is not None

    def _add(self, race: Race[K]) -> None:
        number, self._begun = self._begun, self._begun + 1
        self._races[number] = race
        for place in range(len(race.candidates)):
            heappush(self._waiting, (number, 0, place))

    def _order_of(self, candidate: K, rows: int) -> Order | None:
        """What is known of a training, from this turn or those before."""
        if order := self._known.get((candidate, rows)):
            self._repeated += rows == self._size
            return order
        recalled = self._turn.recall(candidate, rows)
        return self._learn(candidate, rows, recalled[0]) if recalled else None

    def _learn(self, candidate: K, rows: int, trial: Trial) -> Order:
        order = self._known[candidate, rows] = self._turn.selection.order(trial)
        if rows == self._size:
            self._finished += 1
            self._repeated = 0
        return order

    def _enter(self, want: "_Want", order: Order) -> None:
        number, rung, place = want
        race = self._races[number]
        other = race.note(rung, place, order)
        if other is not None:
            heappush(self._waiting, (number, rung + 1, other))
        if race.is_over:
            del self._races[number]

    def _rest(self) -> Iterator[K]:
        """Every candidate that was not trained on all rows: those that came furthest first, the better of equals."""
        reached: dict[K, tuple[int, Order]] = {}
        for (candidate, rows), order in self._known.items():
            reached[candidate] = min(reached.get(candidate, (0, order)), (-rows, order))
        everything = chain(sorted(reached, key=reached.__getitem__), self._candidates.in_order())
        return (each for each in everything if (each, self._size) not in self._known)


_Want: TypeAlias = tuple[int, int, int]
"""The number of a race, a rung of it and the place of a candidate."""
