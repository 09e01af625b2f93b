"""In the search's own process: for debugging, and where nothing is limited."""

from collections.abc import Sequence
from typing import Final

from spacelang.runtime.executors import Evaluate, Finished
from spacelang.runtime.places import Places

WORKER: Final = "here"


class Here(Places):
    """One worker that evaluates while it is waited for; nothing bounds a trial, whatever its request allows.

    A crash ends the run.
    """

    def __init__(self, evaluate: Evaluate) -> None:
        super().__init__((WORKER,))
        self._evaluate = evaluate

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:  # noqa: ARG002 - nothing can end it early
        """Evaluate the job; raises what evaluating raises."""
        job = self.busy.pop(WORKER, None)
        return () if job is None else (Finished(job, self._evaluate(job.request), WORKER),)
