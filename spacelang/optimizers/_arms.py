"""The arms of a bandit over pipelines: how often each was trained, and the bounds of its loss.

See spacelang/optimizers/README.md, section "BLDS".
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._turn import Turn
from spacelang.targets.blds import Pipeline


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of what a pipeline is worth; lower is better, so `upper` is the pessimistic end.

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


@dataclass(frozen=True, slots=True)
class _Arm:
    """A pipeline that was trained so many times, and the bounds after the last of them."""

    trained: int
    bounds: Bounds


class Arms:
    """What is known of each pipeline; kept over restarts, and over turns where its configuration is the same.

    The k-th training of a pipeline has `sizes[k - 1]` rows, and its bounds are `widths[k - 1]` above and below what it
    is `worth`.
    """

    def __init__(self, turn: Turn[Pipeline], sizes: Sequence[int], widths: Sequence[float], worth: Worth) -> None:
        self._turn = turn
        self._sizes = sizes
        self._widths = widths
        self._worth = worth
        self._arms: MutableMapping[Pipeline, _Arm] = {}
        self._recall: Callable[..., Iterable[Trial]] = turn.recall
        self.trainings = 0
        self.finished = 0
        """How many pipelines are fully trained, as far as they were looked at."""

    def trained(self, pipeline: Pipeline) -> int:
        """How many times the pipeline was trained."""
        arm = self._arms.get(pipeline)
        return self._recalled(pipeline) if arm is None else arm.trained

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
        return self._turn.request(pipeline, self._sizes[self.trained(pipeline)])

    def note(self, pipeline: Pipeline, trial: Trial) -> None:
        """What came of the next training of a pipeline."""
        self._learn(pipeline, self.trained(pipeline), trial)
        self.trainings += 1

    def imagined(self) -> "Arms":
        """The same arms as they may be later: what is noted there these do not know."""
        later = Arms(self._turn, self._sizes, self._widths, self._worth)
        later._arms = ChainMap({}, self._arms)
        later._recall = self._turn.known
        later.trainings, later.finished = self.trainings, self.finished
        return later

    def _recalled(self, pipeline: Pipeline) -> int:
        """How many times a pipeline was trained in earlier turns, as it is configured now."""
        times = 0
        for times, trial in enumerate(self._recall(pipeline, *self._sizes), start=1):
            self._learn(pipeline, times - 1, trial)
        return times

    def _learn(self, pipeline: Pipeline, rung: int, trial: Trial) -> None:
        worth, width = self._worth(trial), self._widths[rung]
        self._arms[pipeline] = _Arm(rung + 1, Bounds(worth - width, worth + width, trial.loss is None))
        self.finished += rung + 1 == len(self._sizes)
