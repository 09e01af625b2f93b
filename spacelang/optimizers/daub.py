"""Data allocation using upper bounds, DAUB (ALGORITHMS.md 3.6)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from itertools import chain, islice, pairwise
from typing import ClassVar, Final, Literal, TypeAlias

from spacelang.ir.asking import Asking, Search, together
from spacelang.ir.counting import Structures
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._completion import Completion
from spacelang.optimizers._fidelity import fidelity, rungs
from spacelang.optimizers._foresight import Foresight
from spacelang.optimizers._leaves import ROUND, Leaves
from spacelang.plugins import option
from spacelang.targets.blds import DiscrepancyTree, Pipeline

BOOTSTRAP: Final = 3
"""So many trainings of every pipeline come first: the slope of a curve takes as many points."""

SIGHT: Final = 32
"""So many pipelines are looked at for what will probably be wanted."""

Point: TypeAlias = tuple[int, float]
"""A number of rows and the accuracy after training on them: 1 minus the standing of the loss."""

_Place: TypeAlias = tuple[float, bool]
"""What orders the queue: the upper bound with the sign turned, and of equal ones successes come first."""

_Waiting: TypeAlias = "tuple[_Place, int, Pipeline, _Curve]"
"""A pipeline that was not trained on all rows, with its place, a number of its own and what is known of it."""


@dataclass(frozen=True, slots=True)
class Daub:
    """Every pipeline on little data first, then the most promising one on more, and so on."""

    paper: ClassVar[str] = (
        "Sabharwal, Samulowitz and Tesauro, Selecting Near-Optimal Learners via Incremental Data Allocation, AAAI 2016"
    )

    b: int = option(100, settings.B)
    eta: float = option(2.0, settings.ETA)
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    needs_training_loss: ClassVar[bool] = True
    """The accuracy on the training rows bounds the one on others."""

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        settings.check_grid(self.b, self.eta)

    def search(self, problem: Problem) -> Search:
        """DAUB: every pipeline on the first three rungs, then the one with the largest upper bound on its next one.

        It ends when every pipeline has returned, that is, was trained on all rows. The pipelines come in random order
        and the bootstrap in rounds; a large space is never listed. A trial without a training loss is bounded by its
        curve alone.
        """
        size = problem.size
        tree = DiscrepancyTree(Structures(problem.space))
        sizes = rungs(size, self.b, self.eta)
        completion = Completion(tree, self.hyperparameters, problem.rng)

        def request(pipeline: Pipeline, rows: int) -> Request:
            return Request(completion.of(pipeline), fidelity(rows, size))

        def following(curve: _Curve) -> int:
            return sizes[sizes.index(curve.rows) + 1]

        foresight = Foresight()
        yield from foresight.look_around()
        queue = yield from _bootstrapped(Leaves(tree, problem.rng).each_once(), sizes, request)
        guide = _Next(queue, lambda pipeline, curve: request(pipeline, following(curve)))
        while queue:
            _, index, pipeline, curve = heappop(queue)
            rows = following(curve)
            trial = yield from foresight.trial(request(pipeline, rows), guide)
            curve = curve.after(rows, trial)
            if rows < size:  # else it returns
                heappush(queue, (curve.place(size), index, pipeline, curve))


def _bootstrapped(
    pipelines: Iterator[Pipeline], sizes: Sequence[int], request: Callable[[Pipeline, int], Request]
) -> Asking[list[_Waiting]]:
    """Every pipeline on the first rungs: the queue of those for which there are more.

    The requests of a pipeline stand together, and several pipelines make a round.
    """
    first, size = sizes[:BOOTSTRAP], sizes[-1]
    queue: list[_Waiting] = []
    rounds = _rounds(pipelines, max(1, ROUND // len(first)))
    for some, others in pairwise(chain(rounds, [[]])):
        wanted, ahead = ((request(each, rows) for each in all_of for rows in first) for all_of in (some, others))
        answers = iter((yield from together(wanted, ahead)))
        for pipeline in some:
            curve = _Curve()
            for rows in first:
                curve = curve.after(rows, next(answers))
            if curve.rows < size:
                heappush(queue, (curve.place(size), len(queue), pipeline, curve))
    return queue


@dataclass(slots=True)
class _Next:
    """Foresees what stands next in the queue, as if what goes on came back behind it."""

    queue: list[_Waiting]
    request: "Callable[[Pipeline, _Curve], Request]"
    _early: set[Request] = field(default_factory=set)

    def coming(self) -> Iterator[Request]:
        """The next trainings of the pipelines that stand first, those left out that have ended early."""
        for _, _, pipeline, curve in nsmallest(SIGHT, self.queue):
            request = self.request(pipeline, curve)
            if request not in self._early:
                yield request

    def hear(self, early: Trial) -> None:
        """A trial that has ended early needs no worker any more."""
        self._early.add(early.request)


@dataclass(frozen=True, slots=True)
class _Curve:
    """The last points of a pipeline's learning curve, and its accuracy on the training rows where it is known."""

    points: tuple[Point, ...] = ()
    training: float | None = None
    failed: bool = False
    """Whether the last training did."""

    @property
    def rows(self) -> int:
        """On how many rows the pipeline was trained last."""
        return self.points[-1][0]

    def after(self, rows: int, trial: Trial) -> "_Curve":
        """The curve with one more point, repaired."""
        training = None if trial.training_standing is None else 1 - trial.training_standing
        points = repaired((*self.points, (rows, 1 - trial.standing)))
        return _Curve(points[-BOOTSTRAP:], training, trial.loss is None)

    def place(self, size: int) -> _Place:
        """Where the pipeline stands in the queue."""
        return -self.upper_bound(size), self.failed

    def upper_bound(self, size: int) -> float:
        """The accuracy on all rows that the pipeline may at most be expected to reach."""
        return upper_bound(self.points, self.training, size)


def repaired(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """The points with the last two at their mean where the last one is below: more data does no harm."""
    if len(points) == 1 or points[-1][1] >= points[-2][1]:
        return points
    *others, (fewer, before), (rows, now) = points
    mean = (before + now) / 2
    return (*others, (fewer, mean), (rows, mean))


def slope(points: Sequence[Point]) -> float:
    """The slope of the straight line with the least squares; 0 through a single point."""
    middle = sum(rows for rows, _ in points) / len(points)
    mean = sum(accuracy for _, accuracy in points) / len(points)
    spread = sum((rows - middle) ** 2 for rows, _ in points)
    return sum((rows - middle) * (accuracy - mean) for rows, accuracy in points) / spread if spread else 0.0


def upper_bound(points: Sequence[Point], training: float | None, size: int) -> float:
    """min(Tr, ub_V): the training accuracy where it is known, and the line through the points prolonged to all rows.

    A single point has no line: its bound is the training accuracy, or its own where that is not known.
    """
    rows, accuracy = points[-1]
    if training is not None and len(points) == 1:
        return training
    straight = accuracy + slope(points) * (size - rows)
    return straight if training is None else min(training, straight)


def _rounds(pipelines: Iterator[Pipeline], count: int) -> Iterator[list[Pipeline]]:
    while found := list(islice(pipelines, count)):
        yield found
