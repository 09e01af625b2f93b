"""BOHB: Hyperband whose candidates are proposed by a model of good and bad configurations."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
from numpy.random import Generator

from spacelang.encodings.row_encodings import VectorEncoding, to_unit
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Ordinal, SimpleDomain
from spacelang.ir.search_protocol import LazyRequest, Problem, Search, ignore_remark
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._candidates import ConcurrentBrackets, make_bracket_plan
from spacelang.optimizers._draws import UniqueConfigurations
from spacelang.optimizers._fidelity import Bracket, fidelity_of_rows, hyperband_brackets, rungs, rungs_by_division
from spacelang.optimizers._selection import SelectionProblem, SelectorCall, TrialMemory, observe_idle_workers
from spacelang.plugins import option
from spacelang.sampling.value_codes import Array, codes_of_members_at
from spacelang.surrogates import (
    MAX_DENSITY_POINTS,
    Dimension,
    choose_trials_for_densities,
    limit_to_one_thread,
    subsampling_note,
)

if TYPE_CHECKING:
    from spacelang.surrogates.kernel_density import GoodAndBadDensities


@dataclass(frozen=True, slots=True)
class Bohb:
    """Hyperband whose configurations are proposed by kernel densities of the good and of the bad ones."""

    paper: ClassVar[str] = "Falkner et al., BOHB: Robust and Efficient Hyperparameter Optimization at Scale, ICML 2018"

    b_min: float = option(1 / 27, "the rows of a configuration's first training, as a share of all training rows")
    eta: float = option(3.0, settings.ETA)
    b: int = option(0, "rows of the first training on the grid that all methods share; 0: use `b_min`")
    random_fraction: float = option(1 / 3, "the share of configurations that are always drawn at random")
    candidates: int = option(64, "points drawn for a proposal; the one most likely to be good is taken")
    brackets: Literal["cut", "published"] = option("cut", settings.BRACKETS)

    options_of_earlier_stores: ClassVar[Mapping[str, str]] = settings.BRACKETS_OF_EARLIER_STORES

    def __post_init__(self) -> None:
        settings.check_fidelity_grid(max(self.b, 1), self.eta)
        settings.check_option(self, "b", self.b >= 0, "must be at least 1 row, or 0 to use `b_min`")
        settings.check_option(
            self, "b_min", 0 < self.b_min <= 1, "is a share of all rows: choose a value greater than 0 and at most 1"
        )
        is_share = 0 <= self.random_fraction <= 1
        settings.check_option(self, "random_fraction", is_share, "is a share: choose a value from 0 to 1")
        settings.check_option(self, "candidates", self.candidates >= 1, "must be at least 1")

    def search(self, problem: Problem) -> Search:
        """Run brackets of successive halving without end.

        With first trainings on 1/27 of all rows and `eta=3` the numbers of candidates are 27, 9, 3, 1; 9, 3, 1; 6, 2;
        4, and so on from the first. The initial configurations form a bracket of their own on all rows, which comes
        first, and are known to the model.

        The configuration of a candidate is chosen when it starts, from all trials known by then. The model uses the
        largest number of rows with enough trials: d + 1 good and d + 1 bad ones for encoded vectors of d numbers
        (section 3.2 of the paper). Before that, and for a share `random_fraction` of candidates, configurations are
        drawn. A proposal that is no member of the space is replaced, and none is proposed twice. If nothing new is
        left, all configurations are trained on all rows, those on the highest rung first.
        """
        selection = SelectionProblem.from_problem(problem, "default")
        if not selection.tree.leaf_count:
            return
        selection = yield from observe_idle_workers(selection)
        places = LazyCandidates(selection, problem.initial, self.random_fraction, self.candidates)
        grid, eta = self.rungs(problem.size), self._effective_eta(problem.size)
        initial = [Bracket(len(problem.initial), (problem.size,))] if problem.initial else []
        turn = LazyCandidateCall(selection, places)
        plan = make_bracket_plan(
            turn, grid, eta, lambda grid: hyperband_brackets(grid, eta, "floor"), self.brackets, initial
        )
        yield from ConcurrentBrackets(turn, places, plan, eta).run()

    def rungs(self, size: int) -> tuple[int, ...]:
        """Return the numbers of rows of the rungs for `size` rows, ascending, without repetitions."""
        eta = self._effective_eta(size)
        return (
            rungs(size, self.b, eta)
            if self.b
            else tuple(dict.fromkeys(rungs_by_division(size, size * self.b_min, eta)))
        )

    def _effective_eta(self, size: int) -> float:
        """Return `eta`, at most `size` (or 2): a larger one gives the same rungs, but far more candidates."""
        return min(self.eta, max(size, 2))


MAX_ROUNDS: Final = 10
"""How many rounds of points without a new member are drawn before a configuration of the prior is used."""


@dataclass(eq=False)
class LazyCandidate:
    """A position among the candidates: the configuration drawn for it, and the one assigned when it starts."""

    prior_configuration: Configuration
    assigned_configuration: Configuration | None = None

    @property
    def configuration(self) -> Configuration:
        """The assigned configuration; the candidate must have started."""
        assert self.assigned_configuration is not None, "the candidate must have started"
        return self.assigned_configuration


class LazyCandidates:
    """The lazy candidates of a search, each with a draw from the prior, used if the model proposes nothing new."""

    def __init__(
        self, selection: SelectionProblem, initial: tuple[Configuration, ...], random_fraction: float, candidates: int
    ) -> None:
        self._initial = deque(initial)
        self._random_fraction, self._candidates = random_fraction, candidates
        self._taken = set(initial)
        """The configurations that were started or are drawn for candidates that have not started."""
        self._spare: deque[Configuration] = deque()
        """The configurations drawn for candidates that were assigned another one."""
        drawn = UniqueConfigurations(selection.tree, selection.rng).each_once_in_random_order()
        self._prior = (each for each in drawn if each not in self._taken)
        self._count = 0
        self.are_exhausted = False
        self.memory = DensityModelMemory(VectorEncoding(selection.tree.space), selection.size, selection.remark)

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

    def is_total_count(self, number: int) -> bool:
        """Return True if `number` candidates are all that exist."""
        return self.are_exhausted and not self._spare and number == self._count

    def candidates_for_final_pass(self) -> Iterator[LazyCandidate]:
        """Yield candidates for the configurations that were drawn for a position but not assigned to any."""
        while found := self.draw(1):
            yield from found

    # ---- assignment of configurations

    def propose(self, candidate: LazyCandidate, rng: Generator) -> Request:
        """Propose a configuration; the memo tells if by model or prior, and how many proposals were rejected."""
        with limit_to_one_thread():
            model = None if rng.random() < self._random_fraction else self.memory.fit_model(rng)
            for refused, found in enumerate(() if model is None else self._decoded_proposals(model, rng)):
                if found is not None and (found == candidate.prior_configuration or found not in self._taken):
                    return Request(found, memo=("model", refused))
        return Request(candidate.prior_configuration, memo=("prior",))

    def assign(self, candidate: LazyCandidate, given: Configuration) -> None:
        """Assign a configuration to a candidate that starts.

        If it is not the drawn one, other candidates may get the drawn one.
        """
        candidate.assigned_configuration = given
        if given != candidate.prior_configuration:
            self._taken.remove(candidate.prior_configuration)
            self._taken.add(given)
            self._spare.append(candidate.prior_configuration)

    def _decoded_proposals(self, model: "GoodAndBadDensities", rng: Generator) -> Iterator[Configuration | None]:
        """Yield proposals of the model, the best of each draw first; None for a point that is no member."""
        for _ in range(MAX_ROUNDS):
            yield from self.memory.coding.decode(model.propose(self._candidates, rng))


class LazyCandidateCall(SelectorCall[LazyCandidate]):
    """A selector call whose candidates are lazy."""

    def __init__(self, selection: SelectionProblem, places: LazyCandidates) -> None:
        super().__init__(selection, lambda place: place.configuration, places.memory)
        self._filled = places

    def make_request(self, candidate: LazyCandidate, rows: int) -> Request | LazyRequest:
        """Return the request of a candidate that has started, or a lazy request that assigns its configuration."""
        if candidate.assigned_configuration is not None:
            return self.request(candidate, rows)

        def make(rng: Generator) -> Request:
            return replace(self._filled.propose(candidate, rng), fidelity=fidelity_of_rows(rows, self.selection.size))

        return LazyRequest(make, lambda request: self._filled.assign(candidate, request.configuration))


@dataclass
class FidelityTrials:
    """The trials on one number of rows; the value of a failure is infinity."""

    configurations: list[Configuration] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    vectors: Array | None = None  # The vectors of the first configurations; the others are encoded when needed


class DensityModelMemory(TrialMemory[LazyCandidate]):
    """A trial memory that also groups results by number of rows and fits a density model to them."""

    def __init__(self, coding: VectorEncoding, size: int, remark: Callable[[str], None] = ignore_remark) -> None:
        """Create an empty memory; `remark` is that of the `Problem`."""
        super().__init__()
        self.coding, self._size, self._remark = coding, size, remark
        self._by_rows: dict[int, FidelityTrials] = {}

    def record(self, candidate: LazyCandidate, trial: Trial) -> None:
        """Record the trial of a candidate."""
        super().record(candidate, trial)
        trained = self._by_rows.setdefault(trial.request.fidelity or self._size, FidelityTrials())
        trained.configurations.append(trial.request.configuration)
        trained.values.append(inf if trial.loss is None else trial.loss)
        if len(trained.values) > MAX_DENSITY_POINTS:
            self._remark(subsampling_note(MAX_DENSITY_POINTS))

    def fit_model(self, rng: Generator) -> "GoodAndBadDensities | None":
        """Return the model of the largest number of rows that has enough trials; None if there is none."""
        from spacelang.surrogates.kernel_density import GoodAndBadDensities, has_enough_points

        for rows in sorted(self._by_rows, reverse=True):
            trained = self._by_rows[rows]
            if has_enough_points(len(trained.values), self.coding.width):
                places = list(choose_trials_for_densities(trained.values))
                vectors, values = self._vectors(trained)[places], np.array(trained.values)[places]
                return GoodAndBadDensities.from_points(self._dimensions, vectors, values, rng)
        return None

    def _vectors(self, trained: FidelityTrials) -> Array:
        """Return the encoded configurations of some trials; only new ones are encoded."""
        known = np.empty((0, self.coding.width)) if trained.vectors is None else trained.vectors
        trained.vectors = np.concatenate([known, self.coding.encode(trained.configurations[len(known) :])])
        return trained.vectors

    @cached_property
    def _dimensions(self) -> "tuple[Dimension, ...]":
        return dimensions_of(self.coding)


def _drain(queue: deque[Configuration]) -> Iterator[Configuration]:
    while queue:
        yield queue.popleft()


MAX_MEMBERS: Final = 1_024
"""A grid with more members counts as a range: a model could not distinguish members so close together."""


def dimensions_of(coding: VectorEncoding) -> tuple[Dimension, ...]:
    """Return a dimension for each encoded column; decisions and parts of a union become unordered categories."""
    return tuple(_column_dimensions(coding))


def _column_dimensions(coding: VectorEncoding) -> Iterator[Dimension]:
    for each in coding.fields:
        if each.coding.has_part:
            yield Dimension(tuple(np.linspace(0, 1, len(each.coding.parts)).tolist()), is_ordered=False)
        yield from (_part_dimension(each.coding.parts[place]) for place in each.coding.columns)


def _part_dimension(part: SimpleDomain) -> Dimension:
    is_ordered = not isinstance(part, Categorical) or isinstance(part, Ordinal)
    if part.size is None or (is_ordered and part.size > MAX_MEMBERS):
        return Dimension()
    indices = np.arange(part.last_index + 1)
    return Dimension(tuple(to_unit(part, codes_of_members_at(part, indices)).tolist()), is_ordered=is_ordered)
