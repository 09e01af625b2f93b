"""What selectors are made of: a memory for all their turns, and what they know, may take and find in one of them."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Generic, Protocol, TypeAlias, TypeVar

from spacelang.ir.asking import Ask, Asking, Later
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._fidelity import fidelity
from spacelang.optimizers._selection import Selection
from spacelang.targets.blds import Pipeline

K = TypeVar("K", bound=Hashable)


class Memory(Generic[K]):
    """What came of each candidate, by what was asked for: another configuration of it is another request."""

    def __init__(self) -> None:
        self._trials: dict[K, dict[Request, Trial]] = {}

    def __iter__(self) -> Iterator[K]:
        """The candidates of which anything is known, in the order in which it came to be."""
        return iter(self._trials)

    def of(self, candidate: K) -> Mapping[Request, Trial]:
        """All that came of a candidate."""
        return self._trials.get(candidate, {})

    def note(self, candidate: K, trial: Trial) -> None:
        """Keep what came of a candidate, without its predictions: nobody compares by them, and they are large."""
        kept = trial if trial.predictions is None else replace(trial, predictions=None)
        self._trials.setdefault(candidate, {})[trial.request] = kept

    def forget(self, candidate: K) -> None:
        """Know nothing of a candidate."""
        self._trials.pop(candidate, None)


@dataclass(slots=True)
class Turn(Generic[K]):
    """One call of a selector: what it may take, what is known, and the best that was seen in it.

    A candidate is a pipeline, or a configuration where these are what is drawn.
    """

    selection: Selection
    configuration: Callable[[K], Configuration]
    memory: Memory[K]
    iterations: int | None = None
    start: K | None = None
    seconds: float | None = None
    spent: float = 0.0
    """The seconds that what was told in this turn has cost."""
    _best: tuple[tuple[bool, bool, float], K] | None = None
    _burden: float = 0.0
    """The largest penalty of a success that was seen."""

    def goes_on(self, iterations: int = 0) -> bool:
        """Whether another iteration may begin after so many, or another trial."""
        is_in_time = self.seconds is None or self.spent < self.seconds
        return is_in_time and (self.iterations is None or iterations < self.iterations)

    def request(self, candidate: K, rows: int) -> Request:
        """The request for a candidate on so many rows."""
        return Request(self.configuration(candidate), fidelity(rows, self.selection.size))

    def wish(self, candidate: K, rows: int) -> Request | Later:
        """What is begun for a candidate: its request, unless that has still to be made."""
        return self.request(candidate, rows)

    def known(self, candidate: K, *sizes: int) -> Iterator[Trial]:
        """What came of a candidate on each of the sizes as it is configured now, up to the first that is not known."""
        if trials := self.memory.of(candidate):
            configuration = self.configuration(candidate)
            for rows in sizes:
                trial = trials.get(Request(configuration, fidelity(rows, self.selection.size)))
                if trial is None:
                    return
                yield trial

    def recall(self, candidate: K, *sizes: int) -> tuple[Trial, ...]:
        """The same for a candidate whose turn it is: it may be the best."""
        trials = tuple(self.known(candidate, *sizes))
        for trial in trials:
            self._see(candidate, trial)
        return trials

    def note(self, candidate: K, trial: Trial) -> None:
        """What came of a candidate that was asked for."""
        self.memory.note(candidate, trial)
        self.spent += trial.cost
        self._see(candidate, trial)

    @property
    def best(self) -> K:
        """The candidate with the smallest number on all rows, the first of equals; on any where none was on all.

        Failures are behind every success.
        """
        assert self._best is not None, "a turn sees something"
        return self._best[1]

    def standing(self, trial: Trial) -> float:
        """The standing and the penalty of what was seen; for a failure, which bears none, 1 and the largest penalty.

        So no success that was seen before a failure stands behind it.
        """
        return 1.0 + self._burden if trial.loss is None else self.selection.standing(trial)

    def _see(self, candidate: K, trial: Trial) -> None:
        if trial.loss is not None:
            self._burden = max(self._burden, self.selection.penalty(trial))
        order = trial.loss is None, trial.request.fidelity is not None, self.selection.number(trial)
        if self._best is None or order < self._best[0]:
            self._best = order, candidate


Loop: TypeAlias = Callable[[Turn[Pipeline]], Asking[None]]
"""What a selector does in its turn; it ends where the turn does not go on."""


class Remembering:
    """A selector that does the same in every turn and remembers all trials of those before."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._memory: Memory[Pipeline] = Memory()

    def select(
        self,
        selection: Selection,
        iterations: int | None = None,
        start: Pipeline | None = None,
        seconds: float | None = None,
    ) -> Asking[Pipeline]:
        """See `Selector`."""
        _check(selection, iterations, start, seconds)
        turn = Turn(selection, selection.configuration, self._memory, iterations, start, seconds)
        if start is not None:
            turn.recall(start, selection.size)
        yield from self._loop(turn)
        return turn.best

    def forget(self, pipeline: Pipeline) -> None:
        """See `Selector`."""
        self._memory.forget(pipeline)


def _check(selection: Selection, iterations: int | None, start: Pipeline | None, seconds: float | None) -> None:
    """Raise ValueError for a turn in which nothing can be done."""
    if not selection.tree.leaves:
        raise ValueError("the space is empty")
    if iterations is not None and iterations < 1:
        raise ValueError(f"`iterations` is {iterations}: a selector takes at least 1")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"`seconds` is {seconds}: a selector takes more than 0")
    if start is not None and not selection.tree.is_leaf(start):
        raise ValueError(f"`start` is {start}: it must be a leaf of the discrepancy tree")


class CandidateSource(Protocol[K]):
    """Who knows what is to be trained next."""

    def draw(self, count: int) -> Iterable[tuple[K, int]]:
        """So many candidates that are to be trained now, and on how many rows; fewer where there are no more."""

    def note(self, candidate: K, rows: int, trial: Trial) -> None:
        """What came of a candidate that was drawn."""


class OneByOne(Generic[K]):
    """One candidate after the other, whatever came of those before; what is known is not trained again."""

    def __init__(self, turn: Turn[K], candidates: Iterable[K]) -> None:
        size = turn.selection.size
        self._new = ((each, size) for each in candidates if not turn.recall(each, size))

    def draw(self, count: int) -> Iterable[tuple[K, int]]:
        """The next ones, on all rows."""
        return islice(self._new, count)

    def note(self, candidate: K, rows: int, trial: Trial) -> None:
        """Nothing depends on it."""


def fill(turn: Turn[K], source: CandidateSource[K]) -> Asking[None]:
    """Begin as many trials as there is room, again and again; end when none is left and none is out."""
    out: dict[Request | Later, tuple[K, int]] = {}
    room = turn.selection.room
    while True:
        # Who waits for nothing must ask for something, also where other searches have taken all the room.
        count = max(room, not out) if turn.goes_on() else 0
        begin = {turn.wish(*each): each for each in source.draw(count)}
        out |= begin
        if not out:
            return
        told = yield Ask(tuple(begin))
        room = told.room
        if told.ended is not None and told.asked is not None:
            candidate, rows = out.pop(told.asked)
            turn.note(candidate, told.ended)
            source.note(candidate, rows, told.ended)
