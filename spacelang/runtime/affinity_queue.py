"""A job queue that gives each worker jobs that share work with its previous ones.

A worker caches what its own trials can share. So the jobs are sorted by their prefix keys, and each worker goes through
a contiguous range of them, from front to back. The ranges start far apart. A worker that finishes its range is given
the later half of the longest remaining range, cut near the middle where neighbours share least.
"""

from bisect import bisect_left
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from spacelang.ir.trial import Request
from spacelang.runtime.executors import Job

PrefixKey: TypeAlias = tuple[str, ...]
"""The prefix key of a request: its steps of work, first step first.

Requests whose keys share a prefix can share the work of that prefix.
"""


class AffinityQueue:
    """A queue of the jobs of one batch that no worker has started yet.

    Jobs with equal prefix keys start in the order in which they were given. `last` maps each worker to the prefix key
    of its previous job, as far as known, and is updated here. A worker starts where it can reuse most of what it has
    cached. All jobs together take O(n log n) time.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        route: Callable[[Request], PrefixKey],
        last: MutableMapping[str, PrefixKey] | None = None,
    ) -> None:
        # A single job needs no sorting, and no prefix key unless the caller tracks the last ones.
        is_lone = len(jobs) == 1 and last is None
        routes = [()] if is_lone else [route(job.request) for job in jobs]
        order = sorted(range(len(jobs)), key=routes.__getitem__)
        self._jobs = [jobs[place] for place in order]
        self._prefix_keys = [routes[place] for place in order]
        self._shared_with_previous = [
            0,
            *(_common_prefix_length(before, after) for before, after in pairwise(self._prefix_keys)),
        ]
        """For each job, the length of the prefix that its key shares with the key of the job before."""
        self._last_prefix_keys: MutableMapping[str, PrefixKey] = {} if last is None else last
        self._free = _JobRange(0, len(jobs))
        """The jobs that belong to no worker's range yet."""
        self._ranges: dict[str, _JobRange] = {}
        self._left = len(jobs)

    def __len__(self) -> int:
        return self._left

    def take_job(self, worker: str) -> Job:
        """Remove and return the next job for a worker; raise IndexError if no job is left."""
        if not self._left:
            raise IndexError("all jobs have been taken")
        stretch = self._ranges.get(worker)
        if not stretch:
            stretch = self._first_range(worker) if stretch is None else self._take_over()
            self._ranges[worker] = stretch
        place = stretch.first
        stretch.first += 1
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
                for stretch in (self._free, *self._ranges.values()):
                    if stretch.first <= first < stretch.end:
                        return stretch.split(
                            first if self._is_worth_splitting(known, stretch, first) else stretch.first
                        )
        return self._take_over()

    def _is_worth_splitting(self, known: PrefixKey, stretch: "_JobRange", first: int) -> bool:
        """Return True if starting inside a range saves more work than coming back to its beginning later costs."""
        if stretch is not self._free or first == stretch.first:
            return True
        start, last = self._prefix_keys[stretch.first], self._prefix_keys[stretch.end - 1]
        gained = _common_prefix_length(known, self._prefix_keys[first]) + _common_prefix_length(last, start)
        return gained >= self._shared_with_previous[first] + _common_prefix_length(known, start)

    def _take_over(self) -> "_JobRange":
        """Return the jobs that belong to no range, or a part of the longest range of another worker."""
        longest = max(self._ranges.values(), key=len, default=self._free)
        if 2 * len(self._free) >= len(longest):
            return self._free.split(self._free.first)
        if self._prefix_keys[longest.first] == self._prefix_keys[longest.end - 1]:
            # All of these jobs have equal keys, so they start in the order in which they were given.
            longest.first += 1
            return _JobRange(longest.first - 1, longest.first)
        return longest.split(self._split_index(longest))

    def _split_index(self, stretch: "_JobRange") -> int:
        """Return the index in the middle half of a range whose job shares the least with the job before."""
        quarter, middle = len(stretch) // 4, (stretch.first + stretch.end + 1) // 2
        places = range(max(stretch.first + quarter, stretch.first + 1), max(stretch.end - quarter, middle + 1))
        return min(places, key=lambda place: (self._shared_with_previous[place], abs(place - middle)))


@dataclass(slots=True)
class _JobRange:
    """A contiguous range of jobs, from index `first` up to and excluding `end`."""

    first: int
    end: int

    def __len__(self) -> int:
        return max(self.end - self.first, 0)

    def split(self, place: int) -> "_JobRange":
        """Cut off and return the jobs from index `place` on."""
        rest = _JobRange(place, self.end)
        self.end = place
        return rest


def _common_prefix_length(one: PrefixKey, other: PrefixKey) -> int:
    """Return the length of the common prefix of two prefix keys."""
    for length, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return length
    return min(len(one), len(other))
