"""Vectorized weighted sampling of states, exact for integer weights of any size."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod

import numpy as np
from numpy.random import Generator

from spacelang.sampling.independent_sampling import WORD_LIMIT, random_integer_below
from spacelang.sampling.value_codes import Array, smallest_integer_dtype
from spacelang.solver.bucket_elimination import EliminatedVariable, Elimination, State


class WeightedSampler:
    """A sampler that draws states with probabilities proportional to their weights."""

    def __init__(self, weights: Mapping[State, float]) -> None:
        lowest, highest = min(weights), max(weights)
        self.states = np.array(list(weights), smallest_integer_dtype(lowest, highest))
        sums = list(accumulate(weights.values()))
        self._total = sums[-1]
        self._is_uniform = all(weight == sums[0] for weight in weights.values())
        self._sums: Sequence[float] = sums
        self._rounded_sums = self._make_rounded_sums()

    def _make_rounded_sums(self) -> Array:
        if not isinstance(self._total, int):
            return np.array([float(each / self._total) for each in self._sums[:-1]])
        if self._total < WORD_LIMIT:
            return np.array(self._sums[:-1], np.int64)
        return np.array([each * WORD_LIMIT // self._total for each in self._sums[:-1]], np.int64)

    def draw(self, count: int, rng: Generator) -> Array:
        """Return `count` independent states, drawn in proportion to their weights."""
        if len(self.states) == 1:
            return np.full(count, self.states[0])
        if self._is_uniform:
            return self.states[rng.integers(len(self.states), size=count)]
        if not isinstance(self._total, int):
            return self.states[np.searchsorted(self._rounded_sums, rng.random(count), "right")]
        if self._total < WORD_LIMIT:
            return self.states[np.searchsorted(self._rounded_sums, rng.integers(self._total, size=count), "right")]
        return self.states[self._draw_from_large_total(count, rng)]

    def _draw_from_large_total(self, count: int, rng: Generator) -> Array:
        """Return the indices of `count` states by 63 bits of a random fraction of the total, and more if ambiguous."""
        bits = rng.integers(WORD_LIMIT, size=count, dtype=np.int64)
        places = np.searchsorted(self._rounded_sums, bits, "right")
        for row in np.flatnonzero(np.isin(bits, self._rounded_sums)).tolist():
            places[row] = self._resolve_ambiguous(int(bits[row]), rng)
        return places

    def _resolve_ambiguous(self, numerator: int, rng: Generator) -> int:
        """Return the index of the state for a fraction that starts with 63 given bits; further bits are drawn."""
        denominator = WORD_LIMIT
        while True:
            lower, upper = numerator * self._total, (numerator + 1) * self._total
            place = next(place for place, each in enumerate(self._sums) if lower < each * denominator)
            if upper <= self._sums[place] * denominator:
                return place
            numerator = numerator * WORD_LIMIT + random_integer_below(WORD_LIMIT, rng)
            denominator *= WORD_LIMIT


class JointWeightedSampler:
    """A sampler of joint states of an elimination; the variables in `left_out`, eliminated first, are not drawn."""

    def __init__(self, elimination: Elimination, left_out: frozenset[str] = frozenset()) -> None:
        self._tables = [
            _ConditionalSampler(bucket)
            for bucket in reversed(elimination.eliminated)
            if bucket.variable not in left_out
        ]

    def draw(self, count: int, rng: Generator) -> dict[str, Array]:
        """Return for each variable an array of `count` states; the entries are independent of each other."""
        drawn: dict[str, Array] = {}
        for table in self._tables:
            drawn[table.variable] = table.draw(drawn, count, rng)
        return drawn


class _ConditionalSampler:
    """The weighted samplers of one variable, one for each joint state of the variables that it depends on."""

    def __init__(self, bucket: EliminatedVariable) -> None:
        self.variable = bucket.variable
        first, *_ = bucket.weights
        # A variable with the same state in all joint states tells nothing.
        places = [place for place, state in enumerate(first) if any(joint[place] != state for joint in bucket.weights)]
        self._separator = [bucket.separator[place] for place in places]
        self._sizes = [max(joint[place] for joint in bucket.weights) + 2 for place in places]
        self._samplers = {
            joint_state_key([joint[place] for place in places], self._sizes): WeightedSampler(weights)
            for joint, weights in bucket.weights.items()
        }
        self._type = np.result_type(*(lottery.states.dtype for lottery in self._samplers.values()))

    def draw(self, drawn: Mapping[str, Array], count: int, rng: Generator) -> Array:
        if not self._separator:
            return self._samplers[0].draw(count, rng)
        found = np.empty(count, self._type)
        for key, rows in group_rows_by_state([drawn[name] for name in self._separator], self._sizes):
            found[rows] = self._samplers[key].draw(len(rows), rng)
        return found


def joint_state_key(joint: Sequence[State], sizes: Sequence[int]) -> int:
    """Return an integer that identifies a joint state, in mixed radix; states lie between -1 and size - 2."""
    key = 0
    for state, size in zip(joint, sizes, strict=True):
        key = key * size + state + 1
    return key


def group_rows_by_state(states: Sequence[Array], sizes: Sequence[int]) -> Iterator[tuple[int, Array]]:
    """Yield the rows grouped by their joint state: the `joint_state_key` and an array of rows."""
    count = len(states[0])
    if count == 1:
        yield joint_state_key([int(column[0]) for column in states], sizes), np.zeros(1, np.intp)
        return
    keys = np.zeros(count, smallest_integer_dtype(0, max(prod(sizes), 2)))
    for column, each in zip(states, sizes, strict=True):
        keys = keys * each + (column.astype(keys.dtype) + 1)
    first = int(keys[0]) if count else 0
    if (keys == first).all():
        if count:
            yield first, np.arange(count)
        return
    order = np.argsort(keys, kind="stable")  # by radix where the keys are small
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), count], strict=True):
        yield int(ordered[start]), order[start:end]
