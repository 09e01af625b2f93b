"""The committed requests of a search: lazy ones are made, and all wait in a queue, those that share work together."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import mentioned_addresses
from spacelang.ir.search_protocol import LazyRequest
from spacelang.ir.space import Choice, ComputedParameter, Hyperparameter, Node, Product, ProductKind, Space, subtree
from spacelang.ir.trial import Request
from spacelang.ir.walk import computed_parameters
from spacelang.runtime.executors import Job
from spacelang.runtime.history import Key

PrefixKey: TypeAlias = tuple[str, ...]
"""The steps of work of a request, first step first; requests can share the work of a common prefix."""
PrefixKeyFunction: TypeAlias = Callable[[Request], PrefixKey]
"""A function that returns the prefix key of a request. Requests that share a prefix run after each other."""


class AffinityQueue:
    """A queue of the jobs of one batch that no worker has started yet; jobs with equal prefix keys keep their order.

    A worker caches what its own trials can share. So the jobs are sorted by their prefix keys, and each worker goes
    through a contiguous range of them, front to back. A worker starts where it can reuse most of what it has cached, by
    its previous key in `last`, which is updated here; other ranges start far apart. A worker that finishes its range is
    given the later half of the longest remaining range, cut near the middle where neighbours share least. All jobs take
    O(n log n) time.
    """

    def __init__(
        self,
        jobs: Sequence[Job[Request]],
        prefix_key: Callable[[Request], PrefixKey],
        last: MutableMapping[str, PrefixKey] | None = None,
    ) -> None:
        # A single job needs no sorting, and no prefix key unless the caller tracks the last ones.
        is_lone = len(jobs) == 1 and last is None
        keys = [()] if is_lone else [prefix_key(job.work) for job in jobs]
        order = sorted(range(len(jobs)), key=keys.__getitem__)
        self._jobs = [jobs[place] for place in order]
        self._prefix_keys = [keys[place] for place in order]
        shared = (_common_prefix_length(before, after) for before, after in pairwise(self._prefix_keys))
        self._shared_with_previous = [0, *shared]
        """For each job, the length of the prefix that its key shares with the key of the job before."""
        self._last_prefix_keys: MutableMapping[str, PrefixKey] = {} if last is None else last
        self._free = _JobRange(0, len(jobs))
        """The jobs that belong to no worker's range yet."""
        self._ranges: dict[str, _JobRange] = {}
        self._left = len(jobs)

    def __len__(self) -> int:
        return self._left

    def take_job(self, worker: str) -> Job[Request]:
        """Remove and return the next job for a worker; raise IndexError if no job is left."""
        if not self._left:
            raise IndexError("all jobs have been taken")
        job_range = self._ranges.get(worker)
        if not job_range:
            job_range = self._first_range(worker) if job_range is None else self._take_over()
            self._ranges[worker] = job_range
        place = job_range.first
        job_range.first += 1
        self._left -= 1
        self._last_prefix_keys[worker] = self._prefix_keys[place]
        return self._jobs[place]

    def _first_range(self, worker: str) -> "_JobRange":
        """Return the first range of a worker, if possible with jobs that share a prefix with its previous job."""
        known = self._last_prefix_keys.get(worker, ())
        place = bisect_left(self._prefix_keys, known)
        for near in (place, place - 1):
            length = _common_prefix_length(known, self._prefix_keys[near]) if 0 <= near < len(self._prefix_keys) else 0
            # A prefix that all jobs share does not favour any start.
            if length > _common_prefix_length(self._prefix_keys[0], self._prefix_keys[-1]):
                first = bisect_left(self._prefix_keys, known[:length])
                for job_range in (self._free, *self._ranges.values()):
                    if job_range.first <= first < job_range.end:
                        is_worth = self._is_worth_splitting(known, job_range, first)
                        return job_range.split(first if is_worth else job_range.first)
        return self._take_over()

    def _is_worth_splitting(self, known: PrefixKey, job_range: "_JobRange", first: int) -> bool:
        """Return True if starting at index `first` of a range saves more work than coming back to its beginning costs.

        `known` is the prefix key of the worker's previous job.
        """
        if job_range is not self._free or first == job_range.first:
            return True
        start, last = self._prefix_keys[job_range.first], self._prefix_keys[job_range.end - 1]
        gained = _common_prefix_length(known, self._prefix_keys[first]) + _common_prefix_length(last, start)
        return gained >= self._shared_with_previous[first] + _common_prefix_length(known, start)

    def _take_over(self) -> "_JobRange":
        """Return the next range of a worker whose range is finished.

        It consists of the jobs that belong to no range, or else of the later half of another worker's longest range.
        """
        longest = max(self._ranges.values(), key=len, default=self._free)
        if 2 * len(self._free) >= len(longest):
            return self._free.split(self._free.first)
        if self._prefix_keys[longest.first] == self._prefix_keys[longest.end - 1]:
            # All of these jobs have equal keys, so they start in the order in which they were given.
            longest.first += 1
            return _JobRange(longest.first - 1, longest.first)
        return longest.split(self._split_index(longest))

    def _split_index(self, job_range: "_JobRange") -> int:
        """Return the index in the middle half of a range whose job shares the least with the job before."""
        quarter, middle = len(job_range) // 4, (job_range.first + job_range.end + 1) // 2
        places = range(max(job_range.first + quarter, job_range.first + 1), max(job_range.end - quarter, middle + 1))
        return min(places, key=lambda place: (self._shared_with_previous[place], abs(place - middle)))


