"""An executor whose jobs are evaluated by the caller: jobs are handed out, and results are reported in any order."""

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from spacelang.runtime.executors import FinishedJob, Job, UnreportedResultError
from spacelang.runtime.executors.in_process import JobSlots


class CallerEvaluated(JobSlots):
    """An executor with slots "1", "2", ..., at least one (else ValueError), whose jobs the caller evaluates."""

    def __init__(self, places: int = 1) -> None:
        if places < 1:
            raise ValueError(f"the number of concurrent trials must be at least 1, not {places}")
        super().__init__(map(str, range(1, places + 1)))
        self._queued: deque[Job[Any]] = deque()
        self._finished: list[FinishedJob[Any]] = []

    def start(self, worker: str, job: Job[Any]) -> None:
        """Put a job into a free slot and queue it to be handed out."""
        super().start(worker, job)
        self._queued.append(job)

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob[Any]]:  # noqa: ARG002 - it never waits
        """Return the results since the last call; raise UnreportedResultError if none came and a job is pending."""
        if self.busy and not self._finished:
            raise UnreportedResultError
        finished, self._finished = self._finished, []
        return finished

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget the jobs in these slots, or in all slots for None: results reported for them later are ignored."""
        super().stop(workers)
        self._queued = deque(job for job in self._queued if self.is_pending(job))

    # ---- for the caller that evaluates

    def take_next_job(self) -> Job[Any] | None:
        """Return the next job that was not handed out yet, None if there is none."""
        return self._queued.popleft() if self._queued else None

    def is_pending(self, job: Job[Any]) -> bool:
        """Return True if the job is in a slot, so that its result is still wanted."""
        return any(each is job for each in self.busy.values())

    def report_result(self, job: Job[Any], result: Any) -> None:
        """Report the result of a pending job; `wait` returns it."""
        worker = next(name for name, each in self.busy.items() if each is job)
        del self.busy[worker]
        self._finished.append(FinishedJob(job, result, worker))
