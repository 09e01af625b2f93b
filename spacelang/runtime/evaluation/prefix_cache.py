"""A cache, in one process and for one data set, of fitted pipeline prefixes (first steps) and of their rows.

A cached result equals, to the last digit, what fitting again would give. What is uncertain is not stored.
"""

import operator
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from spacelang.runtime import random_state
from spacelang.runtime.evaluation.identities_and_copies import (
    MemoryFootprint,
    copy_table,
    copyable_table_bytes,
    memory_footprint,
)
from spacelang.runtime.random_state import GlobalRandomState

CacheKey: TypeAlias = Hashable  # A cache key: the training rows of a prefix and the identities of its steps
ENTRY_BYTES: Final = 4_096  # The estimated bytes of an entry besides its tables; mostly its key
OVERHEAD_SECONDS: Final = 5e-5  # The seconds that storing a prefix and reusing it once take, besides copying its tables
MAX_SPENT_SHARE: Final = 0.02
"""The share of the fitting time that may be spent on storing prefixes, beyond the seconds that reuse has saved."""
MAX_REMEMBERED: Final = 20_000
"""The number of rejected prefixes whose hashes are remembered; a prefix that occurs again is stored."""


@dataclass(slots=True)
class CacheTimeAccount:
    """The seconds of fitting that the cache `saved`, and the seconds `spent` on storing and reading entries."""

    saved: float = 0.0
    spent: float = 0.0

    def unshared_seconds(self, cost: float) -> float | None:
        """Return the seconds that a trial of this cost would have taken alone; None if the cache saved it none."""
        return max(cost - self.spent, 0.0) + self.saved if self.saved else None


@dataclass(slots=True, eq=False)
class FittedStep:
    """A fitted step. If `draws_random_numbers`, its transform draws from a global generator and differs every time."""

    fitted: Any
    seconds: float
    held_out_seconds: float = 0.0
    draws_random_numbers: bool = False
    footprint: MemoryFootprint | None = None
    states_after_fit: tuple[Any, ...] = ()  # The states of the generators inside the step after it was fitted
    states_after_held_out: tuple[Any, ...] = ()
    """The states of these generators after the held-out rows were transformed."""
    entry_count: int = 0  # The number of cache entries that contain the step

    def inspect_memory_and_random_states(self) -> bool:
        """Compute the footprint and the generator states; return False if they cannot be determined."""
        if self.footprint is None:
            self.footprint = memory_footprint(self.fitted)
            self.states_after_fit = self.random_states()
        return self.footprint is not None

    def random_states(self) -> tuple[Any, ...]:
        """Return the states of the random generators inside the step, as far as its footprint is known."""
        return tuple(_state(each) for each in self.footprint.generators) if self.footprint else ()

    def restore_random_states(self, states: tuple[Any, ...]) -> None:
        """Restore earlier states of the random generators inside the step."""
        for generator, state in zip(self.footprint.generators if self.footprint else (), states, strict=bool(states)):
            _set_state(generator, state)


@dataclass(slots=True, eq=False)
class FittedPrefix:
    """A cached prefix of a pipeline: its fitted steps, and the rows that come out of them.

    `features` are the training rows, and `target` their labels, None if no step changes them. `held_out` are the
    held-out rows, None until they have been transformed. `random_states` are the global random states before and after
    fitting the steps, or None if the steps do not draw from the global generators.
    """

    steps: tuple[FittedStep, ...]
    features: Any
    target: Any
    random_states: tuple[GlobalRandomState, GlobalRandomState] | None
    bytes: int
    held_out: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class FailedPrefix:
    """A cached failure of a prefix, raised by the step at `step_index`.

    If `names_step`, messages name that step, as the traceback leads through it.
    """

    reason: str
    step_index: int
    names_step: bool
    seconds: float
    random_states: tuple[GlobalRandomState, GlobalRandomState] | None
    bytes: int = ENTRY_BYTES
    steps: tuple[FittedStep, ...] = ()


