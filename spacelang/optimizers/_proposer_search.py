"""Searches driven by a model or a library: each idle worker gets the proposal after all trials seen so far."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from numpy.random import Generator

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import LazyRequest, Problem, Search, ignore_remark
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._draws import MAX_REPEATED_DRAWS, NoveltyTracker, UniqueConfigurations
from spacelang.optimizers._scheduling import make_lazy_request, run_requests
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.surrogates import subsampling_note
from spacelang.targets.blds import DiscrepancyTree

PartKey = TypeVar("PartKey", bound=Hashable)
ObservedLoss: TypeAlias = tuple[Configuration, float | None]
"""A configuration that was started, with its loss; None if it failed or is still running."""
MAX_REPEATED_PROPOSALS: Final = 10  # After this many repeated proposals in a row a configuration is drawn


class Proposer(Protocol):
    """A model that proposes configurations."""

    @property
    def most_modelled(self) -> int | None:
        """The number of trials beyond which the model uses only some of them; None if it uses all."""

    def propose(self, history: Sequence[ObservedLoss], rng: Generator) -> Configuration | None:
        """Return the next configuration, or None.

        `history` has the trials in the order of their starts. The result depends only on `history` and `rng`.
        """


class ProposerPart(Generic[PartKey]):
    """A part of a search that requests the proposals of a proposer, each configuration once, until it is exhausted.

    A repeated proposal is made again, ten times. Then, or if the proposer finds no member, a configuration is drawn,
    its structure uniformly and its values from their priors. If no draw is new, the part is exhausted. Its last request
    is then the first configuration of its history, whose trial is known, or the default configuration if the history is
    empty.
    """

    def __init__(
        self,
        part: PartKey,
        novelty: NoveltyTracker[PartKey],
        proposer: Proposer,
        structures: Structures,
        remark: Callable[[str], None] = ignore_remark,
    ) -> None:
        """Create a part of `novelty`; with its patience of 1, one repeated proposal exhausts the part.

        `remark` is that of the `Problem`.
        """
        self._part, self._novelty, self._remark = part, novelty, remark
        self._proposer, self._structures = proposer, structures
        self._history: dict[Configuration, float | None] = {}
        """The started configurations with their losses, in starting order."""
        self._finished_count = 0

    def __contains__(self, configuration: Configuration) -> bool:
        """Return True if a configuration was started."""
        return configuration in self._history

    @property
    def is_exhausted(self) -> bool:
        """True if the part proposes nothing new any more."""
        return self._novelty.is_exhausted(self._part)

    def request_for(self, configuration: Configuration, seconds: float | None = None) -> Request:
        """Return the request of a configuration that was not proposed, and record its start.

        `seconds` limits the evaluation.
        """
        request = Request(configuration, seconds=seconds)
        self._record_start(request)
        return request

    def make_lazy_request(self, seconds: float | None = None) -> LazyRequest:
        """Return a lazy request for the next proposal; `seconds` limits its evaluation."""
        return LazyRequest(lambda rng: Request(self._next_configuration(rng), seconds=seconds), self._record_start)

    def record(self, trial: Trial) -> None:
        """Record the trial of a request."""
        self._history[trial.request.configuration] = trial.loss
        self._finished_count += 1
        _note_subsampling(self._proposer.most_modelled, self._finished_count, self._remark)

    def _record_start(self, request: Request) -> None:
        self._novelty.record(self._part, request)
        self._history.setdefault(request.configuration, None)

    def _next_configuration(self, rng: Generator) -> Configuration:
        history = tuple(self._history.items())
        for _ in range(MAX_REPEATED_PROPOSALS):
            proposal = self._proposer.propose(history, rng)
            if proposal is None:
                break
            if proposal not in self._history:
                return proposal
        return next(self._new_draws(rng), self._final_configuration)

    def _new_draws(self, rng: Generator) -> Iterator[Configuration]:
        sampler = Sampler(self._structures, advised=True)
        try:
            drawn = (sampler.configuration(rng) for _ in range(MAX_REPEATED_DRAWS))
            yield from (each for each in drawn if each not in self._history)
        except SamplingFailedError:
            return

    @property
    def _final_configuration(self) -> Configuration:
        """The configuration of the last request: the first of the history, else the default configuration."""
        known = next(iter(self._history), None)
        return member_nearest_to_default(self._structures)[1] if known is None else known


def search_with_proposer(proposer: Proposer, problem: Problem, structures: Structures) -> Search:
    """Search a whole space with a proposer, each configuration once, initial ones first; at the end the rest is drawn.

    Every idle worker gets a proposal; running trials are in the history without a loss.
    """
    part = ProposerPart("all", NoveltyTracker(("all",), 1), proposer, structures, problem.remark)
    yield from run_requests(_requests(part, problem, structures), lambda _, trial: part.record(trial))


def _requests(part: ProposerPart[str], problem: Problem, structures: Structures) -> Iterator[Request | LazyRequest]:
    yield from map(part.request_for, problem.initial)
    while not part.is_exhausted:
        yield part.make_lazy_request()
    drawn = UniqueConfigurations(DiscrepancyTree(structures), problem.rng).each_once_in_random_order()
    yield from (part.request_for(each) for each in drawn if each not in part)


@dataclass(slots=True)
class TrialLog:
    """The requests of a search in starting order, and its trials, with the index of the request, as they finished."""

    started: list[Request] = field(default_factory=list)
    finished: list[tuple[int, Trial]] = field(default_factory=list)

    def trials(self, begun: int, ended: int) -> Iterator[tuple[Request, Trial | None]]:
        """Pair the first `begun` requests with their trials; None unless among the first `ended` finished ones."""
        known = dict(self.finished[:ended])
        return ((request, known.get(place)) for place, request in enumerate(self.started[:begun]))


class LibraryProposer(Protocol):
    """A library that proposes configurations; any state that it keeps between two proposals only saves time."""

    @property
    def most_modelled(self) -> int | None:
        """The number of trials beyond which the library gets only some of them; None if it gets all."""

    def initial_design(self) -> Sequence[Configuration]:
        """Return the configurations that are started before the first proposal, after the given initial ones."""

    def propose(self, history: TrialLog, rng: Generator) -> Request | None:
        """Return the next request, or None if there is nothing left to propose.

        The result depends only on `history` and `rng`. A configuration that was started before may be proposed again;
        its trial is answered from memory.
        """


def search_with_library(
    library_proposer: LibraryProposer, problem: Problem, structures: Structures, history: TrialLog
) -> Search:
    """Run a search: initial configurations, the library's initial design, then one proposal for every idle worker.

    A repeated proposal is requested again, as users of the library would do. After ten repeated proposals in a row a
    new configuration is drawn at random. The search ends if none is left. Requests and trials are appended to
    `history`, which must be empty at first.
    """
    if structures.count:
        yield from _Run(library_proposer, problem, structures, history).run()


class _Run:
    def __init__(
        self, library_proposer: LibraryProposer, problem: Problem, structures: Structures, history: TrialLog
    ) -> None:
        self._consultant, self._remark = library_proposer, problem.remark
        self._first = dict.fromkeys((*problem.initial, *library_proposer.initial_design()))
        self._drawn = UniqueConfigurations(DiscrepancyTree(structures), problem.rng).each_once_in_random_order()
        self._history = history
        self._seen: set[Configuration] = set()
        self._running_indices: dict[Request | LazyRequest, int] = {}
        """The indices in the history of the running requests."""
        self._repeated_count = 0
        """How many proposals in a row were repeated."""

    def run(self) -> Search:
        yield from run_requests(self._requests(), self._record)

    def _requests(self) -> Iterator[Request | LazyRequest]:
        yield from map(self._start_request, self._first)
        while True:
            if self._repeated_count < MAX_REPEATED_PROPOSALS:
                yield make_lazy_request(self._propose, self._record_start)
            elif (new := next((each for each in self._drawn if each not in self._seen), None)) is not None:
                yield self._start_request(new)
            else:
                return

    def _start_request(self, configuration: Configuration) -> Request:
        request = Request(configuration)
        self._record_start(request, request)
        return request

    def _propose(self, rng: Generator) -> Request:
        request = self._consultant.propose(self._history, rng)
        return self._history.started[0] if request is None else request

    def _record(self, asked: Request | LazyRequest, trial: Trial) -> None:
        self._history.finished.append((self._running_indices.pop(asked), trial))
        _note_subsampling(self._consultant.most_modelled, len(self._history.finished), self._remark)

    def _record_start(self, asked: Request | LazyRequest, request: Request) -> None:
        self._repeated_count = self._repeated_count + 1 if request.configuration in self._seen else 0
        self._seen.add(request.configuration)
        self._running_indices[asked] = len(self._history.started)
        self._history.started.append(request)


def _note_subsampling(most: int | None, count: int, remark: Callable[[str], None]) -> None:
    """Say that a model leaves trials out, if it has more than the `most` that it uses."""
    if most is not None and count > most:
        remark(subsampling_note(most))
