"""Search with an external optimization library that keeps a full log of trials.

Compared with `_proposer_search`, the library can tell running trials from failed ones. A configuration may be started
again. The library stores its own data with a trial in the memo of the request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.search_protocol import LazyRequest, Search
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._idle_workers import run_requests
from spacelang.optimizers._unique_configurations import UniqueConfigurations
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree

if TYPE_CHECKING:
    from numpy.random import Generator

MAX_REPEATED_PROPOSALS: Final = 10
"""After this many repeated proposals in a row a new configuration is drawn."""


@dataclass(slots=True)
class TrialLog:
    """The log of a search: its requests in starting order and its trials in finishing order.

    Each finished trial is stored with the index of its request in `started`, counted from 0.
    """

    started: list[Request] = field(default_factory=list)
    finished: list[tuple[int, Trial]] = field(default_factory=list)

    def trials(self, begun: int, ended: int) -> Iterator[tuple[Request, Trial | None]]:
        """Pair the first `begun` requests with their trials; None unless among the first `ended` finished ones."""
        known = dict(self.finished[:ended])
        return ((request, known.get(place)) for place, request in enumerate(self.started[:begun]))


class LibraryProposer(Protocol):
    """A library that proposes configurations; any state that it keeps between two proposals only saves time."""

    def initial_design(self) -> Sequence[Configuration]:
        """Return the configurations that are started before the first proposal, after the given initial ones."""

    def propose(self, history: TrialLog, rng: "Generator") -> Request | None:
        """Return the next request, or None if there is nothing left to propose.

        The result depends only on the history and the random generator. A configuration that was started before may be
        proposed again; its trial is answered from memory.
        """


def search_with_library(
    consultant: LibraryProposer, problem: Problem, structures: Structures, history: TrialLog
) -> Search:
    """Run a search: initial configurations, the library's initial design, then one proposal for every idle worker.

    A repeated proposal is requested again, as users of the library would do. After ten repeated proposals in a row a
    new configuration is drawn at random. The search ends if none is left. Requests and trials are appended to
    `history`, which must be empty at first.
    """
    if structures.count:
        yield from _Run(consultant, problem, structures, history).run()


class _Run:
    """The state of one search: started requests, seen configurations and running trials."""

    def __init__(
        self, consultant: LibraryProposer, problem: Problem, structures: Structures, history: TrialLog
    ) -> None:
        self._consultant = consultant
        self._first = dict.fromkeys((*problem.initial, *consultant.initial_design()))
        self._drawn = UniqueConfigurations(DiscrepancyTree(structures), problem.rng).each_once()
        self._history = history
        self._seen: set[Configuration] = set()
        self._running_indices: dict[Request | LazyRequest, int] = {}
        """The indices in the history of the running requests."""
        self._repeated_count = 0
        """How many proposals in a row were repeated."""

    def run(self) -> Search:
        """Start one trial for each idle worker until no request is left and no trial is running."""
        yield from run_requests(self._requests(), self._record)

    def _requests(self) -> Iterator[Request | LazyRequest]:
        """Yield all requests in the order in which they start."""
        yield from map(self._start_request, self._first)
        while True:
            if self._repeated_count < MAX_REPEATED_PROPOSALS:
                yield self._lazy_request()
            elif (new := next((each for each in self._drawn if each not in self._seen), None)) is not None:
                yield self._start_request(new)
            else:
                return

    def _start_request(self, configuration: Configuration) -> Request:
        """Create the request of a configuration and record its start."""
        request = Request(configuration)
        self._record_start(request, request)
        return request

    def _lazy_request(self) -> LazyRequest:
        """Create a lazy request for the library's next proposal."""

        def make(rng: "Generator") -> Request:
            request = self._consultant.propose(self._history, rng)
            return self._history.started[0] if request is None else request

        def begun(request: Request) -> None:
            self._record_start(later, request)

        later = LazyRequest(make, begun)
        return later

    def _record(self, asked: Request | LazyRequest, trial: Trial) -> None:
        """Append a finished trial to the history."""
        self._history.finished.append((self._running_indices.pop(asked), trial))

    def _record_start(self, asked: Request | LazyRequest, request: Request) -> None:
        """Record the start of a request and update the count of repeated proposals."""
        self._repeated_count = self._repeated_count + 1 if request.configuration in self._seen else 0
        self._seen.add(request.configuration)
        self._running_indices[asked] = len(self._history.started)
        self._history.started.append(request)
