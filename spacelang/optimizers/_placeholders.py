"""Candidates that are proposed when they are begun, by a model of all that was told until then."""

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
"""So many times points are drawn anew of which none stood for a new member, before one of the prior is taken."""


@dataclass(eq=False)
class Placeholder:
    """A place among the candidates: what is drawn for it, and what it was given when it was begun."""

    drawn: Configuration
    given: Configuration | None = None

    @property
    def configuration(self) -> Configuration:
        """What it was given; it must have begun."""
        assert self.given is not None, "it is known when it has begun"
        return self.given


class Placeholders:
    """Placeholders; each has a configuration of its own from the prior, so that a proposal never ends with nothing."""

    def __init__(
        self, selection: Selection, initial: tuple[Configuration, ...], random_fraction: float, candidates: int
    ) -> None:
        self._initial = deque(initial)
        self._random_fraction, self._candidates = random_fraction, candidates
        self._taken = set(initial)
        """What was begun, and what is drawn for a place that has not."""
        self._spare: deque[Configuration] = deque()
        """What was drawn for places that were given something else."""
        drawn = Configurations(selection.tree, selection.rng).each_once()
        self._prior = (each for each in drawn if each not in self._taken)
        self._count = 0
        self.are_exhausted = False
        self.observed = Observed(VectorCoding(selection.tree.space), selection.size)

    # ---- what brackets are filled with

    def draw(self, number: int) -> list[Placeholder]:
        """So many places; fewer where there are no more new configurations. Those to begin with come first."""
        first = [Placeholder(each, each) for each in islice(_popped(self._initial), number)]
        spare = (each for each in _popped(self._spare) if each not in self._taken)
        fresh = list(islice(chain(spare, self._prior), number - len(first)))
        self._taken.update(fresh)
        self._count += len(first) + len(fresh)
        self.are_exhausted = len(first) + len(fresh) < number
        return [*first, *map(Placeholder, fresh)]

    def are_all(self, number: int) -> bool:
        """Whether so many places are all there are."""
        return self.are_exhausted and not self._spare and number == self._count

    def in_order(self) -> Iterator[Placeholder]:
        """What is left where nothing new is drawn: what was drawn for a place and not given to any."""
        while found := self.draw(1):
            yield from found

    # ---- what they are given

    def make(self, place: Placeholder, rng: "Generator") -> Request:
        """The configuration of a place; the memo has how many points were refused before that of the model."""
        from spacelang.surrogates.threads import one_thread

        with one_thread():
            model = None if rng.random() < self._random_fraction else self.observed.model(rng)
            for refused, found in enumerate(() if model is None else self._members(model, rng)):
                if found is not None and (found == place.drawn or found not in self._taken):
                    return Request(found, memo=("model", refused))
        return Request(place.drawn, memo=("prior",))

    def settle(self, place: Placeholder, given: Configuration) -> None:
        """A place has begun with a configuration; that which was drawn for it is there for another one."""
        place.given = given
        if given != place.drawn:
            self._taken.remove(place.drawn)
            self._taken.add(given)
            self._spare.append(place.drawn)

    def _members(self, model: "GoodAndBad", rng: "Generator") -> Iterator[Configuration | None]:
        """What points stand for, the likeliest to be good first, and after these of others that are drawn."""
        for _ in range(ROUNDS):
            yield from self.observed.coding.decode(model.proposals(self._candidates, rng))


class Filling(Turn[Placeholder]):
    """The turn of a search whose candidates are proposed."""

    def __init__(self, selection: Selection, places: Placeholders) -> None:
        super().__init__(selection, lambda place: place.configuration, places.observed)
        self._filled = places

    def wish(self, candidate: Placeholder, rows: int) -> Request | Later:
        """The request of a place that has begun; the others are given a configuration when they are."""
        if candidate.given is not None:
            return self.request(candidate, rows)

        def make(rng: "Generator") -> Request:
            made = self._filled.make(candidate, rng)
            return replace(made, fidelity=fidelity(rows, self.selection.size))

        return Later(make, lambda request: self._filled.settle(candidate, request.configuration))


@dataclass
class Trained:
    """What came of configurations on the same number of rows: infinity of failures."""

    configurations: list[Configuration] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    vectors: Array | None = None
    """Those of the first configurations: they are coded when they are needed."""


class Observed(Memory[Placeholder]):
    """What was told, and the model of it."""

    def __init__(self, coding: VectorCoding, size: int) -> None:
        super().__init__()
        self.coding = coding
        self._size = size
        self._on: dict[int, Trained] = {}

    def note(self, candidate: Placeholder, trial: Trial) -> None:
        """Keep what came of a candidate."""
        super().note(candidate, trial)
        trained = self._on.setdefault(trial.request.fidelity or self._size, Trained())
        trained.configurations.append(trial.request.configuration)
        trained.numbers.append(inf if trial.loss is None else trial.loss)

    def model(self, rng: "Generator") -> "GoodAndBad | None":
        """That of the most rows on which enough was trained; None where that is nowhere."""
        from spacelang.surrogates.kernel_density import GoodAndBad, are_enough

        for rows in sorted(self._on, reverse=True):
            trained = self._on[rows]
            if are_enough(len(trained.numbers), self.coding.width):
                return GoodAndBad.of(self._dimensions, self._vectors(trained), np.array(trained.numbers), rng)
        return None

    def _vectors(self, trained: Trained) -> Array:
        known = np.empty((0, self.coding.width)) if trained.vectors is None else trained.vectors
        new = self.coding.encode(trained.configurations[len(known) :])
        trained.vectors = np.concatenate([known, new])
        return trained.vectors

    @cached_property
    def _dimensions(self) -> "tuple[Dimension, ...]":
        return dimensions_of(self.coding)


def _popped(queue: deque[Configuration]) -> Iterator[Configuration]:
    while queue:
        yield queue.popleft()
