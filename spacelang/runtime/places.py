"""Places for jobs without a process of their own: who is at which job, which is forgotten when it is stopped."""

from collections.abc import Collection, Iterable, Sequence

from spacelang.runtime.executors import Job


class Places:
    """Places by their names, and the jobs in them: all of an executor but what becomes of these, which `wait` tells."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self.busy: dict[str, Job] = {}

    def ready(self) -> None:
        """They always are."""

    @property
    def free(self) -> Sequence[str]:
        """The names of the places without a job."""
        return [name for name in self._names if name not in self.busy]

    def start(self, worker: str, job: Job) -> None:
        """Put a job into a place that is free."""
        assert worker in self.free
        self.busy[worker] = job

    def stop(self, workers: Collection[str] | None = None) -> None:
        """Forget the jobs in these places, or all jobs: nobody is told what becomes of them."""
        for name in self._names if workers is None else workers:
            self.busy.pop(name, None)

    def close(self) -> None:
        """Forget all jobs."""
        self.stop()
