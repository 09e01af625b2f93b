"""Bandit limited discrepancy search, BLDS(disc) (ALGORITHMS.md 3.3)."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, TypeVar

from spacelang.ir.counting import Structures
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Search, Trial, loss_of
from spacelang.optimizers._fidelity import cumulative, fidelity, rungs
from spacelang.plugins import OptionError, option
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator as Chance

T = TypeVar("T")
Asking: TypeAlias = Generator[Sequence[Request], Sequence[Trial], T]
"""A part of a search that may ask for trials before it has its result."""

IDLE_RESTARTS: Final = 10
"""After so many restarts in a row that ask for nothing, the next start is a pipeline that is not fully trained."""
SIMPLE_WIDTH: Final = 0.09
"""The constant of `width="simple"` (A2)."""


@dataclass(frozen=True, slots=True)
class Blds:
    """Bandit limited discrepancy search: local search around a pipeline, neighbours judged on growing data."""

    paper: ClassVar[str] = (
        "Kishimoto et al., Bandit Limited Discrepancy Search and Application to Machine Learning Pipeline "
        "Optimization, AAAI 2022"
    )

    disc: int = option(1, "the largest discrepancy: how many decisions a neighbour may change")
    b: int = option(100, "training rows of a pipeline's first training")
    eta: float = option(2.0, "the factor by which the rows grow from one training to the next")
    log_const: float = option(1 / 9600, "the constant c L / delta in the width of the bounds, as the paper sets it")
    log_floor: float = option(0.0, "the smallest value of the logarithm in the width")
    log_rule: Literal["constant", "theory"] = option("constant", "take `log_const`, or c L / delta with L structures")
    c: float = option(4.0001, "c of the theory, with log_rule=theory")
    delta: float = option(0.1, "delta of the theory, with log_rule=theory")
    width: Literal["bound", "simple"] = option("bound", "the width of the paper, or sqrt(0.09 k / n_k)")
    collapse_at_full: bool = option(False, "whether a fully trained pipeline has bounds of no width")
    examine_init: bool = option(False, "whether a search visits the pipeline that it starts from, too")
    until_rule: Literal["paper", "local_optimum"] = option(
        "paper", "end a descent once its pipeline is fully trained, or only if nothing around it is better, too"
    )
    initial: tuple[Pipeline, ...] = ()
    """Where the first descents start; later ones start from uniform draws."""

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        _check(self.disc >= 1, f"`disc` is {self.disc}", "a neighbour changes at least 1 decision")
        _check(self.b >= 1, f"`b` is {self.b}", "a training takes at least 1 row")
        _check(1 < self.eta < inf, f"`eta` is {self.eta}", "rows grow by a factor greater than 1")
        _check(0 < self.log_const < inf, f"`log_const` is {self.log_const}", "it is greater than 0")
        _check(0 <= self.log_floor < inf, f"`log_floor` is {self.log_floor}", "it is at least 0")
        _check(0 < self.c < inf, f"`c` is {self.c}", "it is greater than 0")
        _check(0 < self.delta < 1, f"`delta` is {self.delta}", "it is a probability between 0 and 1")

    def search(self, space: Space, size: int, rng: "Chance") -> Search:
        """BLDS: descents from one initial pipeline after the other until every leaf is fully trained.

        Pipelines are asked for with their default hyperparameters, on as many rows as their bounds call for.
        """
        tree = DiscrepancyTree(Structures(space))
        if not tree.leaves:
            return
        arms = _Arms(self, tree, size)
        for start in self._initial_pipelines(tree, arms, rng):
            pipeline = start
            while True:
                yield from arms.increase_and_train(pipeline)
                better = yield from self._improve(tree, arms, pipeline)
                pipeline = pipeline if better is None else better
                if arms.is_fully_trained(pipeline) and (better is None or self.until_rule == "paper"):
                    break

    def _improve(self, tree: DiscrepancyTree, arms: "_Arms", pipeline: Pipeline) -> Asking[Pipeline | None]:
        """The first pipeline that looks better, discrepancy by discrepancy; None where none does."""
        # The bounds of the pipeline are frozen here: a search compares with what was known when it began (A7).
        reference = arms.bounds(pipeline)
        for theta in range(1, self.disc + 1):
            for neighbour in tree.walk(pipeline, theta):
                if neighbour == pipeline and not self.examine_init:
                    continue
                if (yield from _is_better(neighbour, reference, arms)):
                    return neighbour
        return None

    def _initial_pipelines(self, tree: DiscrepancyTree, arms: "_Arms", rng: "Chance") -> Iterator[Pipeline]:
        """FindInitialPipeline: the injected pipelines, then uniform draws, until every leaf is fully trained."""
        for pipeline in self.initial:
            _check(tree.is_leaf(pipeline), f"`initial` has {pipeline}", "it must be a leaf of the discrepancy tree")
        yield from self.initial
        leaves = tree.leaves_in_order()
        unfinished: Pipeline | None = None
        idle, trainings = 0, arms.trainings
        while arms.finished < tree.leaves:
            # In a nearly exhausted space draws hit fully trained pipelines with decided neighbours for ever, and the
            # search would run without asking for anything: then it starts from the first one that can be trained.
            if idle < IDLE_RESTARTS:
                yield tree.random_leaf(rng)
            else:
                while unfinished is None or arms.is_fully_trained(unfinished):
                    unfinished = next(leaves)
                yield unfinished
            idle = idle + 1 if arms.trainings == trainings else 0
            trainings = arms.trainings


def _is_better(pipeline: Pipeline, reference: "_Bounds", arms: "_Arms") -> Asking[bool]:
    """The leaf of SEARCH: whether a pipeline is accepted, after one more training if its bounds overlap."""
    bounds = yield from arms.current_performance(pipeline)
    if bounds.upper < reference.lower:
        return True
    if bounds.lower <= reference.upper:
        bounds = yield from arms.increase_and_train(pipeline)
    return bounds.upper < reference.upper


@dataclass(frozen=True, slots=True)
class _Bounds:
    """An interval of the loss; lower is better, so `upper` is the pessimistic end (A49)."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class _Arm:
    """A pipeline that was trained so many times, and the bounds after the last of them."""

    trained: int
    bounds: _Bounds


