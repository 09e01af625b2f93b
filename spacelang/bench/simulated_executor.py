"""An executor in simulated time, for objectives that know what their trials cost."""

import heapq
from collections.abc import Collection, Sequence
from typing import Final

from spacelang.ir.task import UNLIMITED
from spacelang.ir.trial import Trial
from spacelang.runtime.executors import Evaluate, FinishedJob, Job
from spacelang.runtime.failures import timeout_failure
from spacelang.runtime.job_slots import JobSlots

SMALLEST_STEP: Final = 1e-6
"""The smallest step of the clock in seconds while waiting, so that rounding cannot leave a remainder of a budget."""


class SimulatedExecutor(JobSlots):
    """An executor with `workers` simulated workers; a job takes as many seconds as its trial reports as its cost.

    The workers are named "1", "2" and so on, and do one job at a time each. `clock` returns the simulated time, which
    is also the clock of the run. It starts at `now`. Jobs end in the order in which such workers would finish them. Of
    jobs that end at the same time, the one that was started first ends first.
    """

    def __init__(self, evaluate: Evaluate, *, workers: int = 1, now: float = 0.0) -> None:
        if workers < 1:
            raise ValueError(f"`workers` is {workers}, but must be at least 1")
        super().__init__(map(str, range(1, workers + 1)))
        self._evaluate = evaluate
        self._unevaluated: list[tuple[float, str, Job]] = []
        self._by_end_time: list[tuple[float, int, FinishedJob]] = []
        self._started = 0
        self.now = now

    def clock(self) -> float:
        """Return the simulated time in seconds."""
        return self.now

    def start(self, worker: str, job: Job) -> None:
        """Start a job on an idle worker."""
        super().start(worker, job)
        self._unevaluated.append((self.now, worker, job))

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob]:
        """Return the job that ends next and move the clock to its end.

        If that is more than `seconds` ahead, no job is returned, and the clock moves forward by `seconds`. Exceptions
        of the evaluation are raised here.
        """
        for began, worker, job in self._unevaluated:
            trial = self._evaluate_job(job)
            self._started += 1
            heapq.heappush(self._by_end_time, (began + trial.cost, self._started, FinishedJob(job, trial, worker)))
        self._unevaluated.clear()
        if not self._by_end_time:
            return ()
        if seconds is not None and self._by_end_time[0][0] > self.now + seconds:
            self.now += max(seconds, SMALLEST_STEP)
            return ()
        end, _, finished = heapq.heappop(self._by_end_time)
        self.now = max(self.now, end)
        del self.busy[finished.worker]
        return (finished,)

    def _evaluate_job(self, job: Job) -> Trial:
        """Return the trial of a job; it is a timeout if its cost exceeds what the job allows."""
        trial, allowed = self._evaluate(job.request), job.allowed_seconds(UNLIMITED)
        return (
            trial
            if allowed is None or trial.cost <= allowed
            else timeout_failure(allowed, allowed).to_trial(job.request)
        )

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Drop the jobs of these workers, or all jobs."""
        super().stop(workers)
        self._unevaluated = [each for each in self._unevaluated if each[1] in self.busy]
        self._by_end_time = [each for each in self._by_end_time if each[2].worker in self.busy]
        heapq.heapify(self._by_end_time)
