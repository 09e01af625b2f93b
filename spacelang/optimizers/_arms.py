"""The arms of a bandit over pipelines: number of trainings and loss bounds of each pipeline.

See spacelang/optimizers/README.md, section "BLDS".
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._selector_call import SelectorCall
from spacelang.targets.blds import Pipeline


@dataclass(frozen=True, slots=True)
class LossBounds:
    """An interval for the value of a pipeline; lower is better, so `upper` is the pessimistic end.

    `failed` is true if the latest training of the pipeline failed. A failed pipeline compares worse than every
    successful one, whatever its bounds are.
    """

    lower: float
    upper: float
    failed: bool = False

    def is_surely_better(self, other: "LossBounds") -> bool:
        """Return True if the whole interval lies below the whole `other` interval."""
        return self.upper < other.lower if self.failed == other.failed else other.failed

    def is_better(self, other: "LossBounds") -> bool:
        """Return True if the upper bound is below the upper bound of `other`."""
        return self.upper < other.upper if self.failed == other.failed else other.failed

    def may_be_better(self, other: "LossBounds") -> bool:
        """Return True if another training might show that this pipeline is better.

        A failed pipeline is not trained again to be compared with a success.
        """
        return self.failed <= other.failed and self.lower <= other.upper


TrialValue: TypeAlias = Callable[[Trial], float]
"""A function that returns the value of a trial, the middle of its bounds; lower is better."""


@dataclass(frozen=True, slots=True)
class _Arm:
    """The number of trainings of a pipeline and its bounds after the last one."""

    trained: int
    bounds: LossBounds


class Arms:
    """The training counts and bounds of all pipelines, kept over restarts of the descent.

    Trials of earlier selector calls are reused if the pipeline still has the same configuration. The k-th training of a
    pipeline uses `sizes[k - 1]` rows. Its bounds are `widths[k - 1]` above and below `worth(trial)`.
    """

    def __init__(
        self, turn: SelectorCall[Pipeline], sizes: Sequence[int], widths: Sequence[float], worth: TrialValue
    ) -> None:
        self._turn = turn
        self._sizes = sizes
        self._widths = widths
        self._worth = worth
        self._arms: MutableMapping[Pipeline, _Arm] = {}
        self._lookup: Callable[..., Iterable[Trial]] = turn.recall_trials
        self.trainings = 0
        self.finished = 0
        """How many of the pipelines seen so far are fully trained."""

    def times_trained(self, pipeline: Pipeline) -> int:
        """Return how many times the pipeline was trained; earlier trials are looked up in the memory."""
        arm = self._arms.get(pipeline)
        return self._recall_known_trials(pipeline) if arm is None else arm.trained

    def is_fully_trained(self, pipeline: Pipeline) -> bool:
        """Return True if the pipeline was trained on all rows."""
        return self.times_trained(pipeline) == len(self._sizes)

    def bounds(self, pipeline: Pipeline) -> LossBounds:
        """Return the bounds of a pipeline that was trained; raises KeyError otherwise."""
        return self._arms[pipeline].bounds

    def next_training(self, pipeline: Pipeline) -> Iterator[Pipeline]:
        """Yield the pipeline if it can be trained on another rung (IncreaseAndTrain of the paper).

        The caller trains it and records the trial before taking the next item. Nothing is yielded if the pipeline is
        fully trained.
        """
        if not self.is_fully_trained(pipeline):
            yield pipeline

    def trainings_until(self, pipeline: Pipeline, times: int = 1) -> Iterator[Pipeline]:
        """Yield the pipeline until it was trained `times` times (GetCurrentPerformance of the paper)."""
        while self.times_trained(pipeline) < times:
            yield pipeline

    def request(self, pipeline: Pipeline) -> Request:
        """Return the request for the next training of a pipeline."""
        return self._turn.request(pipeline, self._sizes[self.times_trained(pipeline)])

    def record(self, pipeline: Pipeline, trial: Trial) -> None:
        """Record the trial of a pipeline's next training."""
        self._update_bounds(pipeline, self.times_trained(pipeline), trial)
        self.trainings += 1

    def speculative_copy(self) -> "Arms":
        """Return a copy for speculation: trials recorded in the copy do not reach the original."""
        later = Arms(self._turn, self._sizes, self._widths, self._worth)
        later._arms = ChainMap({}, self._arms)
        later._lookup = self._turn.known_trials
        later.trainings, later.finished = self.trainings, self.finished
        return later

    def _recall_known_trials(self, pipeline: Pipeline) -> int:
        """Load the trials of earlier selector calls at the present configuration, and return their number."""
        times = 0
        for times, trial in enumerate(self._lookup(pipeline, *self._sizes), start=1):
            self._update_bounds(pipeline, times - 1, trial)
        return times

    def _update_bounds(self, pipeline: Pipeline, rung: int, trial: Trial) -> None:
        """Store the bounds that follow from a trial on a rung."""
        worth, width = self._worth(trial), self._widths[rung]
        self._arms[pipeline] = _Arm(rung + 1, LossBounds(worth - width, worth + width, trial.loss is None))
        self.finished += rung + 1 == len(self._sizes)