class _Arms:
    """What is known of each pipeline; kept over restarts."""

    def __init__(self, settings: Blds, tree: DiscrepancyTree, size: int) -> None:
        self._tree = tree
        self._size = size
        self._rungs = rungs(size, settings.b, settings.eta)
        self._widths = widths(settings, self._rungs, tree.leaves)
        self._arms: dict[Pipeline, _Arm] = {}
        self.trainings = 0
        self.finished = 0

    def is_fully_trained(self, pipeline: Pipeline) -> bool:
        """Whether the pipeline was trained on all rows."""
        arm = self._arms.get(pipeline)
        return arm is not None and arm.trained == len(self._rungs)

    def bounds(self, pipeline: Pipeline) -> _Bounds:
        """The bounds of a pipeline that was trained."""
        return self._arms[pipeline].bounds

    def current_performance(self, pipeline: Pipeline) -> Asking[_Bounds]:
        """GetCurrentPerformance: the bounds, after a first training if there was none."""
        if pipeline not in self._arms:
            yield from self.increase_and_train(pipeline)
        return self.bounds(pipeline)

    def increase_and_train(self, pipeline: Pipeline) -> Asking[_Bounds]:
        """IncreaseAndTrain: the bounds after a training on the next rung; unchanged if there is none."""
        if self.is_fully_trained(pipeline):
            return self.bounds(pipeline)
        rung = self._arms[pipeline].trained if pipeline in self._arms else 0
        rows = fidelity(self._rungs[rung], self._size)
        (trial,) = yield [Request(self._tree.complete(pipeline), rows)]
        loss, width = loss_of(trial), self._widths[rung]
        self._arms[pipeline] = _Arm(rung + 1, _Bounds(loss - width, loss + width))
        self.trainings += 1
        self.finished += self.is_fully_trained(pipeline)
        return self.bounds(pipeline)


def widths(settings: Blds, sizes: tuple[int, ...], leaves: int) -> tuple[float, ...]:
    """The half widths w_k of the bounds after the k-th training, k = 1, 2, ...

    w_k = sqrt(max(log_floor, ln(C D_k^2)) / D_k). With the paper's C = 1/9600 and b = 100 they are not monotone: w_1 is
    smaller than each of w_2 .. w_8 (A1). `leaves` is at least 1.
    """
    if settings.width == "simple":
        found = [sqrt(SIMPLE_WIDTH * k / rows) for k, rows in enumerate(sizes, start=1)]
    else:
        # The logarithm of C, not C: the number of structures may be too large for a float.
        log_const = log(settings.log_const)
        if settings.log_rule == "theory":
            log_const = log(settings.c) + log(leaves) - log(settings.delta)
        found = [sqrt(max(settings.log_floor, log_const + 2 * log(rows)) / rows) for rows in cumulative(sizes)]
    return (*found[:-1], 0.0) if settings.collapse_at_full else tuple(found)


def _check(holds: bool, message: str, help: str) -> None:  # noqa: A002 - the word of the house's diagnostics
    if not holds:
        raise OptionError(message, help)
