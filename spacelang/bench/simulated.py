"""In no time at all: trials whose costs are known, evaluated by workers whose clock is these costs."""

import heapq
from collections.abc import Collection, Sequence
from typing import Final

from spacelang.ir.task import UNLIMITED
from spacelang.ir.trial import Trial
from spacelang.runtime.executors import Evaluate, Finished, Job
from spacelang.runtime.failures import too_long
from spacelang.runtime.places import Places

TICK: Final = 1e-6
"""Seconds by which the clock moves at least where it is waited for: rounding must not leave a rest of a budget."""


class Simulated(Places):
    """`workers` workers that do one job at a time each; a job takes the seconds that its trial says it costs.

    They are called "1", "2" and so on. `clock` is the time of the simulation, and the clock of the run; it stands at
    `now`. Jobs end in the order in which those workers would have ended them; of jobs that end at the same moment, the
    one that was started first.
    """

    def __init__(self, evaluate: Evaluate, *, workers: int = 1, now: float = 0.0) -> None:
        if workers < 1:
            raise ValueError(f"{workers} workers are none at all")
        super().__init__(map(str, range(1, workers + 1)))
        self._evaluate = evaluate
        self._begun: list[tuple[float, str, Job]] = []
        self._ending: list[tuple[float, int, Finished]] = []
        self._started = 0
        self.now = now

    def clock(self) -> float:
        """The time of the simulation, in seconds."""
        return self.now

    def start(self, worker: str, job: Job) -> None:
        """Give a job to a worker that is free."""
        super().start(worker, job)
        self._begun.append((self.now, worker, job))

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:
        """The job that ends next, the clock then being at its end; none where that is more than `seconds` ahead.

        Raises what evaluating raises.
        """
        for began, worker, job in self._begun:
            trial = self._ended(job)
            self._started += 1
            heapq.heappush(self._ending, (began + trial.cost, self._started, Finished(job, trial, worker)))
        self._begun.clear()
        if not self._ending:
            return ()
        if seconds is not None and self._ending[0][0] > self.now + seconds:
            self.now += max(seconds, TICK)
            return ()
        end, _, finished = heapq.heappop(self._ending)
        self.now = max(self.now, end)
        del self.busy[finished.worker]
        return (finished,)

    def _ended(self, job: Job) -> Trial:
        """What comes of a job, where it may take less than it costs: by then it has failed."""
        trial, allowed = self._evaluate(job.request), job.allowed(UNLIMITED)
        return trial if allowed is None or trial.cost <= allowed else too_long(allowed, allowed).of(job.request)

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget the jobs of these workers, or all jobs."""
        super().stop(workers)
        self._begun = [each for each in self._begun if each[1] in self.busy]
        self._ending = [each for each in self._ending if each[2].worker in self.busy]
        heapq.heapify(self._ending)
