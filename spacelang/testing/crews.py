"""Executors for tests: several workers without processes, whose jobs end in a random order."""

from collections.abc import Sequence

import numpy as np

from spacelang.bench.simulated import Simulated
from spacelang.runtime.executors import Evaluate, Finished, Job
from spacelang.runtime.places import Places


class Shuffled(Places):
    """An executor whose workers finish in a random order, drawn from a seed.

    Each call of `wait` returns one or more finished jobs, as long as any is running.
    """

    def __init__(self, evaluate: Evaluate, workers: int, seed: int = 0) -> None:
        super().__init__(f"worker {number}" for number in range(1, workers + 1))
        self._evaluate = evaluate
        self._rng = np.random.default_rng(seed)
        self.most_busy = 0

    def start(self, worker: str, job: Job) -> None:
        super().start(worker, job)
        self.most_busy = max(self.most_busy, len(self.busy))

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:  # noqa: ARG002
        if not self.busy:
            return ()
        count = int(self._rng.integers(1, len(self.busy) + 1))
        ended = [str(name) for name in self._rng.permutation(sorted(self.busy))[:count]]
        return [Finished(job, self._evaluate(job.request), name) for name in ended for job in [self.busy.pop(name)]]


class BegunAnew(Simulated):
    """Simulated workers that all restart their jobs, in the order of the requests, after `moment` trials have ended."""

    def __init__(self, evaluate: Evaluate, workers: int, moment: int) -> None:
        super().__init__(evaluate, workers=workers)
        self._left = moment

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:
        """Return the next finished job, as `Simulated` does, and restart all running jobs at the given moment."""
        finished = super().wait(seconds)
        self._left -= len(finished)
        if self._left == 0:
            going = sorted(self._going(), key=lambda each: each[1].number)
            self.stop()
            for worker, job in going:
                self.start(worker, job)
        return finished

    def _going(self) -> list[tuple[str, Job]]:
        return [(each.worker, each.job) for _, _, each in self._ending] + [(name, job) for _, name, job in self._begun]
