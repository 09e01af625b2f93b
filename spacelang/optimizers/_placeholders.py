"""Lazy candidates: configurations that a model proposes only when they start, from all trials known by then."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.codings.vectors import VectorCoding
from spacelang.draws.codes import Array
from spacelang.ir.asking import Later
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._configurations import Configurations
from spacelang.optimizers._dimensions import dimensions_of
from spacelang.optimizers._fidelity import fidelity
from spacelang.optimizers._selection import Selection
from spacelang.optimizers._turn import Memory, Turn

if TYPE_CHECKING:
    from numpy.random import Generator

    from spacelang.surrogates.dimensions import Dimension
    from spacelang.surrogates.kernel_density import GoodAndBad

ROUNDS: Final = 10
"""How many rounds of points without a new member are drawn before a configuration of the prior is used."""


@dataclass(eq=False)
class Placeholder:
    """A position among the candidates: the configuration drawn for it, and the one assigned when it starts."""

    drawn: Configuration
    given: Configuration | None = None

    @property
    def configuration(self) -> Configuration:
        """The assigned configuration; the candidate must have started."""
        assert self.given is not None, "the candidate must have started"
        return self.given


class Placeholders:
    """The lazy candidates of a search.

    Each has a configuration drawn from the prior, which it is given if the model proposes nothing new.
    """

    def __init__(
        self, selection: Selection, initial: tuple[Configuration, ...], random_fraction: float, candidates: int
    ) -> None:
        self._initial = deque(initial)
        self._random_fraction, self._candidates = random_fraction, candidates
        self._taken = set(initial)
        """The configurations that were started or are drawn for candidates that have not started."""
        self._spare: deque[Configuration] = deque()
        """The configurations drawn for candidates that were assigned another one."""
        drawn = Configurations(selection.tree, selection.rng).each_once()
        self._prior = (each for each in drawn if each not in self._taken)
        self._count = 0
        self.are_exhausted = False
        self.observed = Observed(VectorCoding(selection.tree.space), selection.size)

    # ---- source of candidates

    def draw(self, number: int) -> list[Placeholder]:
        """Return `number` lazy candidates, initial configurations first; fewer if nothing new can be drawn."""
        first = [Placeholder(each, each) for each in islice(_popped(self._initial), number)]
        spare = (each for each in _popped(self._spare) if each not in self._taken)
        fresh = list(islice(chain(spare, self._prior), number - len(first)))
        self._taken.update(fresh)
        self._count += len(first) + len(fresh)
        self.are_exhausted = len(first) + len(fresh) < number
        return [*first, *map(Placeholder, fresh)]

    def are_all(self, number: int) -> bool:
        """Return True if `number` candidates are all that exist."""
        return self.are_exhausted and not self._spare and number == self._count

    def in_order(self) -> Iterator[Placeholder]:
        """Yield candidates for the configurations that were drawn for a position but not assigned to any."""
        while found := self.draw(1):
            yield from found

    # ---- assignment of configurations

    def make(self, place: Placeholder, rng: "Generator") -> Request:
        """Propose the configuration of a candidate.

        The memo says whether it came from the model or the prior, and how many proposals of the model were rejected
        before.
        """
        from spacelang.surrogates.threads import one_thread

        with one_thread():
            model = None if rng.random() < self._random_fraction else self.observed.model(rng)
            for refused, found in enumerate(() if model is None else self._members(model, rng)):
                if found is not None and (found == place.drawn or found not in self._taken):
                    return Request(found, memo=("model", refused))
        return Request(place.drawn, memo=("prior",))

    def settle(self, place: Placeholder, given: Configuration) -> None:
        """Assign a configuration to a candidate that starts.

        If it is not the drawn configuration, that one becomes available to other candidates.
        """
        place.given = given
        if given != place.drawn:
            self._taken.remove(place.drawn)
            self._taken.add(given)
            self._spare.append(place.drawn)

    def _members(self, model: "GoodAndBad", rng: "Generator") -> Iterator[Configuration | None]:
        """Yield the decoded proposals of the model, the likeliest to be good first, then those of further draws.

        None stands for a point that does not decode to a member of the space.
        """
        for _ in range(ROUNDS):
            yield from self.observed.coding.decode(model.proposals(self._candidates, rng))


class Filling(Turn[Placeholder]):
    """A selector call whose candidates are lazy."""

    def __init__(self, selection: Selection, places: Placeholders) -> None:
        super().__init__(selection, lambda place: place.configuration, places.observed)
        self._filled = places

    def wish(self, candidate: Placeholder, rows: int) -> Request | Later:
        """Return the request of a candidate that has started, or a lazy request that assigns its configuration."""
        if candidate.given is not None:
            return self.request(candidate, rows)

        def make(rng: "Generator") -> Request:
            made = self._filled.make(candidate, rng)
            return replace(made, fidelity=fidelity(rows, self.selection.size))

        return Later(make, lambda request: self._filled.settle(candidate, request.configuration))


@dataclass
class Trained:
    """The trials on one number of rows; the number of a failure is infinity."""

    configurations: list[Configuration] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    vectors: Array | None = None
    """The vectors of the first configurations; the others are encoded when needed."""


class Observed(Memory[Placeholder]):
    """A trial memory that also groups results by number of rows and fits a density model to them."""

    def __init__(self, coding: VectorCoding, size: int) -> None:
        super().__init__()
        self.coding = coding
        self._size = size
        self._on: dict[int, Trained] = {}

    def note(self, candidate: Placeholder, trial: Trial) -> None:
        """Record the trial of a candidate."""
        super().note(candidate, trial)
        trained = self._on.setdefault(trial.request.fidelity or self._size, Trained())
        trained.configurations.append(trial.request.configuration)
        trained.numbers.append(inf if trial.loss is None else trial.loss)

    def model(self, rng: "Generator") -> "GoodAndBad | None":
        """Return the model of the largest number of rows that has enough trials; None if there is none."""
        from spacelang.surrogates.kernel_density import GoodAndBad, are_enough

        for rows in sorted(self._on, reverse=True):
            trained = self._on[rows]
            if are_enough(len(trained.numbers), self.coding.width):
                return GoodAndBad.of(self._dimensions, self._vectors(trained), np.array(trained.numbers), rng)
        return None

    def _vectors(self, trained: Trained) -> Array:
        """Return the encoded configurations of some trials; only new ones are encoded."""
        known = np.empty((0, self.coding.width)) if trained.vectors is None else trained.vectors
        new = self.coding.encode(trained.configurations[len(known) :])
        trained.vectors = np.concatenate([known, new])
        return trained.vectors

    @cached_property
    def _dimensions(self) -> "tuple[Dimension, ...]":
        """The dimensions of the encoded vectors."""
        return dimensions_of(self.coding)


def _popped(queue: deque[Configuration]) -> Iterator[Configuration]:
    """Remove and yield the items of a queue from the left."""
    while queue:
        yield queue.popleft()
