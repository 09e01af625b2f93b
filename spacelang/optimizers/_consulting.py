"""Consulting: a search by a library that has a record of trials as its own users have it.

It differs from `_proposing` in what a library is told: what is under way is not what has failed, a configuration may be
begun again, and what the library leaves with a trial is the memo of its request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from spacelang.ir.asking import Later, Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._room import as_there_is_room
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree

if TYPE_CHECKING:
    from numpy.random import Generator

KNOWN: Final = 10
"""After so many proposals in a row that are known a configuration is drawn that is not."""


@dataclass(slots=True)
class TrialLog:
    """What was begun, in that order, and what has ended: its place among those, from 0, and what came of it."""

    begun: list[Request] = field(default_factory=list)
    ended: list[tuple[int, Trial]] = field(default_factory=list)

    def trials(self, begun: int, ended: int) -> Iterator[tuple[Request, Trial | None]]:
        """The first so many that were begun, each with what came of it, if it is of the first so many that ended."""
        known = dict(self.ended[:ended])
        return ((request, known.get(place)) for place, request in enumerate(self.begun[:begun]))


class Consultant(Protocol):
    """Whoever is asked for proposals; what it keeps between two of them only saves time."""

    def design(self) -> Sequence[Configuration]:
        """What is begun before anything is proposed, beside what is given."""

    def propose(self, history: TrialLog, rng: "Generator") -> Request | None:
        """What comes next after a history, by that and a generator alone; None where nothing is left to propose.

        What was begun may be proposed again: it is answered for nothing.
        """


def consulted(consultant: Consultant, problem: Problem, structures: Structures, history: TrialLog) -> Search:
    """What is given, what is designed, and then what is proposed, one for every idle worker.

    What is known, or under way, is asked for again as others do who use a library; after ten such proposals in a row
    one that is new is drawn, and where there is none left the search ends. What happens is noted in the `history`,
    which is empty before.
    """
    if structures.count:
        yield from _Run(consultant, problem, structures, history).run()


class _Run:
    """One search: what was begun, by whom it is known, and what is under way."""

    def __init__(self, consultant: Consultant, problem: Problem, structures: Structures, history: TrialLog) -> None:
        self._consultant = consultant
        self._first = dict.fromkeys((*problem.initial, *consultant.design()))
        self._drawn = Configurations(DiscrepancyTree(structures), problem.rng).each_once()
        self._history = history
        self._seen: set[Configuration] = set()
        self._places: dict[Request | Later, int] = {}
        """Of what is under way."""
        self._known = 0
        """How many of the latest proposals were known."""

    def run(self) -> Search:
        """Begin as many as there is room for; end when nothing is left, and none is under way."""
        yield from as_there_is_room(self._wishes(), self._note)

    def _wishes(self) -> Iterator[Request | Later]:
        """All that is begun, in its order."""
        yield from map(self._plain, self._first)
        while True:
            if self._known < KNOWN:
                yield self._later()
            elif (new := next((each for each in self._drawn if each not in self._seen), None)) is not None:
                yield self._plain(new)
            else:
                return

    def _plain(self, configuration: Configuration) -> Request:
        request = Request(configuration)
        self._begin(request, request)
        return request

    def _later(self) -> Later:
        def make(rng: "Generator") -> Request:
            request = self._consultant.propose(self._history, rng)
            return self._history.begun[0] if request is None else request

        def begun(request: Request) -> None:
            self._begin(later, request)

        later = Later(make, begun)
        return later

    def _note(self, asked: Request | Later, trial: Trial) -> None:
        self._history.ended.append((self._places.pop(asked), trial))

    def _begin(self, asked: Request | Later, request: Request) -> None:
        self._known = self._known + 1 if request.configuration in self._seen else 0
        self._seen.add(request.configuration)
        self._places[asked] = len(self._history.begun)
        self._history.begun.append(request)
