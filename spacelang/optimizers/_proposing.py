"""Sequential searches driven by a proposer: each idle worker gets the proposal after all trials seen so far."""

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeAlias, TypeVar

from spacelang.draws.sampling import Sampler, UnlikelyError
from spacelang.ir.asking import Later, Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._novelty import Novelty
from spacelang.optimizers._room import as_there_is_room
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import nearest_admissible
from spacelang.targets.blds import DiscrepancyTree

if TYPE_CHECKING:
    from numpy.random import Generator

K = TypeVar("K", bound=Hashable)

ObservedLoss: TypeAlias = tuple[Configuration, float | None]
"""A configuration that was started, with its loss; None if it failed or is still running."""

OTHERS: Final = 10
"""After this many repeated proposals in a row a configuration is drawn."""
DRAWS: Final = 100
"""After this many repeated draws in a row hardly anything new is left."""


class Proposer(Protocol):
    """A model that proposes configurations."""

    def propose(self, history: Sequence[ObservedLoss], rng: "Generator") -> Configuration | None:
        """Return a member of the space after a history in starting order; None if none is found.

        The result depends only on the history and the random generator.
        """


class Proposing(Generic[K]):
    """A part of a search that requests the proposals of a proposer, each configuration once, until it is exhausted.

    A repeated proposal is made again, ten times. Then a configuration is drawn, its structure uniformly and its values
    from their priors. If no draw is new or the proposer finds no member, the part is exhausted. Its last request is
    then the first configuration of its history, whose trial is known, or the default configuration if the history is
    empty.
    """

    def __init__(self, part: K, novelty: Novelty[K], proposer: Proposer, structures: Structures) -> None:
        """Create a part with a proposer that proposes in the space of `structures`.

        `novelty` must contain `part`. With its patience of 1, one repeated proposal exhausts the part.
        """
        self._part, self._novelty = part, novelty
        self._proposer = proposer
        self._structures = structures
        self._history: dict[Configuration, float | None] = {}
        """The started configurations with their losses, in starting order."""

    def __contains__(self, configuration: Configuration) -> bool:
        """Return True if a configuration was started."""
        return configuration in self._history

    @property
    def sits_out(self) -> bool:
        """True if the part proposes nothing new any more."""
        return self._novelty.sits_out(self._part)

    def given(self, configuration: Configuration, seconds: float | None = None) -> Request:
        """Return the request of a configuration that was not proposed, and record its start."""
        request = Request(configuration, seconds=seconds)
        self._begun(request)
        return request

    def later(self, seconds: float | None = None) -> Later:
        """Return a lazy request for the next proposal; `seconds` limits its evaluation."""
        return Later(lambda rng: Request(self._made(rng), seconds=seconds), self._begun)

    def note(self, trial: Trial) -> None:
        """Record the trial of a request."""
        self._history[trial.request.configuration] = trial.loss

    def _begun(self, request: Request) -> None:
        """Record the start of a request."""
        self._novelty.note(self._part, request)
        self._history.setdefault(request.configuration, None)

    def _made(self, rng: "Generator") -> Configuration:
        """Return the next configuration: a new proposal, a new draw, or the final configuration if neither is found."""
        history = tuple(self._history.items())
        for _ in range(OTHERS):
            proposal = self._proposer.propose(history, rng)
            if proposal is None:
                return self._last
            if proposal not in self._history:
                return proposal
        return next(self._drawn(rng), self._last)

    def _drawn(self, rng: "Generator") -> Iterator[Configuration]:
        """Yield random configurations that were not started, from at most `DRAWS` draws."""
        sampler = Sampler(self._structures)
        try:
            drawn = (sampler.configuration(rng) for _ in range(DRAWS))
            yield from (each for each in drawn if each not in self._history)
        except UnlikelyError:
            return

    @property
    def _last(self) -> Configuration:
        """The configuration of the last request: the first of the history, else the default configuration."""
        known = next(iter(self._history), None)
        return nearest_admissible(self._structures)[1] if known is None else known


def search(proposer: Proposer, problem: Problem, structures: Structures) -> Search:
    """Search a whole space with a proposer, each configuration once; at the end the remaining ones are drawn.

    Initial configurations come first. Every idle worker gets a proposal; running trials are in the history without a
    loss.
    """
    part = Proposing("all", Novelty(("all",), 1), proposer, structures)
    yield from as_there_is_room(_wishes(part, problem, structures), lambda _, trial: part.note(trial))


def _wishes(part: Proposing[str], problem: Problem, structures: Structures) -> Iterator[Request | Later]:
    """Yield all requests of the search: initial configurations, proposals, and at the end random draws."""
    yield from map(part.given, problem.initial)
    while not part.sits_out:
        yield part.later()
    drawn = Configurations(DiscrepancyTree(structures), problem.rng).each_once()
    yield from (part.given(each) for each in drawn if each not in part)
