"""Prefixes: the first steps of pipelines, fitted, kept with what they make of the data for others that share them.

The cache lives in the memory of one process and belongs to one data set. What is found in it equals, to the last digit,
what fitting again would give; whatever that cannot be said of is not kept.
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
"""What a prefix is: the rows that it is fitted on, and the identities of its steps."""

ENTRY_BYTES: Final = 4_096
"""What an entry takes beside its tables: its key above all."""

HANDLING: Final = 5e-5
"""Seconds that keeping a prefix and taking it again cost beside the copies."""

ALLOWANCE: Final = 0.02
"""The share of the time of trials that may be spent on keeping what nobody may ever ask for."""

REMEMBERED: Final = 20_000
"""How many prefixes that were not kept are known by their hash, so that they are kept the next time."""


@dataclass(slots=True)
class CacheSeconds:
    """Seconds: `saved` by what a trial took from the cache, and `spent` on keeping and taking."""

    saved: float = 0.0
    spent: float = 0.0


@dataclass(slots=True, eq=False)
class FittedStep:
    """A fitted step. Its seconds are those of fitting and of transforming the held-out rows.

    `draws` says that transforming draws from a global generator, so that what comes out is another thing every time.
    """

    fitted: Any
    seconds: float
    held_out_seconds: float = 0.0
    draws: bool = False
    holdings: Holdings | None = None
    after_fit: tuple[Any, ...] = ()
    """The states of the generators that the step holds itself."""
    after_held_out: tuple[Any, ...] = ()
    users: int = 0
    """How many entries have it."""

    def look_inside(self) -> bool:
        """Find out what the step holds; False where that cannot be known."""
        if self.holdings is None:
            self.holdings = holdings(self.fitted)
            self.after_fit = self.chance()
        return self.holdings is not None

    def chance(self) -> tuple[Any, ...]:
        """The states of the generators that the step holds, as far as it was looked into."""
        return tuple(_state(each) for each in self.holdings.generators) if self.holdings else ()

    def rewind(self, states: tuple[Any, ...]) -> None:
        """Put the generators that the step holds back into earlier states."""
        for generator, state in zip(self.holdings.generators if self.holdings else (), states, strict=bool(states)):
            _set_state(generator, state)


@dataclass(slots=True, eq=False)
class FittedPrefix:
    """A fitted prefix: its steps, what it makes of the training rows, and of the held-out ones once that is known.

    `target` is None where the steps leave the labels as they are. `chance` has the states of the global generators
    before and after the steps, None where they do not draw from it.
    """

    parts: tuple[FittedStep, ...]
    features: Any
    target: Any
    chance: tuple[Chance, Chance] | None
    bytes: int
    held_out: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class FailedPrefix:
    """A prefix whose last step cannot be fitted, the one at `place`; `is_named` says that the traceback shows it."""

    reason: str
    place: int
    is_named: bool
    seconds: float
    chance: tuple[Chance, Chance] | None
    bytes: int = ENTRY_BYTES
    parts: tuple[FittedStep, ...] = ()


class Prefixes:
    """The prefixes that are kept, within `limit` bytes; those that have not been used for longest go first.

    A `thrifty` cache keeps what saves more than keeping it costs, by the time that was measured, and as long as
    nothing of it was ever asked for again it spends no more than a small share of the time of the trials; another one
    keeps all it can. In another process it is empty.
    """

    def __init__(self, limit: float, *, thrifty: bool = True, clock: Callable[[], float] = time.perf_counter) -> None:
        self.limit = limit
        self.clock = clock
        self.total = CacheSeconds()
        self.worked = 0.0
        """The seconds that went into fitting and transforming."""
        self.peak = 0
        self._thrifty = thrifty
        self._entries: OrderedDict[Key, FittedPrefix | FailedPrefix] = OrderedDict()
        self._bytes = 0
        self._copied, self._copying = 1e6, 1e-3
        self._missed: OrderedDict[int, None] = OrderedDict()
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """An empty cache with the same limit."""
        return _made, (self.limit, self._thrifty, self.clock)

    @property
    def is_on(self) -> bool:
        """Whether anything can be kept."""
        return self.limit > 0

    @property
    def bytes(self) -> int:
        """The bytes that are kept now."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, keys: Sequence[Key]) -> FittedPrefix | FailedPrefix | None:
        """The longest of these prefixes, shorter ones first, that is kept for the present state of chance."""
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
                # What it goes on from is used with it, and worth more: it goes on to other prefixes too.
                for key in reversed(keys[:depth]):
                    if key in self._entries:
                        self._entries.move_to_end(key)
                return found
            return None

    def get(self, key: Key, parts: Sequence[FittedStep]) -> FittedPrefix | None:
        """The entry of a prefix that consists of these very parts, if there is one."""
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
        """Keep a fitted prefix, whose loss would cost `seconds` more; None where that is impossible or not worth it."""
        tables = [table for table in (features, target) if table is not None]
        sizes = [bytes_of(table) for table in tables]
        if None in sizes:
            return None
        size = sum(filter(None, sizes)) + ENTRY_BYTES + (2 * CHANCE_BYTES if chance else 0)
        if size > self.limit or not self._is_worth(key, size, seconds) or not all(part.look_inside() for part in parts):
            return None
        if any(part.holdings.overlaps(table) for part in parts if part.holdings for table in tables):
            return None  # who is given the rows could change a fitted step with them
        kept = FittedPrefix(
            tuple(parts), self.copy(features), None if target is None else self.copy(target), chance, size
        )
        self._put(key, kept)
        return kept

    def keep_failure(self, key: Key, failure: FailedPrefix) -> None:
        """Keep that a prefix fails."""
        self._put(key, failure)

    def keep_held_out(self, key: Key, parts: Sequence[FittedStep], held_out: Any) -> None:
        """Keep what a prefix makes of the held-out rows, where the prefix itself is kept."""
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
        """Drop every prefix with a step."""
        with self._lock:
            for key in [key for key, entry in self._entries.items() if part in entry.parts]:
                self._drop(key)

    def copy(self, table: Any) -> Any:
        """A copy of a table; how long that takes is taken note of."""
        started = self.clock()
        made = copied(table)
        self._copying += self.clock() - started
        self._copied += bytes_of(table) or 0
        return made

    def _is_worth(self, key: Key, size: int, seconds: float) -> bool:
        """Whether keeping a prefix and taking it once costs less than fitting it again, and may be spent."""
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
