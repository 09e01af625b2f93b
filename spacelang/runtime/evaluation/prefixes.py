"""A cache of fitted pipeline prefixes (first steps) and of the rows that they transformed.

The cache lives in the memory of one process and belongs to one data set. A cached result equals, to the last digit,
what fitting again would give. Anything for which this is uncertain is not stored.
"""

import operator
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from spacelang.runtime.chance import CHANCE_BYTES, Chance, global_chance, same_chance
from spacelang.runtime.evaluation.copies import bytes_of, copied
from spacelang.runtime.evaluation.holdings import Holdings, holdings

Key: TypeAlias = Hashable
"""A cache key: the training rows of a prefix and the identities of its steps."""

ENTRY_BYTES: Final = 4_096
"""The estimated bytes of an entry besides its tables; mostly its key."""

HANDLING: Final = 5e-5
"""The seconds that storing a prefix and reusing it once take, besides copying its tables."""

ALLOWANCE: Final = 0.02
"""The share of the fitting time that may be spent on storing prefixes, beyond the seconds that reuse has saved."""

REMEMBERED: Final = 20_000
"""The number of rejected prefixes whose hashes are remembered; a prefix that occurs again is stored."""


@dataclass(slots=True)
class CacheSeconds:
    """The seconds that the cache `saved`, and those `spent` on storing and reading it."""

    saved: float = 0.0
    spent: float = 0.0


@dataclass(slots=True, eq=False)
class FittedStep:
    """A fitted step, with the seconds of fitting it and of transforming the held-out rows.

    `draws` is True if transforming draws from a global random generator, so that its result differs every time.
    """

    fitted: Any
    seconds: float
    held_out_seconds: float = 0.0
    draws: bool = False
    holdings: Holdings | None = None
    after_fit: tuple[Any, ...] = ()
    """The states of the generators inside the step after it was fitted."""
    after_held_out: tuple[Any, ...] = ()
    """The states of these generators after the held-out rows were transformed."""
    users: int = 0
    """The number of cache entries that contain the step."""

    def look_inside(self) -> bool:
        """Compute the memory footprint and the generator states of the step.

        Return False if they cannot be determined.
        """
        if self.holdings is None:
            self.holdings = holdings(self.fitted)
            self.after_fit = self.chance()
        return self.holdings is not None

    def chance(self) -> tuple[Any, ...]:
        """Return the states of the random generators inside the step, as far as its footprint is known."""
        return tuple(_state(each) for each in self.holdings.generators) if self.holdings else ()

    def rewind(self, states: tuple[Any, ...]) -> None:
        """Restore earlier states of the random generators inside the step."""
        for generator, state in zip(self.holdings.generators if self.holdings else (), states, strict=bool(states)):
            _set_state(generator, state)


@dataclass(slots=True, eq=False)
class FittedPrefix:
    """A cached prefix: its fitted steps, and the training and held-out rows that they transformed.

    `held_out` is None until the held-out rows are transformed. `target` is None if the steps do not change the labels.
    `chance` has the global random states before and after the steps, or None if the steps do not draw from them.
    """

    parts: tuple[FittedStep, ...]
    features: Any
    target: Any
    chance: tuple[Chance, Chance] | None
    bytes: int
    held_out: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class FailedPrefix:
    """A cached failure: fitting the step at index `place` raises an error.

    `reason` describes the error. `is_named` is True if the traceback leads through a step, so that the reason names it.
    """

    reason: str
    place: int
    is_named: bool
    seconds: float
    chance: tuple[Chance, Chance] | None
    bytes: int = ENTRY_BYTES
    parts: tuple[FittedStep, ...] = ()


