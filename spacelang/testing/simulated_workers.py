"""Executors for tests: several workers without processes, whose jobs end in a random order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.deprecation import make_module_getattr
from spacelang.runtime.executors import Evaluate, FinishedJob, Job
from spacelang.runtime.executors.in_process import JobSlots


class ShuffledWorkers(JobSlots):
    """An executor whose workers finish in a random order, drawn from a seed, one or more in each call of `wait`."""

    def __init__(self, evaluate: Evaluate, workers: int, seed: int = 0) -> None:
        super().__init__(f"worker {number}" for number in range(1, workers + 1))
        self._evaluate = evaluate
        self._rng = np.random.default_rng(seed)
        self.max_busy = 0

    def start(self, worker: str, job: Job[Any]) -> None:
        super().start(worker, job)
        self.max_busy = max(self.max_busy, len(self.busy))

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob[Any]]:  # noqa: ARG002
        if not self.busy:
            return ()
        count = int(self._rng.integers(1, len(self.busy) + 1))
        ended = [str(name) for name in self._rng.permutation(sorted(self.busy))[:count]]
        return [FinishedJob(job, self._evaluate(job.work), name) for name in ended for job in [self.busy.pop(name)]]


class RestartingWorkers(SimulatedExecutor):
    """Simulated workers that all restart their jobs, in the order of the requests, after `moment` trials have ended."""

    def __init__(self, evaluate: Evaluate, workers: int, moment: int) -> None:
        super().__init__(evaluate, workers=workers)
        self._trials_until_restart = moment

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob[Any]]:
        """Return the next finished job, as `SimulatedExecutor` does; restart all running jobs at the given moment."""
        finished = super().wait(seconds)
        self._trials_until_restart -= len(finished)
        if self._trials_until_restart == 0:
            going = [(each.worker, each.job) for _, _, each in self._by_end_time]
            going += [(name, job) for _, name, job in self._unevaluated]
            self.stop()
            for worker, job in sorted(going, key=lambda each: each[1].number):
                self.start(worker, job)
        return finished


__getattr__ = make_module_getattr(__name__, {"BegunAnew": "RestartingWorkers", "Shuffled": "ShuffledWorkers"})
