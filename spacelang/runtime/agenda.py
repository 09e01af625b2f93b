"""The order in which what was asked for at once is evaluated: in a worker, those that share work follow on each other.

Every worker remembers what its own trials can share. So the jobs are sorted by what they share, each worker goes
through a stretch of them from its front, and the stretches begin far apart. Who is done with a stretch is given the
later half of the longest that is left, cut where those on both sides share least.
"""

from bisect import bisect_left
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from spacelang.ir.trial import Request
from spacelang.runtime.executors import Job

Route: TypeAlias = tuple[str, ...]
"""What a request can share with others, the work that is done first standing first.

Requests whose routes begin alike can share that beginning.
"""


class Agenda:
    """The jobs that nobody has begun yet.

    Jobs with the same route are begun in the order in which they are given. `last` has the routes of what each worker
    did last, as far as it is known, and is kept up to date: a worker begins where it can go on with what it remembers.
    All jobs together take time in proportion to n log n.
    """

    def __init__(
        self, jobs: Sequence[Job], route: Callable[[Request], Route], last: MutableMapping[str, Route] | None = None
    ) -> None:
        # A single job has an order by itself, and no route where nobody is told of it.
        is_lone = len(jobs) == 1 and last is None
        routes = [()] if is_lone else [route(job.request) for job in jobs]
        order = sorted(range(len(jobs)), key=routes.__getitem__)
        self._jobs = [jobs[place] for place in order]
        self._routes = [routes[place] for place in order]
        self._shared = [0, *(_shared(before, after) for before, after in pairwise(self._routes))]
        """Of each job, how much of its route it shares with the one before."""
        self._last: MutableMapping[str, Route] = {} if last is None else last
        self._free = _Stretch(0, len(jobs))
        """What no worker goes through yet."""
        self._stretches: dict[str, _Stretch] = {}
        self._left = len(jobs)

    def __len__(self) -> int:
        return self._left

    def take(self, worker: str) -> Job:
        """The next job for a worker; raises IndexError where there is none left."""
        if not self._left:
            raise IndexError("all jobs have been taken")
        stretch = self._stretches.get(worker)
        if not stretch:
            stretch = self._beginning(worker) if stretch is None else self._taken_over()
            self._stretches[worker] = stretch
        place = stretch.first
        stretch.first += 1
        self._left -= 1
        self._last[worker] = self._routes[place]
        return self._jobs[place]

    def _beginning(self, worker: str) -> "_Stretch":
        """The first stretch of a worker: from where it can go on with what it did last, if there is such a place."""
        known = self._last.get(worker, ())
        place = bisect_left(self._routes, known)
        for near in (place, place - 1):
            length = _shared(known, self._routes[near]) if 0 <= near < len(self._routes) else 0
            # What all jobs share is no reason to begin anywhere.
            if length > _shared(self._routes[0], self._routes[-1]):
                first = bisect_left(self._routes, known[:length])
                for stretch in (self._free, *self._stretches.values()):
                    if stretch.first <= first < stretch.end:
                        return stretch.split(first if self._pays(known, stretch, first) else stretch.first)
        return self._taken_over()

    def _pays(self, known: Route, stretch: "_Stretch", first: int) -> bool:
        """Whether to begin in the midst of what nobody goes through is worth the way back to its beginning."""
        if stretch is not self._free or first == stretch.first:
            return True
        start, last = self._routes[stretch.first], self._routes[stretch.end - 1]
        gained = _shared(known, self._routes[first]) + _shared(last, start)
        return gained >= self._shared[first] + _shared(known, start)

    def _taken_over(self) -> "_Stretch":
        """What nobody goes through yet, or a part of the longest stretch of another worker."""
        longest = max(self._stretches.values(), key=len, default=self._free)
        if 2 * len(self._free) >= len(longest):
            return self._free.split(self._free.first)
        if self._routes[longest.first] == self._routes[longest.end - 1]:
            # Nothing tells these jobs apart, so they are begun in the order in which they were given.
            longest.first += 1
            return _Stretch(longest.first - 1, longest.first)
        return longest.split(self._cut(longest))

    def _cut(self, stretch: "_Stretch") -> int:
        """The place in the middle half of a stretch whose job shares the least with the one before."""
        quarter, middle = len(stretch) // 4, (stretch.first + stretch.end + 1) // 2
        places = range(max(stretch.first + quarter, stretch.first + 1), max(stretch.end - quarter, middle + 1))
        return min(places, key=lambda place: (self._shared[place], abs(place - middle)))


@dataclass(slots=True)
class _Stretch:
    """The jobs from `first` up to, without, `end`."""

    first: int
    end: int

    def __len__(self) -> int:
        return max(self.end - self.first, 0)

    def split(self, place: int) -> "_Stretch":
        """The jobs from `place` on, which this one no longer has."""
        rest = _Stretch(place, self.end)
        self.end = place
        return rest


def _shared(one: Route, other: Route) -> int:
    """How many members two routes have in common before they part."""
    for length, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return length
    return min(len(one), len(other))
