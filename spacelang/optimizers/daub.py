"""Data allocation using upper bounds, DAUB (spacelang/optimizers/README.md, section "DAUB")."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from itertools import chain, islice, pairwise
from typing import ClassVar, Final, Literal, TypeAlias

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine, ask_all
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._draws import BATCH_SIZE, RandomLeaves
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers._scheduling import SpeculativeExecution
from spacelang.optimizers._selection import (
    MemorySelector,
    SelectionProblem,
    Selector,
    SelectorCall,
    search_with_selector,
)
from spacelang.plugins import option
from spacelang.targets.blds import Pipeline

BOOTSTRAP: Final = 3  # The number of initial trainings of every pipeline, and of points that a slope is fitted to
LOOKAHEAD: Final = 32  # How many pipelines of the queue are considered for speculative trials
CurvePoint: TypeAlias = tuple[int, float]
"""A number of rows and the accuracy after training on them: 1 minus the normalized loss."""
_QueueKey: TypeAlias = tuple[float, bool]
"""The sort key of the queue: the negated upper bound; of equal ones, successes come first."""
_NewPipeline: TypeAlias = "tuple[Pipeline, _Curve, list[Request]]"
"""A pipeline in the bootstrap: its known learning curve and the missing requests of the first rungs."""
_QueueEntry: TypeAlias = "tuple[_QueueKey, int, Pipeline, _Curve]"
"""An entry of the queue: sort key, unique number, a pipeline not trained on all rows, and its learning curve."""


@dataclass(frozen=True, slots=True)
class Daub:
    """Data allocation using upper bounds: every pipeline on little data, then the most promising one on more."""

    paper: ClassVar[str] = (
        "Sabharwal, Samulowitz and Tesauro, Selecting Near-Optimal Learners via Incremental Data Allocation, AAAI 2016"
    )
    is_independent_of_workers: ClassVar[bool] = True

    b: int = option(100, settings.B)
    eta: float = option(2.0, settings.ETA)
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    needs_training_loss: ClassVar[bool] = True  # The training accuracy bounds the validation accuracy

    def __post_init__(self) -> None:
        settings.check_fidelity_grid(self.b, self.eta)

    def search(self, problem: Problem) -> Search:
        """Run DAUB until every pipeline was trained on all rows.

        Every pipeline is trained on the first three rungs. Then the pipeline with the largest upper bound on its
        accuracy is trained on its next rung, again and again. The pipelines come in random order, and the bootstrap
        runs in rounds; a large space is never listed. A trial without a training loss is bounded by its learning curve
        alone.
        """
        yield from search_with_selector(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """Return a selector whose iterations each end when one pipeline was trained on all rows; calls continue.

        The bootstrap is no iteration. It is repeated for pipelines whose configuration has changed.
        """
        return MemorySelector(self._allocate)

    def _allocate(self, turn: SelectorCall[Pipeline]) -> SearchCoroutine[None]:
        size = turn.selection.size
        sizes = rungs(size, self.b, self.eta)

        def following(curve: _Curve) -> int:
            return sizes[sizes.index(curve.rows) + 1]

        speculation = SpeculativeExecution(max(turn.selection.idle_workers - 1, 0))
        queue = yield from _bootstrap(turn, sizes)
        guide = _QueueLookahead(queue, lambda pipeline, curve: turn.request(pipeline, following(curve)))
        returned = 0
        while queue and turn.can_continue(returned):
            _, index, pipeline, curve = heappop(queue)
            rows = following(curve)
            trial = yield from speculation.run_trial(turn.request(pipeline, rows), guide)
            turn.record(pipeline, trial)
            curve = curve.with_trial(turn.selection, trial)
            if rows < size:
                heappush(queue, (curve.queue_key(size), index, pipeline, curve))
            else:
                returned += 1


def _bootstrap(turn: SelectorCall[Pipeline], sizes: Sequence[int]) -> SearchCoroutine[list[_QueueEntry]]:
    """Train every pipeline on the first rungs, in rounds of several, and return the queue of those with more rungs."""
    size, queue = sizes[-1], list[_QueueEntry]()
    for some, others in pairwise(chain(_rounds(turn, sizes), [[]])):
        wanted, ahead = ([request for *_, missing in all_of for request in missing] for all_of in (some, others))
        answers = iter((yield from ask_all(wanted, ahead)))
        for pipeline, known, missing in some:
            curve = known
            for trial in islice(answers, len(missing)):
                turn.record(pipeline, trial)
                curve = curve.with_trial(turn.selection, trial)
            if curve.rows < size:
                heappush(queue, (curve.queue_key(size), len(queue), pipeline, curve))
        if not turn.can_continue():
            break
    return queue


def _rounds(turn: SelectorCall[Pipeline], sizes: Sequence[int]) -> Iterator[list[_NewPipeline]]:
    """Yield all pipelines in rounds, those with known trials first; one by one if the time is limited."""
    selection = turn.selection
    known = dict.fromkeys(each for each in turn.memory if any(turn.known_trials(each, sizes[0])))
    leaves = RandomLeaves(selection.tree, selection.rng, selection.initial).each_once_in_random_order()
    pipelines = chain(known, (leaf for leaf in leaves if leaf not in known))
    count = max(1, BATCH_SIZE // len(sizes[:BOOTSTRAP])) if turn.seconds is None else 1
    while found := list(islice(pipelines, count)):
        yield [_new_pipeline(turn, each, sizes) for each in found]


def _new_pipeline(turn: SelectorCall[Pipeline], pipeline: Pipeline, sizes: Sequence[int]) -> _NewPipeline:
    curve, known = _Curve(), turn.record_known_trials(pipeline, *sizes)
    for trial in known:
        curve = curve.with_trial(turn.selection, trial)
    return pipeline, curve, [turn.request(pipeline, rows) for rows in sizes[len(known) : BOOTSTRAP]]


@dataclass(slots=True)
class _QueueLookahead:
    """A predictor of the queue's next trainings, which assumes that the running pipeline goes to the end of it."""

    queue: list[_QueueEntry]
    request: "Callable[[Pipeline, _Curve], Request]"
    _finished: set[Request] = field(default_factory=set)

    def upcoming_requests(self) -> Iterator[Request]:
        for _, _, pipeline, curve in nsmallest(LOOKAHEAD, self.queue):
            request = self.request(pipeline, curve)
            if request not in self._finished:
                yield request

    def on_speculative_trial(self, early: Trial) -> None:
        self._finished.add(early.request)


