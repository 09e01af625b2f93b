"""What waits for a worker: requests in the order of asking, of one batch those that share work next to each other."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from spacelang.ir.trial import Request
from spacelang.runtime.agenda import Agenda, Route
from spacelang.runtime.executors import Job
from spacelang.runtime.history import Key

RouteOf: TypeAlias = Callable[[Request], Route]
"""What a request can share with others: those whose routes begin alike are evaluated one after the other."""


@dataclass(slots=True)
class Waiting:
    """Requests that were begun in earnest, and that no worker has yet.

    What was asked for at once is a batch, and batches are begun one after the other. Within a batch each worker goes
    through requests that share work, by their `route`; without one they are begun in their own order.
    """

    route: RouteOf | None = None
    _batches: deque[dict[Key, Request]] = field(default_factory=deque)
    _agenda: Agenda | None = None
    """The jobs of the first batch, once one of it was begun."""
    _last: dict[str, Route] = field(default_factory=dict)
    """What each worker did last, with which it goes on in the next batch."""
    _jobs: int = 0

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(self, batch: Mapping[Key, Request]) -> None:
        """Have a batch wait behind the others."""
        if batch:
            self._batches.append(dict(batch))

    def remove(self, key: Key) -> bool:
        """Whether a request waited, which it does no more; none of its batch may have been taken."""
        for batch in self._batches:
            if batch.pop(key, None) is not None:
                if not batch:
                    self._batches.remove(batch)
                return True
        return False

    def take(self, worker: str, key: Callable[[Request], Key], most: int | None) -> Job | None:
        """The next job for a worker; None where nothing waits, or no more may be begun than `most`, which is 0.

        Where not all of a batch may be begun, those that stand first in it are.
        """
        if not self._batches or most == 0:
            return None
        batch = self._batches[0]
        if self.route is None:
            job = self.job(next(iter(batch.values())))
        else:
            if self._agenda is None or not self._agenda:
                self._agenda = Agenda([self.job(each) for each in [*batch.values()][:most]], self.route, self._last)
            job = self._agenda.take(worker)
        del batch[key(job.request)]
        if not batch:
            self._batches.popleft()
            self._agenda = None
        return job

    def job(self, request: Request) -> Job:
        """A job for a request."""
        self._jobs += 1
        return Job(self._jobs, request)
