"""An executor whose jobs are evaluated by the caller: jobs are handed out, and results are reported in any order."""

from collections import deque
from collections.abc import Collection, Sequence

from spacelang.ir.trial import Trial
from spacelang.runtime.executors import FinishedJob, Job, PendingJobsError
from spacelang.runtime.executors.here import JobSlots


class Elsewhere(JobSlots):
    """An executor with a number of slots, named "1", "2", ..., whose jobs the caller evaluates.

    Raises ValueError for fewer than one slot.
    """

    def __init__(self, places: int = 1) -> None:
        if places < 1:
            raise ValueError(f"the number of concurrent trials must be at least 1, not {places}")
        super().__init__(map(str, range(1, places + 1)))
        self._queued: deque[Job] = deque()
        self._finished: list[FinishedJob] = []

    def start(self, worker: str, job: Job) -> None:
        """Put a job into a free slot and queue it to be handed out."""
        super().start(worker, job)
        self._queued.append(job)

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob]:  # noqa: ARG002 - it never waits
        """Return the results that were reported since the last call.

        Raises PendingJobsError if there are none and a job is pending.
        """
        if self.busy and not self._finished:
            raise PendingJobsError
        finished, self._finished = self._finished, []
        return finished

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget the jobs in these slots, or in all slots for None: results reported for them later are ignored."""
        super().stop(workers)
        self._queued = deque(job for job in self._queued if self.is_pending(job))

    # ---- for the caller that evaluates

    def take_next_job(self) -> Job | None:
        """Return the next job that was not handed out yet, None if there is none."""
        return self._queued.popleft() if self._queued else None

    def is_pending(self, job: Job) -> bool:
        """Return True if the job is in a slot, so that its result is still wanted."""
        return any(each is job for each in self.busy.values())

    def report_result(self, job: Job, trial: Trial) -> None:
        """Report the trial of a pending job; `wait` returns it."""
        worker = next(name for name, each in self.busy.items() if each is job)
        del self.busy[worker]
        self._finished.append(FinishedJob(job, trial, worker))