class Prefixes:
    """A least-recently-used cache of fitted prefixes, within `limit` bytes.

    A `thrifty` cache stores only prefixes that, by measured times, save more than storing them costs. Until something
    is reused, it spends no more than a small share of the fitting time. A cache that is not thrifty stores whatever
    fits. Pickling the cache gives an empty one.
    """

    def __init__(self, limit: float, *, thrifty: bool = True, clock: Callable[[], float] = time.perf_counter) -> None:
        self.limit = limit
        self.clock = clock
        self.total = CacheSeconds()
        self.worked = 0.0
        """The seconds spent on fitting and transforming."""
        self.peak = 0
        self._thrifty = thrifty
        self._entries: OrderedDict[Key, FittedPrefix | FailedPrefix] = OrderedDict()
        self._bytes = 0
        self._copied, self._copying = 1e6, 1e-3
        self._missed: OrderedDict[int, None] = OrderedDict()
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the cache as an empty one with the same limit."""
        return _made, (self.limit, self._thrifty, self.clock)

    @property
    def is_on(self) -> bool:
        """True if the cache may store anything."""
        return self.limit > 0

    @property
    def bytes(self) -> int:
        """The current size of the cache in bytes."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, keys: Sequence[Key]) -> FittedPrefix | FailedPrefix | None:
        """Return the longest cached prefix among these keys, or None.

        `keys` are sorted from the shortest prefix to the longest. An entry that draws random numbers counts only if the
        global random state equals the one that it started from.
        """
        with self._lock:
            now: Chance = None
            for depth in range(len(keys), 0, -1):
                found = self._entries.get(keys[depth - 1])
                if found is None:
                    continue
                if found.chance is not None:
                    now = global_chance() if now is None else now
                    if not same_chance(now, found.chance[0]):
                        continue
                # Its own prefixes move behind it: they are worth more, as other prefixes extend them too.
                for key in reversed(keys[:depth]):
                    if key in self._entries:
                        self._entries.move_to_end(key)
                return found
            return None

    def get(self, key: Key, parts: Sequence[FittedStep]) -> FittedPrefix | None:
        """Return the entry of a key if it consists of exactly these step objects, else None."""
        found = self._entries.get(key)
        is_it = isinstance(found, FittedPrefix) and all(map(operator.is_, found.parts, parts))
        return found if is_it else None  # type: ignore[return-value]

    def keep(
        self,
        key: Key,
        parts: Sequence[FittedStep],
        features: Any,
        target: Any,
        chance: tuple[Chance, Chance] | None,
        seconds: float,
    ) -> FittedPrefix | None:
        """Store a fitted prefix and return its entry, or None if it cannot be stored or is not worth it.

        `seconds` is the time that fitting the prefix again would take beyond the stored ones.
        """
        tables = [table for table in (features, target) if table is not None]
        sizes = [bytes_of(table) for table in tables]
        if None in sizes:
            return None
        size = sum(filter(None, sizes)) + ENTRY_BYTES + (2 * CHANCE_BYTES if chance else 0)
        if size > self.limit or not self._is_worth(key, size, seconds) or not all(part.look_inside() for part in parts):
            return None
        if any(part.holdings.overlaps(table) for part in parts if part.holdings for table in tables):
            return None  # a table shares memory with a fitted step: whoever changes it would change the step
        kept = FittedPrefix(
            tuple(parts), self.copy(features), None if target is None else self.copy(target), chance, size
        )
        self._put(key, kept)
        return kept

    def keep_failure(self, key: Key, failure: FailedPrefix) -> None:
        """Store that fitting a prefix fails."""
        self._put(key, failure)

    def keep_held_out(self, key: Key, parts: Sequence[FittedStep], held_out: Any) -> None:
        """Store the transformed held-out rows of a prefix, if the prefix itself is stored."""
        with self._lock:
            entry = self.get(key, parts)
            size = bytes_of(held_out) if entry is not None and entry.held_out is None else None
            if entry is None or size is None or entry.bytes + size > self.limit:
                return
            entry.held_out = self.copy(held_out)
            entry.bytes += size
            self._bytes += size
            self._shrink()

    def forget(self, part: FittedStep) -> None:
        """Remove every prefix that contains the step."""
        with self._lock:
            for key in [key for key, entry in self._entries.items() if part in entry.parts]:
                self._drop(key)

    def copy(self, table: Any) -> Any:
        """Return a copy of a table, and measure how long copying takes."""
        started = self.clock()
        made = copied(table)
        self._copying += self.clock() - started
        self._copied += bytes_of(table) or 0
        return made

    def _is_worth(self, key: Key, size: int, seconds: float) -> bool:
        """Return True if a prefix is worth storing.

        Storing and reusing it once must be cheaper than fitting it again, and within the time that may be spent.
        """
        if not self._thrifty:
            return True
        if seconds < 2 * (HANDLING + 2 * size * self._copying / self._copied):
            return False
        if self.total.spent <= self.total.saved + ALLOWANCE * self.worked:
            return True
        number = hash(key)
        if number in self._missed:
            return True
        self._missed[number] = None
        if len(self._missed) > REMEMBERED:
            self._missed.popitem(last=False)
        return False

    def _put(self, key: Key, entry: FittedPrefix | FailedPrefix) -> None:
        with self._lock:
            if key in self._entries:
                self._drop(key)
            self._entries[key] = entry
            self._bytes += entry.bytes
            for part in entry.parts:
                part.users += 1
                if part.users == 1 and part.holdings is not None:
                    self._bytes += part.holdings.bytes
            self._shrink()

    def _shrink(self) -> None:
        while self._bytes > self.limit:
            self._drop(next(iter(self._entries)))
        self.peak = max(self.peak, self._bytes)

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key)
        self._bytes -= entry.bytes
        for part in entry.parts:
            part.users -= 1
            if part.users == 0 and part.holdings is not None:
                self._bytes -= part.holdings.bytes


def _made(limit: float, thrifty: bool, clock: Callable[[], float]) -> Prefixes:
    return Prefixes(limit, thrifty=thrifty, clock=clock)


def _state(generator: Any) -> Any:
    return generator.get_state(legacy=False) if isinstance(generator, np.random.RandomState) else generator.state


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.state = state
