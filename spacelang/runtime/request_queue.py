"""A first-in, first-out queue of batches of requests; within a batch, requests that share work are adjacent."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from spacelang.ir.trial import Request
from spacelang.runtime.affinity_queue import AffinityQueue, PrefixKey
from spacelang.runtime.executors import Job
from spacelang.runtime.history import Key

PrefixKeyFunction: TypeAlias = Callable[[Request], PrefixKey]
"""A function that returns the prefix key of a request. Requests that share a prefix run after each other."""


@dataclass(slots=True)
class RequestQueue:
    """A queue of committed requests (those that a search needs) that no worker has started yet.

    The requests that a search makes at once form a batch, and batches are started one after the other. Within a batch,
    each worker receives requests that share work, by their `prefix_key`. Without a `prefix_key`, requests start in
    their own order.
    """

    prefix_key: PrefixKeyFunction | None = None
    _batches: deque[dict[Key, Request]] = field(default_factory=deque)
    _affinity_queue: AffinityQueue | None = None
    """The jobs of the first batch, once one of them was started."""
    _last_prefix_keys: dict[str, PrefixKey] = field(default_factory=dict)
    """The prefix key of each worker's last job, which decides where it starts in the next batch."""
    _jobs: int = 0

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(self, batch: Mapping[Key, Request]) -> None:
        """Append a batch of requests to the queue."""
        if batch:
            self._batches.append(dict(batch))

    def remove(self, key: Key) -> bool:
        """Remove a request; return False if it was not in the queue.

        Nothing of its batch may have been taken yet.
        """
        for batch in self._batches:
            if batch.pop(key, None) is not None:
                if not batch:
                    self._batches.remove(batch)
                return True
        return False

    def take_job(self, worker: str, key: Callable[[Request], Key], most: int | None) -> Job | None:
        """Return the next job for a worker; None if the queue is empty or `most` is 0.

        `most` is the number of requests that may still start, or None. If it is less than the size of the batch, the
        first requests of the batch are chosen.
        """
        if not self._batches or most == 0:
            return None
        batch = self._batches[0]
        if self.prefix_key is None:
            job = self.make_job(next(iter(batch.values())))
        else:
            if self._affinity_queue is None or not self._affinity_queue:
                self._affinity_queue = AffinityQueue(
                    [self.make_job(each) for each in [*batch.values()][:most]], self.prefix_key, self._last_prefix_keys
                )
            job = self._affinity_queue.take_job(worker)
        del batch[key(job.request)]
        if not batch:
            self._batches.popleft()
            self._affinity_queue = None
        return job

    def make_job(self, request: Request) -> Job:
        """Return a job, with the next number, for a request."""
        self._jobs += 1
        return Job(self._jobs, request)
