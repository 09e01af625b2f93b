"""Job slots for executors that have no worker processes of their own. A stopped job is forgotten."""

from collections.abc import Collection, Iterable, Sequence

from spacelang.runtime.executors import Job


class JobSlots:
    """Named slots and the jobs in them. This is a complete executor except for `wait`."""

    def __init__(self, names: Iterable[str]) -> None:
        self._slots = tuple(names)
        self.busy: dict[str, Job] = {}

    def ready(self) -> None:
        """Return at once: slots are always ready."""

    @property
    def free(self) -> Sequence[str]:
        """The names of the slots without a job."""
        return [name for name in self._slots if name not in self.busy]

    def start(self, worker: str, job: Job) -> None:
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
