"""Successive halving: many candidates on few rows, ever fewer on ever more (ALGORITHMS.md 3.7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import floor
from typing import Generic

from spacelang.ir.trial import Order, Request, Search, order_of
from spacelang.optimizers._arms import Asking
from spacelang.optimizers._candidates import Candidates, K
from spacelang.optimizers._fidelity import fidelity
from spacelang.optimizers._leaves import ROUND, TRIES


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


class Losses(Generic[K]):
    """The losses of candidates by their rows, shared by all brackets: what is known is not asked for again."""

    def __init__(self, candidates: Candidates[K], size: int) -> None:
        self._candidates = candidates
        self._size = size
        self._known: dict[tuple[K, int], Order] = {}
        self._finished = 0
        self._repeated = 0
        """So many candidates in a row were to be trained on all rows and had been before."""

    @property
    def are_complete(self) -> bool:
        """Whether every candidate was trained on all rows."""
        return self._candidates.are_all(self._finished)

    @property
    def are_nearly_complete(self) -> bool:
        """Whether so few candidates are left to be trained on all rows that draws do not find them."""
        return self._candidates.are_exhausted or self._repeated >= TRIES

    def is_finished(self, candidate: K) -> bool:
        """Whether the candidate was trained on all rows."""
        return (candidate, self._size) in self._known

    def of(self, candidates: Sequence[K], rows: int) -> Asking[list[Order]]:
        """The losses of different candidates on some rows: those that are not known are asked for in one round."""
        asked = [candidate for candidate in candidates if (candidate, rows) not in self._known]
        if asked:
            fewer = fidelity(rows, self._size)
            answers = yield [Request(self._candidates.configuration(candidate), fewer) for candidate in asked]
            self._known.update(((each, rows), order_of(trial)) for each, trial in zip(asked, answers, strict=True))
        if rows == self._size:
            self._finished += len(asked)
            self._repeated = 0 if asked else self._repeated + len(candidates)
        return [self._known[candidate, rows] for candidate in candidates]

    def halve(self, bracket: Bracket, eta: float) -> Asking[None]:
        """One bracket: each rung is a round, and the best of it go on to the next; the first drawn of equals."""
        survivors = self._candidates.draw(bracket.candidates)
        for rows, kept in zip(bracket.sizes, bracket.kept(eta), strict=True):
            found = yield from self.of(survivors, rows)
            best = sorted(range(len(survivors)), key=found.__getitem__)[:kept]
            survivors = [survivors[place] for place in best]

    def rest(self) -> Search:
        """Every candidate that was not trained on all rows: those that came furthest first, the better of equals."""
        reached: dict[K, tuple[int, Order]] = {}
        for (candidate, rows), order in self._known.items():
            reached[candidate] = min(reached.get(candidate, (0, order)), (-rows, order))
        everything = chain(sorted(reached, key=reached.__getitem__), self._candidates.in_order())
        left = (candidate for candidate in everything if not self.is_finished(candidate))
        while round_ := list(dict.fromkeys(islice(left, ROUND))):
            yield from self.of(round_, self._size)
