"""An executor that evaluates in the process of the search: for debugging, and without limits."""

from collections.abc import Sequence
from typing import Final

from spacelang.runtime.executors import Evaluate, FinishedJob
from spacelang.runtime.job_slots import JobSlots

WORKER: Final = "here"


class Here(JobSlots):
    """An executor with one worker, which evaluates its job during `wait`.

    It enforces no limits, not even those of a request. A crash of a trial ends the run.
    """

    def __init__(self, evaluate: Evaluate) -> None:
        super().__init__((WORKER,))
        self._evaluate = evaluate

    def wait(self, seconds: float | None = None) -> Sequence[FinishedJob]:  # noqa: ARG002 - nothing can end it early
        """Evaluate the pending job and return it; raise what the evaluation raises."""
        job = self.busy.pop(WORKER, None)
        return () if job is None else (FinishedJob(job, self._evaluate(job.request), WORKER),)
