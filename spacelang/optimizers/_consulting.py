"""Search with an external optimization library that keeps a full log of trials.

Compared with `_proposing`, the library can tell running trials from failed ones. A configuration may be started again.
The library stores its own data with a trial in the memo of the request.
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
"""After this many repeated proposals in a row a new configuration is drawn."""


@dataclass(slots=True)
class TrialLog:
    """The log of a search: its requests in starting order and its trials in finishing order.

    Each finished trial is stored with the index of its request in `begun`, counted from 0.
    """

    begun: list[Request] = field(default_factory=list)
    ended: list[tuple[int, Trial]] = field(default_factory=list)

    def trials(self, begun: int, ended: int) -> Iterator[tuple[Request, Trial | None]]:
        """Pair the first `begun` requests with their trials; None unless among the first `ended` finished ones."""
        known = dict(self.ended[:ended])
        return ((request, known.get(place)) for place, request in enumerate(self.begun[:begun]))


class Consultant(Protocol):
    """A library that proposes configurations; any state that it keeps between two proposals only saves time."""

    def design(self) -> Sequence[Configuration]:
        """Return the configurations that are started before the first proposal, after the given initial ones."""

    def propose(self, history: TrialLog, rng: "Generator") -> Request | None:
        """Return the next request, or None if there is nothing left to propose.

        The result depends only on the history and the random generator. A configuration that was started before may be
        proposed again; its trial is answered from memory.
        """


def consulted(consultant: Consultant, problem: Problem, structures: Structures, history: TrialLog) -> Search:
    """Run a search: initial configurations, the library's initial design, then one proposal for every idle worker.

    A repeated proposal is requested again, as users of the library would do. After ten repeated proposals in a row a
    new configuration is drawn at random. The search ends if none is left. Requests and trials are appended to
    `history`, which must be empty at first.
    """
    if structures.count:
        yield from _Run(consultant, problem, structures, history).run()


class _Run:
    """The state of one search: started requests, seen configurations and running trials."""

    def __init__(self, consultant: Consultant, problem: Problem, structures: Structures, history: TrialLog) -> None:
        self._consultant = consultant
        self._first = dict.fromkeys((*problem.initial, *consultant.design()))
        self._drawn = Configurations(DiscrepancyTree(structures), problem.rng).each_once()
        self._history = history
        self._seen: set[Configuration] = set()
        self._places: dict[Request | Later, int] = {}
        """The indices in the history of the running requests."""
        self._known = 0
        """How many proposals in a row were repeated."""

    def run(self) -> Search:
        """Start one trial for each idle worker until no request is left and no trial is running."""
        yield from as_there_is_room(self._wishes(), self._note)

    def _wishes(self) -> Iterator[Request | Later]:
        """Yield all requests in the order in which they start."""
        yield from map(self._plain, self._first)
        while True:
            if self._known < KNOWN:
                yield self._later()
            elif (new := next((each for each in self._drawn if each not in self._seen), None)) is not None:
                yield self._plain(new)
            else:
                return

    def _plain(self, configuration: Configuration) -> Request:
        """Create the request of a configuration and record its start."""
        request = Request(configuration)
        self._begin(request, request)
        return request

    def _later(self) -> Later:
        """Create a lazy request for the library's next proposal."""

        def make(rng: "Generator") -> Request:
            request = self._consultant.propose(self._history, rng)
            return self._history.begun[0] if request is None else request

        def begun(request: Request) -> None:
            self._begin(later, request)

        later = Later(make, begun)
        return later

    def _note(self, asked: Request | Later, trial: Trial) -> None:
        """Append a finished trial to the history."""
        self._history.ended.append((self._places.pop(asked), trial))

    def _begin(self, asked: Request | Later, request: Request) -> None:
        """Record the start of a request and update the count of repeated proposals."""
        self._known = self._known + 1 if request.configuration in self._seen else 0
        self._seen.add(request.configuration)
        self._places[asked] = len(self._history.begun)
        self._history.begun.append(request)
