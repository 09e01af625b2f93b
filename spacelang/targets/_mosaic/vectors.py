"""Configurations as vectors: what a surrogate is fitted to, and the exact way back (ALGORITHMS.md 2.3, 2.6).

A decision has one column, the place of its branch. A hyperparameter has one, a number itself or the place of a value
in its set, and before it another one for the part of its domain where that has several, or where -1 is one of its
values. What is not reached or not active is -1 in all of its columns, and only there is the first of them -1.
Integers that floats do not hold exactly are told by their place in the range, in several columns where it takes more
than 53 bits.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spacelang.ir.codes import EXACT, Array, Codes, code_type, is_exact
from spacelang.ir.columns import Column, Columns
from spacelang.ir.domain import Categorical, Integer, Real, Simple, contains, parts
from spacelang.ir.space import Choice, Hyperparameter, Space

INACTIVE: Final = -1.0


class Vectors:
    """The columns of the vectors of a space: decisions in the order given, then hyperparameters in that of the text."""

    def __init__(self, space: Space, decisions: Sequence[Choice]) -> None:
        self._space = space
        self._decisions = tuple(decisions)
        self._fields: list[_Field] = []
        names = [choice.address for choice in decisions]
        for node in space.hyperparameters:
            self._fields.append(_Field(node, len(names)))
            names.extend(self._fields[-1].names)
        self.names: tuple[str, ...] = tuple(names)
        """What each column is: an address, for the further columns of a hyperparameter with a word behind it."""
        self._plain = _Plain([field for field in self._fields if field.is_plain])

    def encode(self, columns: Columns) -> NDArray[np.float64]:
        """One row a configuration, one column a name."""
        found = np.full((columns.count, len(self.names)), INACTIVE, order="F")
        for place, choice in enumerate(self._decisions):
            if choice.address in columns.decisions:
                found[:, place] = columns.decisions[choice.address]
        for field in self._fields:
            column = columns.hyperparameters.get(field.node.address)
            if column is not None:
                field.write(found, column)
        return found

    def decode(self, vectors: NDArray[np.float64]) -> Columns:
        """The configurations that were encoded, to the last bit."""
        decisions = {choice.address: vectors[:, n].astype(np.int32) for n, choice in enumerate(self._decisions)}
        read = ((field.node.address, field.read(vectors)) for field in self._fields)
        return Columns(self._space, len(vectors), decisions, {a: column for a, column in read if len(column.rows)})

    def scaled(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """The vectors for a surrogate: numbers on the unit interval, logarithms under `log`; the rest stays.

        What is inactive is -1, and nothing else is negative.
        """
        found = vectors.copy(order="K")
        self._plain.scale(vectors, found)
        for field in self._fields:
            if not field.is_plain:
                field.scale(vectors, found)
        return found


class _Field:
    """The columns of one hyperparameter, from column `start` on."""

    def __init__(self, node: Hyperparameter, start: int) -> None:
        self.node = node
        self.parts = parts(node.domain)
        self.start = start
        self._type = code_type(node.domain)
        self._digits = max((_digits_of(part) for part in self.parts), default=1)
        self._is_placed = any(map(_is_placed, self.parts))
        own = isinstance(self.parts[0], Categorical) or self._is_placed
        self._has_part = len(self.parts) > 1 or not (own or not contains(self.parts[0], -1))
        self.last = start + self._has_part + self._digits - 1

    @property
    def names(self) -> Iterator[str]:
        """What its columns are called; the last is the value's."""
        if self._has_part:
            yield f"{self.node.address} (part)"
        for digit in range(self._digits - 1, 0, -1):
            yield f"{self.node.address} (digit {digit})"
        yield self.node.address

    @property
    def is_plain(self) -> bool:
        """Whether its last column is the code of a value in its only part."""
        return len(self.parts) == 1 and not self._is_placed

    @property
    def range(self) -> Real | Integer | None:
        """The range that a plain field's numbers lie in."""
        return None if isinstance(self.parts[0], Categorical) else self.parts[0]

    def write(self, vectors: Array, column: Column) -> None:
        rows, codes = column.rows, column.values.codes
        if self._has_part:
            vectors[rows, self.start] = 0 if column.values.parts is None else column.values.parts
        if not self._is_placed:
            vectors[rows, self.last] = codes
            return
        for place, part in enumerate(self.parts):
            mine = np.arange(len(rows)) if column.values.parts is None else np.flatnonzero(column.values.parts == place)
            for digit, entries in enumerate(_written(part, codes[mine].tolist(), self._digits)):
                vectors[rows[mine], self.last - digit] = entries

    def read(self, vectors: Array) -> Column:
        rows = np.flatnonzero(vectors[:, self.start] != INACTIVE)
        marks = vectors[rows, self.start].astype(np.int8) if len(self.parts) > 1 else None
        if not self._is_placed:
            return Column(rows, Codes(vectors[rows, self.last].astype(self._type), marks))
        codes = np.empty(len(rows), object)
        for place, part in enumerate(self.parts):
            mine = np.arange(len(rows)) if marks is None else np.flatnonzero(marks == place)
            codes[mine] = _read(part, self._entries(vectors, rows[mine]))
        return Column(rows, Codes(codes.astype(self._type, copy=False), marks))

    def scale(self, vectors: Array, found: Array) -> None:
        """Numbers on the unit interval, in the first of their digits; the others are 0."""
        active = vectors[:, self.start] != INACTIVE
        for place, part in enumerate(self.parts):
            rows = np.flatnonzero(active & (vectors[:, self.start] == place) if len(self.parts) > 1 else active)
            if isinstance(part, Categorical) or not len(rows):
                continue
            found[rows, self.last - self._digits + 1 : self.last + 1] = 0
            first = self.last - self._digits + 1
            if _is_placed(part):
                found[rows, first] = [_unit(part, index) for index in _indices(self._entries(vectors, rows))]
            else:
                found[rows, first] = _scaled(vectors[rows, self.last], *_scale_of(part))

    def _entries(self, vectors: Array, rows: Array) -> list[list[float]]:
        """The digits of each row, the first of which counts most."""
        found: list[list[float]] = vectors[rows, self.last - self._digits + 1 : self.last + 1].tolist()
        return found