@dataclass(slots=True)
class _JobRange:
    """The jobs from index `first` up to and excluding `end`."""

    first: int
    end: int

    def __len__(self) -> int:
        return max(self.end - self.first, 0)

    def split(self, place: int) -> "_JobRange":
        rest = _JobRange(place, self.end)
        self.end = place
        return rest


def _common_prefix_length(one: PrefixKey, other: PrefixKey) -> int:
    for length, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return length
    return min(len(one), len(other))


@dataclass(slots=True)
class RequestQueue:
    """A queue of committed requests, taken batch by batch.

    Within a batch, each worker gets requests that share prefixes of their `prefix_key`; without this function they are
    taken in their order.
    """

    prefix_key: PrefixKeyFunction | None = None
    _batches: deque[dict[Key, Request]] = field(default_factory=deque)
    _affinity_queue: AffinityQueue | None = None  # The jobs of the first batch, once one of them was started
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
        """Remove a request; return False if it was not in the queue. Nothing of its batch may have been taken yet."""
        for batch in self._batches:
            if batch.pop(key, None) is not None:
                if not batch:
                    self._batches.remove(batch)
                return True
        return False

    def take_job(self, worker: str, key: Callable[[Request], Key], most: int | None) -> Job[Request] | None:
        """Remove the next request for a worker from the first batch, and return it as a job; None if there is none.

        At most the first `most` requests of a batch are made jobs (all for None), none if that is 0. `key` returns the
        key under which a request was added.
        """
        if not self._batches or most == 0:
            return None
        batch = self._batches[0]
        if self.prefix_key is None:
            job = self.make_job(next(iter(batch.values())))
        else:
            if self._affinity_queue is None or not self._affinity_queue:
                jobs = [self.make_job(each) for each in [*batch.values()][:most]]
                self._affinity_queue = AffinityQueue(jobs, self.prefix_key, self._last_prefix_keys)
            job = self._affinity_queue.take_job(worker)
        del batch[key(job.work)]
        if not batch:
            self._batches.popleft()
            self._affinity_queue = None
        return job

    def make_job(self, request: Request) -> Job[Request]:
        """Return a job, with the next number, for a request."""
        self._jobs += 1
        return Job(self._jobs, request)


FIDELITY_DIGITS: Final = 12  # The digits of a zero-padded fidelity, so that fidelities sort as text in numeric order
_Segment: TypeAlias = "int | tuple[str, dict[str, tuple[_Segment, ...]]]"
"""The index of a step, or the key of a decision among orders with the segments of each possible order."""