@dataclass(frozen=True, slots=True)
class _Curve:
    """The last points of a pipeline's learning curve, and its accuracy on the training rows if known."""

    points: tuple[CurvePoint, ...] = ()
    training: float | None = None
    failed: bool = False

    @property
    def rows(self) -> int:
        return self.points[-1][0]

    def with_trial(self, selection: SelectionProblem, trial: Trial) -> "_Curve":
        rows = selection.size if trial.request.fidelity is None else trial.request.fidelity
        training = None if trial.normalized_training_loss is None else 1 - trial.normalized_training_loss
        # The minimum keeps a penalized success from comparing worse than failures.
        points = restore_monotonicity((*self.points, (rows, 1 - min(selection.normalized_penalized_loss(trial), 1.0))))
        return _Curve(points[-BOOTSTRAP:], training, trial.loss is None)

    def queue_key(self, size: int) -> _QueueKey:
        return -accuracy_upper_bound(self.points, self.training, size), self.failed


def restore_monotonicity(points: tuple[CurvePoint, ...]) -> tuple[CurvePoint, ...]:
    """Return the points, the last two set to their mean if the last is lower: more data is assumed never to hurt."""
    if len(points) == 1 or points[-1][1] >= points[-2][1]:
        return points
    *others, (fewer, before), (rows, now) = points
    mean = (before + now) / 2
    return (*others, (fewer, mean), (rows, mean))


def least_squares_slope(points: Sequence[CurvePoint]) -> float:
    """Return the slope of the least-squares line through the points; 0 for a single point."""
    middle = sum(rows for rows, _ in points) / len(points)
    mean = sum(accuracy for _, accuracy in points) / len(points)
    spread = sum((rows - middle) ** 2 for rows, _ in points)
    return sum((rows - middle) * (accuracy - mean) for rows, accuracy in points) / spread if spread else 0.0


def accuracy_upper_bound(points: Sequence[CurvePoint], training: float | None, size: int) -> float:
    """Return min(Tr, ub_V): the training accuracy, and the line through the points extended to all rows.

    Without a training accuracy the bound is the line alone. For a single point the bound is the training accuracy, or
    the point's own accuracy if that is unknown.
    """
    rows, accuracy = points[-1]
    if training is not None and len(points) == 1:
        return training
    straight = accuracy + least_squares_slope(points) * (size - rows)
    return straight if training is None else min(training, straight)
