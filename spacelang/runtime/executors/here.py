"""In the search's own process: for debugging, and where nothing is limited."""

from collections.abc import Collection, Sequence
from typing import Final

from spacelang.runtime.executors import Evaluate, Finished, Job

WORKER: Final = "here"


class Here:
    """One worker that evaluates while it is waited for; nothing bounds a trial, whatever its request allows.

    A crash ends the run.
    """

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._job: Job | None = None

    def ready(self) -> None:
        """It always is."""

    @property
    def free(self) -> Sequence[str]:
        """The one worker, unless it has a job."""
        return () if self._job else (WORKER,)

    def start(self, worker: str, job: Job) -> None:
        """Keep the job until it is waited for."""
        assert worker == WORKER
        assert self._job is None
        self._job = job

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:  # noqa: ARG002 - nothing can end it early
        """Evaluate the job; raises what evaluating raises."""
        job, self._job = self._job, None
        return () if job is None else (Finished(job, self._evaluate(job.request), WORKER),)

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget a job that was not begun."""
        if workers is None or WORKER in workers:
            self._job = None

    def close(self) -> None:
        """Forget it, too."""
        self._job = None