class PrefixKeys:
    """The prefix keys of requests over one space, for trials with at most `training_size` training rows.

    The first word of a key is the fidelity, empty for all rows. Each further word has the values of one step.
    """

    def __init__(self, space: Space, training_size: int) -> None:
        self._training_size = training_size
        steps: list[Node] = []
        self._segments = tuple(_step_segments(space.root, steps))
        self._step_words = tuple(map(str, range(len(steps))))
        self._steps_of_key: dict[str, tuple[int, ...]] = {}
        for place, step in enumerate(steps):
            keys = [each.key for each in subtree(step) if isinstance(each, Choice | Hyperparameter)]
            keys += [key for computed, _ in computed_parameters(step) for key in _keys_used_by(computed, space)]
            for key in dict.fromkeys(keys):
                self._steps_of_key[key] = (*self._steps_of_key.get(key, ()), place)

    def key_of(self, request: Request) -> PrefixKey:
        """Return the fidelity and the words of the steps, in the order of the pipeline. Takes microseconds."""
        rows, configuration = request.fidelity, request.configuration
        fidelity = "" if rows is None or rows >= self._training_size else f"{rows:0{FIDELITY_DIGITS}}"
        words = [*self._step_words]
        for key, value in sorted(configuration.view.items()):
            for place in self._steps_of_key.get(key, ()):
                words[place] += f" {key}={value!r}"
        return (fidelity, *(words[place] for place in _chosen_order(self._segments, configuration)))


def _keys_used_by(computed: ComputedParameter, space: Space) -> Iterator[str]:
    """Yield the keys of the decisions and hyperparameters on which a computed parameter depends."""
    for address in mentioned_addresses(computed.expression):
        variable = space.variables[address]
        yield from (space.variables[owner].key for owner, _ in variable.owners)
        yield variable.key


def _step_segments(node: Node, steps: list[Node]) -> Iterator[_Segment]:
    """Yield the segments of a node in order, and append all of its steps to `steps`."""
    match node:
        case Product(kind=ProductKind.SEQUENCE):
            for child in node.steps:
                yield from _step_segments(child, steps)
        case Product(kind=ProductKind.PERMUTATION, children=(Choice() as order, *permuted)):
            parts = {id(child): tuple(_step_segments(child, steps)) for child in permuted}
            orders = {branch.name: node.steps_in_order(branch.name) for branch in order.branches}
            found = {name: tuple(part for each in kept for part in parts[id(each)]) for name, kept in orders.items()}
            yield order.key, found
        case _:
            steps.append(node)
            yield len(steps) - 1


def _chosen_order(parts: tuple[_Segment, ...], configuration: Configuration) -> Iterator[int]:
    for part in parts:
        if isinstance(part, int):
            yield part
        else:
            key, orders = part
            yield from _chosen_order(orders[str(configuration[key])], configuration)


@dataclass(frozen=True, slots=True, eq=False)
class CommittedRequest:
    """A committed request: the `request` to evaluate, and `asked`, the object that the search asked for.

    `asked` is the request itself, or the lazy request that made it; `proposal` is then the number of the lazy request,
    else None.
    """

    asked: Request | LazyRequest
    request: Request
    proposal: int | None = None


@dataclass(slots=True)
class LazyRequestRegistry:
    """The lazy requests of a run, numbered from 1 in the order in which they start.

    The requests in `stored`, which earlier sessions made from lazy requests, are used again instead of being made.
    """

    seed: int
    stored: Mapping[int, Request] = field(default_factory=dict)
    count: int = 0

    def commit(self, asked: Request | LazyRequest) -> CommittedRequest:
        """Commit to a request; make it if it is lazy, and call its `on_start`. Its errors are raised."""
        if isinstance(asked, Request):
            return CommittedRequest(asked, asked)
        from numpy.random import default_rng  # imported here, as few runs without NumPy need it

        self.count += 1
        # Counted from 1, because `seed` and `[seed, 0]` give the same generator.
        request = self.stored.get(self.count) or asked.make(default_rng([self.seed, self.count]))
        if asked.on_start is not None:
            asked.on_start(request)
        return CommittedRequest(asked, request, self.count)
