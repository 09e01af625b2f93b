"""The arms of a bandit over pipelines: how often each was trained, and the bounds of its loss (ALGORITHMS.md 3.3)."""

from collections import ChainMap
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._completion import Completion
from spacelang.optimizers._fidelity import fidelity
from spacelang.targets.blds import Pipeline


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
    is `worth`.
    """

    def __init__(self, completion: Completion, sizes: Sequence[int], widths: Sequence[float], worth: Worth) -> None:
        self._completion = completion
        self._sizes = sizes
        self._widths = widths
        self._worth = worth
        self._arms: MutableMapping[Pipeline, _Arm] = {}
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

    def increase_and_train(self, pipeline: Pipeline) -> Iterator[Pipeline]:
        """IncreaseAndTrain: the pipeline, to be trained on the next rung by whoever takes it; nothing if there is none.

        What came of it is noted before the next one is taken.
        """
        if not self.is_fully_trained(pipeline):
            yield pipeline

    def current_performance(self, pipeline: Pipeline, times: int = 1) -> Iterator[Pipeline]:
        """GetCurrentPerformance: the pipeline as often as it must be trained to have been so many times."""
        while self.trained(pipeline) < times:
            yield pipeline

    def request(self, pipeline: Pipeline) -> Request:
        """The request for the next training of a pipeline."""
        return Request(self._completion.of(pipeline), fidelity(self._sizes[self.trained(pipeline)], self._sizes[-1]))

    def note(self, pipeline: Pipeline, trial: Trial) -> None:
        """What came of the next training of a pipeline."""
        worth, rung = self._worth(trial), self.trained(pipeline)
        width = self._widths[rung]
        self._arms[pipeline] = _Arm(rung + 1, Bounds(worth - width, worth + width, trial.loss is None))
        self.trainings += 1
        self.finished += self.is_fully_trained(pipeline)

    def imagined(self) -> "Arms":
        """The same arms as they may be later: what is noted there these do not know."""
        later = Arms(self._completion, self._sizes, self._widths, self._worth)
        later._arms = ChainMap({}, self._arms)
        later.trainings, later.finished = self.trainings, self.finished
        return later
