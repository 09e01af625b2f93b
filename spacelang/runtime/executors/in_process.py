"""An executor that evaluates in the process of the search, and the slots of executors without worker processes."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from spacelang.runtime.executors import Evaluate, FinishedJob, Job

WORKER: Final = "here"


class JobSlots:
    """Named slots and the jobs in them. This is a complete executor except for `wait`."""

    def __init__(self, names: Iterable[str]) -> None:
        self._slots = tuple(names)
        self.busy: dict[str, Job[Any]] = {}

    def ready(self) -> None:
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