class _Plain:
    """Fields with a single range, scaled together."""

    def __init__(self, fields: Sequence[_Field]) -> None:
        ranges = [(field, field.range) for field in fields]
        self._groups = [
            (
                np.array([field.last for field, _ in mine], np.intp),
                np.array([field.start for field, _ in mine], np.intp),
                np.array([_scale_of(part)[:2] for _, part in mine]).T,
                log,
            )
            for log in (False, True)
            if (mine := [(field, part) for field, part in ranges if part is not None and part.log is log])
        ]

    def scale(self, vectors: Array, found: Array) -> None:
        for last, first, (lower, upper), log in self._groups:
            active = vectors[:, first] != INACTIVE
            values = np.where(active, vectors[:, last], upper)
            found[:, last] = np.where(active, _scaled(values, lower, upper, log), INACTIVE)


def _scale_of(part: Real | Integer) -> tuple[float, float, bool]:
    return float(part.lower), float(part.upper), part.log


def _scaled(values: Array, lower: Any, upper: Any, log: bool) -> Array:
    """Numbers on the unit interval of their range; 0 in a range of one."""
    if log:
        values, lower, upper = np.log(values), np.log(lower), np.log(upper)
    # In halves, because the width of a range may be larger than any float.
    width = upper / 2 - lower / 2
    found: Array = np.clip((values / 2 - lower / 2) / np.where(width > 0, width, 1), 0.0, 1.0)
    return found


def _is_placed(part: Simple) -> bool:
    """Whether the members of a part are told by their place: integers that floats do not hold exactly."""
    return isinstance(part, Integer) and not is_exact(part)


def _digits_of(part: Simple) -> int:
    return max(1, -(-(part.size - 1).bit_length() // 53)) if isinstance(part, Integer) and _is_placed(part) else 1


def _written(part: Simple, codes: Sequence[Any], digits: int) -> Iterator[list[float]]:
    """The columns of codes, the last digit first."""
    if not (isinstance(part, Integer) and _is_placed(part)):
        yield codes if isinstance(codes, list) else list(codes)
        yield from ([0.0] * len(codes) for _ in range(digits - 1))
        return
    left = [(code - part.lower) // part.step for code in codes]
    for _ in range(digits):
        yield [float(index % EXACT) for index in left]
        left = [index // EXACT for index in left]


def _read(part: Simple, entries: Sequence[Sequence[float]]) -> list[Any]:
    """The codes of rows of digits."""
    if isinstance(part, Integer) and _is_placed(part):
        return [part.at(index) for index in _indices(entries)]
    return [entry[-1] if isinstance(part, Real) else int(entry[-1]) for entry in entries]


def _indices(entries: Sequence[Sequence[float]]) -> Iterator[int]:
    for digits in entries:
        index = 0
        for digit in digits:
            index = index * EXACT + int(digit)
        yield index


def _unit(part: Simple, index: int) -> float:
    assert isinstance(part, Integer)
    if part.upper == part.lower:
        return 0.0
    if part.log:
        return (math.log(part.at(index)) - math.log(part.lower)) / (math.log(part.upper) - math.log(part.lower))
    return part.step * index / (part.upper - part.lower)
