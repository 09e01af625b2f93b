"""By whoever drives the run: jobs are handed out, and what came of them is said from outside, in any order."""

from collections import deque
from collections.abc import Collection, Sequence

from spacelang.ir.trial import Trial
from spacelang.runtime.executors import Finished, Job, UnansweredError
from spacelang.runtime.places import Places


class Elsewhere(Places):
    """So many places for jobs that are evaluated at the same time, none of them by this executor: "1", "2", ..."""

    def __init__(self, places: int = 1) -> None:
        if places < 1:
            raise ValueError(f"{places} trials at a time are none at all")
        super().__init__(map(str, range(1, places + 1)))
        self._fresh: deque[Job] = deque()
        self._finished: list[Finished] = []

    def start(self, worker: str, job: Job) -> None:
        """Have a job handed out."""
        super().start(worker, job)
        self._fresh.append(job)

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:  # noqa: ARG002 - it never waits
        """What was said since; raises UnansweredError where nothing was, and something is to be said."""
        if self.busy and not self._finished:
            raise UnansweredError
        finished, self._finished = self._finished, []
        return finished

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget the jobs in these places, or all: whatever is said of them is not heard."""
        super().stop(workers)
        self._fresh = deque(job for job in self._fresh if self.awaits(job))

    # ---- towards whoever evaluates

    def hand_out(self) -> Job | None:
        """The next job that was not handed out; None where there is none just now."""
        return self._fresh.popleft() if self._fresh else None

    def awaits(self, job: Job) -> bool:
        """Whether anybody wants to know what comes of a job."""
        return any(each is job for each in self.busy.values())

    def end(self, job: Job, trial: Trial) -> None:
        """Say what came of a job that is awaited; `wait` tells it."""
        worker = next(name for name, each in self.busy.items() if each is job)
        del self.busy[worker]
        self._finished.append(Finished(job, trial, worker))
