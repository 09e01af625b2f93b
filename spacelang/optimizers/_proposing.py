"""Proposing: a part of a search that begins, one by one, what something proposes after all that it has seen."""

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
"""A configuration that was begun, with its loss; None where it failed or has not ended."""

OTHERS: Final = 10
"""After so many proposals in a row that were begun before one is drawn."""
DRAWS: Final = 100
"""So many draws in a row that were begun before mean that hardly anything else is left."""


class Proposer(Protocol):
    """What proposes."""

    def propose(self, history: Sequence[ObservedLoss], rng: "Generator") -> Configuration | None:
        """A member after a history, in the order in which it was begun; None where it finds none.

        It depends on nothing but these.
        """


class Proposing(Generic[K]):
    """What a proposer proposes as a part of a search, each configuration once, until the part has run dry.

    A proposal that was begun before is made again, ten times, and then one is drawn: its structure uniformly, its
    values as their priors say. Where nothing that is drawn is new, or the proposer finds no member, the part sits out:
    its last request is what it has begun with, which is known, or the default configuration where there is nothing.
    """

    def __init__(self, part: K, novelty: Novelty[K], proposer: Proposer, structures: Structures) -> None:
        """A part of those whose `novelty` is counted, one that is not new has them sit out; it proposes in a space."""
        self._part, self._novelty = part, novelty
        self._proposer = proposer
        self._structures = structures
        self._history: dict[Configuration, float | None] = {}
        """What was begun, in this order."""

    def __contains__(self, configuration: Configuration) -> bool:
        """Whether a configuration was begun."""
        return configuration in self._history

    @property
    def sits_out(self) -> bool:
        """Whether nothing new will be proposed."""
        return self._novelty.sits_out(self._part)

    def given(self, configuration: Configuration, seconds: float | None = None) -> Request:
        """The request of a configuration that was not proposed."""
        request = Request(configuration, seconds=seconds)
        self._begun(request)
        return request

    def later(self, seconds: float | None = None) -> Later:
        """The next request, made when it is begun; `seconds` are what it may take."""
        return Later(lambda rng: Request(self._made(rng), seconds=seconds), self._begun)

    def note(self, trial: Trial) -> None:
        """What came of a request."""
        self._history[trial.request.configuration] = trial.loss

    def _begun(self, request: Request) -> None:
        self._novelty.note(self._part, request)
        self._history.setdefault(request.configuration, None)

    def _made(self, rng: "Generator") -> Configuration:
        history = tuple(self._history.items())
        for _ in range(OTHERS):
            proposal = self._proposer.propose(history, rng)
            if proposal is None:
                return self._last
            if proposal not in self._history:
                return proposal
        return next(self._drawn(rng), self._last)

    def _drawn(self, rng: "Generator") -> Iterator[Configuration]:
        """Configurations that were not begun, as long as drawing finds them."""
        sampler = Sampler(self._structures)
        try:
            drawn = (sampler.configuration(rng) for _ in range(DRAWS))
            yield from (each for each in drawn if each not in self._history)
        except UnlikelyError:
            return

    @property
    def _last(self) -> Configuration:
        known = next(iter(self._history), None)
        return nearest_admissible(self._structures)[1] if known is None else known


def search(proposer: Proposer, problem: Problem, structures: Structures) -> Search:
    """What a proposer proposes for all of a space, each once; where nothing new is found the rest is drawn.

    Configurations to begin with come first. Every idle worker gets a proposal: what is under way then stands in the
    history without a loss.
    """
    part = Proposing("all", Novelty(("all",), 1), proposer, structures)
    yield from as_there_is_room(_wishes(part, problem, structures), lambda _, trial: part.note(trial))


def _wishes(part: Proposing[str], problem: Problem, structures: Structures) -> Iterator[Request | Later]:
    yield from map(part.given, problem.initial)
    while not part.sits_out:
        yield part.later()
    drawn = Configurations(DiscrepancyTree(structures), problem.rng).each_once()
    yield from (part.given(each) for each in drawn if each not in part)
