"""By whoever drives the run: jobs are handed out, and what came of them is said from outside, in any order."""

from collections import deque
from collections.abc import Collection, Sequence

from spacelang.ir.trial import Trial
from spacelang.runtime.executors import Finished, Job, UnansweredError


class Elsewhere:
    """So many places for jobs that are evaluated at the same time, none of them by this executor."""

    def __init__(self, places: int = 1) -> None:
        if places < 1:
            raise ValueError(f"{places} trials at a time are none at all")
        self._names = tuple(map(str, range(1, places + 1)))
        self._out: dict[str, Job] = {}
        self._fresh: deque[Job] = deque()
        self._finished: list[Finished] = []

    def ready(self) -> None:
        """It always is."""

    @property
    def free(self) -> Sequence[str]:
        """The names of the places without a job: "1", "2" and so on."""
        return [name for name in self._names if name not in self._out]

    def start(self, worker: str, job: Job) -> None:
        """Have a job handed out."""
        assert worker in self.free
        self._out[worker] = job
        self._fresh.append(job)

    def wait(self, seconds: float | None = None) -> Sequence[Finished]:  # noqa: ARG002 - it never waits
        """What was said since; raises UnansweredError where nothing was, and something is to be said."""
        if self._out and not self._finished:
            raise UnansweredError
        finished, self._finished = self._finished, []
        return finished

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget the jobs in these places, or all: whatever is said of them is not heard."""
        for name in self._names if workers is None else workers:
            self._out.pop(name, None)
        self._fresh = deque(job for job in self._fresh if self.awaits(job))

    def close(self) -> None:
        """Forget all jobs."""
        self.stop()

    # ---- towards whoever evaluates

    def hand_out(self) -> Job | None:
        """The next job that was not handed out; None where there is none just now."""
        return self._fresh.popleft() if self._fresh else None

    def awaits(self, job: Job) -> bool:
        """Whether anybody wants to know what comes of a job."""
        return any(each is job for each in self._out.values())

    def end(self, job: Job, trial: Trial) -> None:
        """Say what came of a job that is awaited; `wait` tells it."""
        worker = next(name for name, each in self._out.items() if each is job)
        del self._out[worker]
        self._finished.append(Finished(job, trial, worker))
