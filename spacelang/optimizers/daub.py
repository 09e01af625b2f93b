"""Data allocation using upper bounds, DAUB (spacelang/optimizers/README.md, section "DAUB")."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from itertools import chain, islice, pairwise
from typing import ClassVar, Final, Literal, TypeAlias

from spacelang.ir.asking import Asking, Search, together
from spacelang.ir.problem import Problem
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _settings as settings
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers._foresight import Foresight
from spacelang.optimizers._leaves import ROUND, Leaves
from spacelang.optimizers._selection import Selection, Selector, search
from spacelang.optimizers._turn import Remembering, Turn
from spacelang.plugins import option
from spacelang.targets.blds import Pipeline

BOOTSTRAP: Final = 3
"""So many trainings of every pipeline come first: the slope of a curve takes as many points."""

SIGHT: Final = 32
"""So many pipelines are looked at for what will probably be wanted."""

CurvePoint: TypeAlias = tuple[int, float]
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
        yield from search(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """One of whose iterations each returns a pipeline, that is, trains it on all rows; then it goes on from there.

        The bootstrap counts for nothing, and is made again of pipelines that are configured otherwise.
        """
        return Remembering(self._allocate)

    def _allocate(self, turn: Turn[Pipeline]) -> Asking[None]:
        size = turn.selection.size
        sizes = rungs(size, self.b, self.eta)

        def following(curve: _Curve) -> int:
            return sizes[sizes.index(curve.rows) + 1]

        foresight = Foresight(max(turn.selection.room - 1, 0))
        queue = yield from _bootstrapped(turn, sizes)
        guide = _Next(queue, lambda pipeline, curve: turn.request(pipeline, following(curve)))
        returned = 0
        while queue and turn.goes_on(returned):
            _, index, pipeline, curve = heappop(queue)
            rows = following(curve)
            trial = yield from foresight.trial(turn.request(pipeline, rows), guide)
            turn.note(pipeline, trial)
            curve = curve.after(turn.selection, trial)
            if rows < size:
                heappush(queue, (curve.place(size), index, pipeline, curve))
            else:
                returned += 1


def _bootstrapped(turn: Turn[Pipeline], sizes: Sequence[int]) -> Asking[list[_Waiting]]:
    """Every pipeline on the first rungs: the queue of those for which there are more.

    The requests of a pipeline stand together, and several pipelines make a round.
    """
    size, queue = sizes[-1], list[_Waiting]()
    for some, others in pairwise(chain(_rounds(turn, sizes), [[]])):
        wanted, ahead = ([request for each in all_of for request in each.missing] for all_of in (some, others))
        answers = iter((yield from together(wanted, ahead)))
        for each in some:
            curve = each.curve
            for trial in islice(answers, len(each.missing)):
                turn.note(each.pipeline, trial)
                curve = curve.after(turn.selection, trial)
            if curve.rows < size:
                heappush(queue, (curve.place(size), len(queue), each.pipeline, curve))
        if not turn.goes_on():
            break
    return queue


def _rounds(turn: Turn[Pipeline], sizes: Sequence[int]) -> "Iterator[list[_Beginner]]":
    """All pipelines, those first that have begun before; where time is short, one by one."""
    selection = turn.selection
    known = dict.fromkeys(each for each in turn.memory if any(turn.known(each, sizes[0])))
    leaves = Leaves(selection.tree, selection.rng, selection.initial).each_once()
    pipelines = chain(known, (leaf for leaf in leaves if leaf not in known))
    count = max(1, ROUND // len(sizes[:BOOTSTRAP])) if turn.seconds is None else 1
    while found := list(islice(pipelines, count)):
        yield [_beginner(turn, each, sizes) for each in found]


@dataclass(frozen=True, slots=True)
class _Beginner:
    """A pipeline with what is known of it, and what is missing of the first rungs."""

    pipeline: Pipeline
    curve: "_Curve"
    missing: tuple[Request, ...]


def _beginner(turn: Turn[Pipeline], pipeline: Pipeline, sizes: Sequence[int]) -> _Beginner:
    curve, known = _Curve(), turn.recall(pipeline, *sizes)
    for trial in known:
        curve = curve.after(turn.selection, trial)
    return _Beginner(pipeline, curve, tuple(turn.request(pipeline, rows) for rows in sizes[len(known) : BOOTSTRAP]))


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

    points: tuple[CurvePoint, ...] = ()
    training: float | None = None
    failed: bool = False
    """Whether the last training did."""

    @property
    def rows(self) -> int:
        """On how many rows the pipeline was trained last."""
        return self.points[-1][0]

    def after(self, selection: Selection, trial: Trial) -> "_Curve":
        """The curve with one more point, repaired."""
        rows = selection.size if trial.request.fidelity is None else trial.request.fidelity
        training = None if trial.training_standing is None else 1 - trial.training_standing
        # No penalty puts a success behind failures.
        points = repaired((*self.points, (rows, 1 - min(selection.standing(trial), 1.0))))
        return _Curve(points[-BOOTSTRAP:], training, trial.loss is None)

    def place(self, size: int) -> _Place:
        """Where the pipeline stands in the queue."""
        return -self.upper_bound(size), self.failed

    def upper_bound(self, size: int) -> float:
        """The accuracy on all rows that the pipeline may at most be expected to reach."""
        return upper_bound(self.points, self.training, size)


def repaired(points: tuple[CurvePoint, ...]) -> tuple[CurvePoint, ...]:
    """The points with the last two at their mean where the last one is below: more data does no harm."""
    if len(points) == 1 or points[-1][1] >= points[-2][1]:
        return points
    *others, (fewer, before), (rows, now) = points
    mean = (before + now) / 2
    return (*others, (fewer, mean), (rows, mean))


def slope(points: Sequence[CurvePoint]) -> float:
    """The slope of the straight line with the least squares; 0 through a single point."""
    middle = sum(rows for rows, _ in points) / len(points)
    mean = sum(accuracy for _, accuracy in points) / len(points)
    spread = sum((rows - middle) ** 2 for rows, _ in points)
    return sum((rows - middle) * (accuracy - mean) for rows, accuracy in points) / spread if spread else 0.0


def upper_bound(points: Sequence[CurvePoint], training: float | None, size: int) -> float:
    """min(Tr, ub_V): the training accuracy where it is known, and the line through the points prolonged to all rows.

    A single point has no line: its bound is the training accuracy, or its own where that is not known.
    """
    rows, accuracy = points[-1]
    if training is not None and len(points) == 1:
        return training
    straight = accuracy + slope(points) * (size - rows)
    return straight if training is None else min(training, straight)