class PrefixCache:
    """A least-recently-used cache of fitted prefixes, within `limit` bytes; a pickled copy of it is empty.

    A `thrifty` cache stores only prefixes that, by measured times, save more than storing them costs. Until something
    is reused, it spends no more than a small share of the fitting time.
    """

    def __init__(self, limit: float, *, thrifty: bool = True, clock: Callable[[], float] = time.perf_counter) -> None:
        self.limit = limit
        self.clock = clock
        self.total = CacheTimeAccount()
        self.work_seconds = 0.0
        """The seconds spent on fitting and transforming."""
        self.peak = 0
        self._thrifty = thrifty
        self._entries: OrderedDict[CacheKey, FittedPrefix | FailedPrefix] = OrderedDict()
        self.bytes = 0
        self._copied_bytes, self._copy_seconds = 1e6, 1e-3
        self._rejected: OrderedDict[int, None] = OrderedDict()
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(PrefixCache, thrifty=self._thrifty, clock=self.clock), (self.limit,)

    def __len__(self) -> int:
        return len(self._entries)

    def find_longest(self, keys: Sequence[CacheKey]) -> FittedPrefix | FailedPrefix | None:
        """Return the entry of the longest cached prefix among `keys`, which are ordered by length; None without any.

        An entry whose steps draw random numbers only counts if the global random state is the one before them.
        """
        with self._lock:
            now: GlobalRandomState = None
            for depth in range(len(keys), 0, -1):
                found = self._entries.get(keys[depth - 1])
                if found is None:
                    continue
                if found.random_states is not None:
                    now = random_state.get_global_random_state() if now is None else now
                    if not random_state.are_random_states_equal(now, found.random_states[0]):
                        continue
                # Its own prefixes move behind it: they are worth more, as other prefixes extend them too.
                for key in reversed(keys[:depth]):
                    if key in self._entries:
                        self._entries.move_to_end(key)
                return found
            return None

    def get_exact(self, key: CacheKey, parts: Sequence[FittedStep]) -> FittedPrefix | None:
        """Return the entry of a key if it consists of exactly these step objects, else None."""
        found = self._entries.get(key)
        is_it = isinstance(found, FittedPrefix) and all(map(operator.is_, found.steps, parts))
        return found if is_it else None  # type: ignore[return-value]

    def store_if_worthwhile(
        self,
        key: CacheKey,
        parts: Sequence[FittedStep],
        features: Any,
        target: Any,
        random_states: tuple[GlobalRandomState, GlobalRandomState] | None,
        seconds: float,
    ) -> FittedPrefix | None:
        """Store a prefix if that is expected to save time and can be done exactly; return its entry, else None.

        `features` and `target` are the training rows behind its steps `parts`. `seconds` are those of fitting that the
        entry saves, compared with the longest shorter prefix in the cache.
        """
        tables = [table for table in (features, target) if table is not None]
        sizes = [copyable_table_bytes(table) for table in tables]
        if None in sizes:
            return None
        size = (
            sum(filter(None, sizes))
            + ENTRY_BYTES
            + (2 * random_state.GLOBAL_RANDOM_STATE_BYTES if random_states else 0)
        )
        if size > self.limit or not self._is_worth_storing(key, size, seconds):
            return None
        if not all(part.inspect_memory_and_random_states() for part in parts):
            return None
        if any(part.footprint.may_overlap(table) for part in parts if part.footprint for table in tables):
            return None  # a table shares memory with a fitted step: whoever changes it would change the step
        copies = (self.copy_and_time(features), None if target is None else self.copy_and_time(target))
        kept = FittedPrefix(tuple(parts), *copies, random_states, size)
        self.put(key, kept)
        return kept

    def store_held_out(self, key: CacheKey, parts: Sequence[FittedStep], held_out: Any) -> None:
        """Store the transformed held-out rows of a prefix, if the prefix itself is stored."""
        with self._lock:
            entry = self.get_exact(key, parts)
            size = copyable_table_bytes(held_out) if entry is not None and entry.held_out is None else None
            if entry is None or size is None or entry.bytes + size > self.limit:
                return
            entry.held_out = self.copy_and_time(held_out)
            entry.bytes += size
            self.bytes += size
            self._shrink()

    def remove_step(self, part: FittedStep) -> None:
        """Remove every prefix that contains the step."""
        with self._lock:
            for key in [key for key, entry in self._entries.items() if part in entry.steps]:
                self._drop(key)

    def copy_and_time(self, table: Any) -> Any:
        """Return a copy of a table, and measure how long copying takes."""
        started = self.clock()
        made = copy_table(table)
        self._copy_seconds += self.clock() - started
        self._copied_bytes += copyable_table_bytes(table) or 0
        return made

    def _is_worth_storing(self, key: CacheKey, size: int, seconds: float) -> bool:
        """Return True if storing and reusing a prefix once is cheaper than fitting it, which takes `seconds`.

        False also if the cache has spent too much time; a prefix that was rejected for that is accepted the second
        time. A cache that is not thrifty accepts all.
        """
        if not self._thrifty:
            return True
        if seconds < 2 * (OVERHEAD_SECONDS + 2 * size * self._copy_seconds / self._copied_bytes):
            return False
        if self.total.spent <= self.total.saved + MAX_SPENT_SHARE * self.work_seconds:
            return True
        number = hash(key)
        if number in self._rejected:
            return True
        self._rejected[number] = None
        if len(self._rejected) > MAX_REMEMBERED:
            self._rejected.popitem(last=False)
        return False

    def put(self, key: CacheKey, entry: FittedPrefix | FailedPrefix) -> None:
        """Store an entry, however large, as the most recently used one, and drop others until all fit."""
        with self._lock:
            if key in self._entries:
                self._drop(key)
            self._entries[key] = entry
            self.bytes += entry.bytes
            for part in entry.steps:
                part.entry_count += 1
                if part.entry_count == 1 and part.footprint is not None:
                    self.bytes += part.footprint.bytes
            self._shrink()

    def _shrink(self) -> None:
        while self.bytes > self.limit:
            self._drop(next(iter(self._entries)))
        self.peak = max(self.peak, self.bytes)

    def _drop(self, key: CacheKey) -> None:
        entry = self._entries.pop(key)
        self.bytes -= entry.bytes
        for part in entry.steps:
            part.entry_count -= 1
            if part.entry_count == 0 and part.footprint is not None:
                self.bytes -= part.footprint.bytes


def _state(generator: Any) -> Any:
    return generator.get_state(legacy=False) if isinstance(generator, np.random.RandomState) else generator.state


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.state = state
