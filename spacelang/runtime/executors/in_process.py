"""Executors without worker processes: one evaluates in the process of the search, one lets the caller evaluate."""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from spacelang.deprecation import renamed_attributes
from spacelang.runtime.executors import Evaluate, FinishedJob, Job, UnreportedResultError

WORKER: Final = "here"


@renamed_attributes(ready="wait_until_ready")
class JobSlots:
    """Named slots and the jobs in them. This is a complete executor except for `wait`."""

    def __init__(self, names: Iterable[str]) -> None:
        self._slots = tuple(names)
        self.busy: dict[str, Job[Any]] = {}

    def wait_until_ready(self) -> None:
        """Return at once: slots are always ready."""

    @property
    def free(self) -> Sequence[str]:
        """The names of the slots without a job."""
        return [name for name in self._slots if name not in self.busy]

    def start(self, worker: str, job: Job[Any]) -> None:
        """Put a job into a free slot."""
        assert worker in self.free
        self.busy[worker] = job

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget the jobs in these slots, or all jobs if `workers` is None."""
        for name in self._slots if workers is None else workers:
            self.busy.pop(name, None)

    def close(self) -> None:
        """Forget all jobs."""
        self.stop()


class InProcess(JobSlots):
    """An executor with one worker, which evaluates during `wait`, without any limits; a crash ends the run."""

    def __init__(self, evaluate: Evaluate) -> None:
        super().__init__((WORKER,))
        self._evaluate = evaluate

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob[Any]]:  # noqa: ARG002 - nothing can end it early
        """Evaluate the pending job and return it; raise what the evaluation raises."""
        job = self.busy.pop(WORKER, None)
        return () if job is None else (FinishedJob(job, self._evaluate(job.work), WORKER),)


class CallerEvaluatedExecutor(JobSlots):
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
