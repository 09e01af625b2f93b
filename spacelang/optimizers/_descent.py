"""The descent that BLDS, MLDS and LDS share: from a pipeline to better ones around it (ALGORITHMS.md 3.2 to 3.4)."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spacelang.optimizers._arms import Arms, Asking, Bounds
from spacelang.optimizers._leaves import unfinished
from spacelang.optimizers._settings import check
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator

IDLE_RESTARTS: Final = 10
"""After so many restarts in a row that ask for nothing, the next start is a pipeline that is not fully trained."""
SIGHT: Final = 64
"""So many neighbours are looked at for what will probably be needed."""


Until: TypeAlias = Literal["paper", "local_optimum"]
"""When a descent ends: once its pipeline is fully trained, or only if nothing around it looks better, too (A8)."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a descent goes: see the options of these names of `blds` and `mlds`."""

    disc: int
    examine_init: bool = False
    until: Until = "paper"
    match_fidelity: bool = False


def until(sizes: Sequence[int], rule: Until = "paper") -> Until:
    """The rule on these rungs: on a single one every pipeline is fully trained, and only an optimum ends a descent."""
    return rule if len(sizes) > 1 else "local_optimum"


def descend(start: Pipeline, tree: DiscrepancyTree, arms: Arms, rules: Rules) -> Asking[Pipeline]:
    """One descent: a pipeline is trained on more rows and gives way to the first around it that looks better.

    Gives the pipeline in which it ends.
    """
    pipeline = start
    while True:
        yield from arms.increase_and_train(pipeline, _untrained(tree, arms, pipeline))
        better = yield from _improve(tree, arms, pipeline, rules)
        pipeline = pipeline if better is None else better
        if arms.is_fully_trained(pipeline) and (better is None or rules.until == "paper"):
            return pipeline


def initial_pipelines(
    tree: DiscrepancyTree, arms: Arms, rng: "Generator", initial: tuple[Pipeline, ...] = ()
) -> Iterator[Pipeline]:
    """FindInitialPipeline: the injected pipelines, then uniform draws, until every leaf is fully trained."""
    for pipeline in initial:
        check(tree.is_leaf(pipeline), f"`initial` has {pipeline}", "it must be a leaf of the discrepancy tree")
    yield from initial
    rest = unfinished(tree, arms.is_fully_trained)
    idle, trainings = 0, arms.trainings
    while arms.finished < tree.leaves:
        # In a nearly exhausted space draws hit fully trained pipelines with decided neighbours for ever, and the
        # search would run without asking for anything: then it starts from the first one that can be trained.
        yield tree.random_leaf(rng) if idle < IDLE_RESTARTS else next(rest)
        idle = idle + 1 if arms.trainings == trainings else 0
        trainings = arms.trainings


def _improve(tree: DiscrepancyTree, arms: Arms, pipeline: Pipeline, rules: Rules) -> Asking[Pipeline | None]:
    """SEARCH: the first pipeline that looks better, discrepancy by discrepancy; None where none does."""
    # The bounds of the pipeline are frozen here: a search compares with what was known when it began (A7).
    reference = arms.bounds(pipeline)
    times = arms.trained(pipeline) if rules.match_fidelity else 1
    for theta in range(1, min(rules.disc, len(tree.layers)) + 1):
        neighbours = _Walk(tree.walk(pipeline, theta))
        for neighbour in neighbours:
            if neighbour == pipeline and not rules.examine_init:
                continue
            coming = _probably_needed(neighbours, pipeline, reference, arms) if arms.ahead else ()
            if (yield from _is_better(neighbour, reference, arms, times, coming)):
                return neighbour
    return None


def _is_better(
    pipeline: Pipeline, reference: Bounds, arms: Arms, times: int, coming: Iterable[Pipeline]
) -> Asking[bool]:
    """The leaf of SEARCH: whether a pipeline is accepted, after one more training if its bounds overlap."""
    bounds = yield from arms.current_performance(pipeline, coming, times)
    if bounds.is_surely_better(reference):
        return True
    if bounds.may_be_better(reference):
        bounds = yield from arms.increase_and_train(pipeline, coming)
    return bounds.is_better(reference)


def _untrained(tree: DiscrepancyTree, arms: Arms, pipeline: Pipeline) -> Iterator[Pipeline]:
    """The nearest neighbours that will be trained once their pipeline was."""
    return (leaf for leaf in islice(tree.walk(pipeline, 1), SIGHT) if not arms.trained(leaf))


def _probably_needed(neighbours: "_Walk", pipeline: Pipeline, reference: Bounds, arms: Arms) -> Iterator[Pipeline]:
    """The pipelines that will be trained next if none of the neighbours is accepted before."""
    for neighbour in neighbours.coming():
        if not arms.trained(neighbour):
            yield neighbour
        elif neighbour != pipeline:
            bounds = arms.bounds(neighbour)
            if bounds.is_surely_better(reference):
                return
            if bounds.may_be_better(reference):
                yield neighbour
    yield pipeline


class _Walk(Iterator[Pipeline]):
    """A walk through a tree that can look a little ahead."""

    def __init__(self, leaves: Iterator[Pipeline]) -> None:
        self._leaves = leaves
        self._seen: deque[Pipeline] = deque()

    def __next__(self) -> Pipeline:
        return self._seen.popleft() if self._seen else next(self._leaves)

    def coming(self) -> Iterator[Pipeline]:
        """The next leaves of the walk, which stay where they are."""
        for place in range(SIGHT):
            if place == len(self._seen):
                self._seen.extend(islice(self._leaves, 1))
            if place == len(self._seen):
                return
            yield self._seen[place]
