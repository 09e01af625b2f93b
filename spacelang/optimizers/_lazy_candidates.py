"""Lazy candidates: configurations that a model proposes only when they start, from all trials known by then."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.encodings.vectors import VectorEncoding
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import LazyRequest
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._dimensions import dimensions_of
from spacelang.optimizers._fidelity import fidelity
from spacelang.optimizers._selection import SelectionProblem
from spacelang.optimizers._selector_call import SelectorCall, TrialMemory
from spacelang.optimizers._unique_configurations import UniqueConfigurations
from spacelang.sampling.value_codes import Array

if TYPE_CHECKING:
    from numpy.random import Generator

    from spacelang.surrogates.dimensions import Dimension
    from spacelang.surrogates.kernel_density import DensityPair

MAX_ROUNDS: Final = 10
"""How many rounds of points without a new member are drawn before a configuration of the prior is used."""


@dataclass(eq=False)
class LazyCandidate:
    """A position among the candidates: the configuration drawn for it, and the one assigned when it starts."""

    prior_configuration: Configuration
    assigned: Configuration | None = None

    @property
    def configuration(self) -> Configuration:
        """The assigned configuration; the candidate must have started."""
        assert self.assigned is not None, "the candidate must have started"
        return self.assigned


class LazyCandidates:
    """The lazy candidates of a search.

    Each has a configuration drawn from the prior, which it is given if the model proposes nothing new.
    """

    def __init__(
        self, selection: SelectionProblem, initial: tuple[Configuration, ...], random_fraction: float, candidates: int
    ) -> None:
        self._initial = deque(initial)
        self._random_fraction, self._candidates = random_fraction, candidates
        self._taken = set(initial)
        """The configurations that were started or are drawn for candidates that have not started."""
        self._spare: deque[Configuration] = deque()
        """The configurations drawn for candidates that were assigned another one."""
        drawn = UniqueConfigurations(selection.tree, selection.rng).each_once()
        self._prior = (each for each in drawn if each not in self._taken)
        self._count = 0
        self.are_exhausted = False
        self.memory = ModelMemory(VectorEncoding(selection.tree.space), selection.size)

    # ---- source of candidates

    def draw(self, number: int) -> list[LazyCandidate]:
        """Return `number` lazy candidates, initial configurations first; fewer if nothing new can be drawn."""
        first = [LazyCandidate(each, each) for each in islice(_drain(self._initial), number)]
        spare = (each for each in _drain(self._spare) if each not in self._taken)
        fresh = list(islice(chain(spare, self._prior), number - len(first)))
        self._taken.update(fresh)
        self._count += len(first) + len(fresh)
        self.are_exhausted = len(first) + len(fresh) < number
        return [*first, *map(LazyCandidate, fresh)]

    def is_total(self, number: int) -> bool:
        """Return True if `number` candidates are all that exist."""
        return self.are_exhausted and not self._spare and number == self._count

    def remaining(self) -> Iterator[LazyCandidate]:
        """Yield candidates for the configurations that were drawn for a position but not assigned to any."""
        while found := self.draw(1):
            yield from found

    # ---- assignment of configurations

    def propose(self, place: LazyCandidate, rng: "Generator") -> Request:
        """Propose the configuration of a candidate.

        The memo says whether it came from the model or the prior, and how many proposals of the model were rejected
        before.
        """
        from spacelang.surrogates.threads import one_thread

        with one_thread():
            model = None if rng.random() < self._random_fraction else self.memory.model(rng)
            for refused, found in enumerate(() if model is None else self._decoded_proposals(model, rng)):
                if found is not None and (found == place.prior_configuration or found not in self._taken):
                    return Request(found, memo=("model", refused))
        return Request(place.prior_configuration, memo=("prior",))

    def assign(self, place: LazyCandidate, given: Configuration) -> None:
        """Assign a configuration to a candidate that starts.

        If it is not the drawn configuration, that one becomes available to other candidates.
        """
        place.assigned = given
        if given != place.prior_configuration:
            self._taken.remove(place.prior_configuration)
            self._taken.add(given)
            self._spare.append(place.prior_configuration)

    def _decoded_proposals(self, model: "DensityPair", rng: "Generator") -> Iterator[Configuration | None]:
        """Yield the decoded proposals of the model, the likeliest to be good first, then those of further draws.

        None stands for a point that does not decode to a member of the space.
        """
        for _ in range(MAX_ROUNDS):
            yield from self.memory.coding.decode(model.propose(self._candidates, rng))


class LazyCandidateCall(SelectorCall[LazyCandidate]):
    """A selector call whose candidates are lazy."""

    def __init__(self, selection: SelectionProblem, places: LazyCandidates) -> None:
        super().__init__(selection, lambda place: place.configuration, places.memory)
        self._filled = places

    def make_request(self, candidate: LazyCandidate, rows: int) -> Request | LazyRequest:
        """Return the request of a candidate that has started, or a lazy request that assigns its configuration."""
        if candidate.assigned is not None:
            return self.request(candidate, rows)

        def make(rng: "Generator") -> Request:
            made = self._filled.propose(candidate, rng)
            return replace(made, fidelity=fidelity(rows, self.selection.size))

        return LazyRequest(make, lambda request: self._filled.assign(candidate, request.configuration))


@dataclass
class FidelityTrials:
    """The trials on one number of rows; the number of a failure is infinity."""

    configurations: list[Configuration] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    vectors: Array | None = None
    """The vectors of the first configurations; the others are encoded when needed."""


class ModelMemory(TrialMemory[LazyCandidate]):
    """A trial memory that also groups results by number of rows and fits a density model to them."""

    def __init__(self, coding: VectorEncoding, size: int) -> None:
        super().__init__()
        self.coding = coding
        self._size = size
        self._by_rows: dict[int, FidelityTrials] = {}

    def record(self, candidate: LazyCandidate, trial: Trial) -> None:
        """Record the trial of a candidate."""
        super().record(candidate, trial)
        trained = self._by_rows.setdefault(trial.request.fidelity or self._size, FidelityTrials())
        trained.configurations.append(trial.request.configuration)
        trained.values.append(inf if trial.loss is None else trial.loss)

    def model(self, rng: "Generator") -> "DensityPair | None":
        """Return the model of the largest number of rows that has enough trials; None if there is none."""
        from spacelang.surrogates.kernel_density import DensityPair, has_enough_points

        for rows in sorted(self._by_rows, reverse=True):
            trained = self._by_rows[rows]
            if has_enough_points(len(trained.values), self.coding.width):
                return DensityPair.from_points(self._dimensions, self._vectors(trained), np.array(trained.values), rng)
        return None

    def _vectors(self, trained: FidelityTrials) -> Array:
        """Return the encoded configurations of some trials; only new ones are encoded."""
        known = np.empty((0, self.coding.width)) if trained.vectors is None else trained.vectors
        new = self.coding.encode(trained.configurations[len(known) :])
        trained.vectors = np.concatenate([known, new])
        return trained.vectors

    @cached_property
    def _dimensions(self) -> "tuple[Dimension, ...]":
        """The dimensions of the encoded vectors."""
        return dimensions_of(self.coding)


def _drain(queue: deque[Configuration]) -> Iterator[Configuration]:
    """Remove and yield the items of a queue from the left."""
    while queue:
        yield queue.popleft()
