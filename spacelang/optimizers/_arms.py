"""The arms of a bandit over pipelines: how often each was trained, and the bounds of its loss (ALGORITHMS.md 3.3)."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TypeAlias, TypeVar

from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._completion import Completion
from spacelang.optimizers._fidelity import fidelity
from spacelang.targets.blds import Pipeline

T = TypeVar("T")
Asking: TypeAlias = Generator[Sequence[Request], Sequence[Trial], T]
"""A part of a search that may ask for trials before it has its result."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of what a pipeline is worth; lower is better, so `upper` is the pessimistic end (A49).

    The last training of a pipeline may have failed: whatever the bounds are, it stands behind all that succeeded.
    """

    lower: float
    upper: float
    failed: bool = False

    def is_surely_better(self, other: "Bounds") -> bool:
        """Whether all of the interval is better than all of another one."""
        return self.upper < other.lower if self.failed == other.failed else other.failed

    def is_better(self, other: "Bounds") -> bool:
        """Whether the pessimistic end is better than that of another interval."""
        return self.upper < other.upper if self.failed == other.failed else other.failed

    def may_be_better(self, other: "Bounds") -> bool:
        """Whether another training may show that it is; no failure is trained again to be compared with a success."""
        return self.failed <= other.failed and self.lower <= other.upper


Worth: TypeAlias = Callable[[Trial], float]
"""What a trial is worth, in the middle of its bounds; lower is better."""


def by_standing(trial: Trial) -> float:
    """For bounds that suppose losses between 0 and 1."""
    return trial.standing


def by_loss(trial: Trial) -> float:
    """For bounds of no width: trials are compared, whatever their losses are."""
    return inf if trial.loss is None else trial.loss


@dataclass(frozen=True, slots=True)
class _Arm:
    """A pipeline that was trained so many times, and the bounds after the last of them."""

    trained: int
    bounds: Bounds


class Arms:
    """What is known of each pipeline; kept over restarts.

    The k-th training of a pipeline has `sizes[k - 1]` rows, and its bounds are `widths[k - 1]` above and below what it
    is `worth`. With each training that is needed, `ahead` others are asked for that probably will be; whoever trains
    says which. What was asked ahead is asked for again once it is needed, so that it never changes what is.
    """

    def __init__(
        self,
        completion: Completion,
        sizes: Sequence[int],
        widths: Sequence[float],
        worth: Worth,
        ahead: int = 0,
    ) -> None:
        self._completion = completion
        self._sizes = sizes
        self._widths = widths
        self._worth = worth
        self.ahead = ahead
        self._arms: dict[Pipeline, _Arm] = {}
        self._asked_ahead: set[tuple[Pipeline, int]] = set()
        self.trainings = 0
        self.finished = 0
        """How many pipelines are fully trained."""

    def trained(self, pipeline: Pipeline) -> int:
        """How many times the pipeline was trained."""
        arm = self._arms.get(pipeline)
        return 0 if arm is None else arm.trained

    def is_fully_trained(self, pipeline: Pipeline) -> bool:
        """Whether the pipeline was trained on all rows."""
        return self.trained(pipeline) == len(self._sizes)

    def bounds(self, pipeline: Pipeline) -> Bounds:
        """The bounds of a pipeline that was trained."""
        return self._arms[pipeline].bounds

    def current_performance(
        self, pipeline: Pipeline, coming: Iterable[Pipeline] = (), times: int = 1
    ) -> Asking[Bounds]:
        """GetCurrentPerformance: the bounds, after so many trainings if there were fewer."""
        while self.trained(pipeline) < times:
            yield from self.increase_and_train(pipeline, coming)
        return self.bounds(pipeline)

    def increase_and_train(self, pipeline: Pipeline, coming: Iterable[Pipeline] = ()) -> Asking[Bounds]:
        """IncreaseAndTrain: the bounds after a training on the next rung; unchanged if there is none.

        `coming` has the pipelines whose next training will probably be needed after this one, the next one first; it
        is not looked into unless something is asked ahead.
        """
        if self.is_fully_trained(pipeline):
            return self.bounds(pipeline)
        rung = self.trained(pipeline)
        trial, *_ = yield [self._request(pipeline, rung), *self._ahead_of(pipeline, rung, coming)]
        worth, width = self._worth(trial), self._widths[rung]
        self._arms[pipeline] = _Arm(rung + 1, Bounds(worth - width, worth + width, trial.loss is None))
        self.trainings += 1
        self.finished += self.is_fully_trained(pipeline)
        return self.bounds(pipeline)

    def _request(self, pipeline: Pipeline, rung: int, ahead: bool = False) -> Request:
        rows = fidelity(self._sizes[rung], self._sizes[-1])
        return Request(self._completion.of(pipeline), rows, ahead)

    def _ahead_of(self, pipeline: Pipeline, rung: int, coming: Iterable[Pipeline]) -> Iterator[Request]:
        """What is asked for together with a training; nothing where its own answer is there already."""
        if (pipeline, rung) in self._asked_ahead:
            self._asked_ahead.remove((pipeline, rung))
            return
        for other in islice(self._not_asked(pipeline, coming), self.ahead):
            self._asked_ahead.add((other, self.trained(other)))
            yield self._request(other, self.trained(other), ahead=True)

    def _not_asked(self, pipeline: Pipeline, coming: Iterable[Pipeline]) -> Iterator[Pipeline]:
        for other in coming:
            training = (other, self.trained(other))
            if other != pipeline and not self.is_fully_trained(other) and training not in self._asked_ahead:
                yield other
