"""The values of one domain as columns of floats, and back."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from spacelang.codings.members import from_unit, nearest, to_unit
from spacelang.draws.codes import Array, Codes, code_type
from spacelang.ir.domain import Categorical, Domain, Simple, parts

Rows: TypeAlias = NDArray[np.float64]
"""One row for each value, or each configuration; one column for each number."""

OfPart: TypeAlias = Callable[[Simple, Array], Array]
"""Numbers to numbers within a part of a domain."""


class Coding:
    """How the values of a domain are written as numbers: `decode(encode(values))` are the values again.

    The place of the part of a union comes first, if it is one, then the value: `columns` has the column of each part.
    Two codings, `selected` and `parted`, say how codes become numbers, and whether parts share a column.
    """

    def __init__(
        self, domain: Domain, number: OfPart, code: OfPart, *, has_part: bool = False, is_apart: bool = False
    ) -> None:
        """`number` makes numbers of codes and `code` codes of numbers; with `has_part` the place comes in any case.

        `is_apart` gives each part with several values a column of its own.
        """
        self.parts = parts(domain)
        self.has_part = has_part or len(self.parts) > 1
        told = [place for place, part in enumerate(self.parts) if not (is_apart and self.has_part and part.size == 1)]
        self.columns = {place: self.has_part + is_apart * turn for turn, place in enumerate(told)}
        self.width = 1 + max(self.columns.values(), default=0)
        self._number, self._code = number, code
        self._selector = Categorical(tuple(range(len(self.parts))))
        self._type = code_type(domain)

    def encode(self, values: Codes) -> Rows:
        """The rows of members of the domain, shape (n, width); NaN in columns of parts that are not taken."""
        found = np.full((len(values), self.width), np.nan, order="F")
        if self.has_part:
            found[:, 0] = 0 if values.parts is None else self._number(self._selector, values.parts)
        for place, column in self.columns.items():
            mine = _rows_of(place, values.parts)
            found[mine, column] = self._number(self.parts[place], values.codes[mine])
        return found

    def decode(self, rows: Rows) -> Codes:
        """The members that rows of the same shape stand for."""
        marks = self._code(self._selector, rows[:, 0]).astype(np.int8) if self.has_part else None
        codes = np.empty(len(rows))
        for place, part in enumerate(self.parts):
            mine = _rows_of(place, marks)
            given = rows[mine, self.columns[place]] if place in self.columns else np.zeros(len(codes[mine]))
            codes[mine] = self._code(part, given)
        return Codes(codes.astype(self._type), marks if len(self.parts) > 1 else None)


def selected(domain: Domain, *, has_part: bool = False) -> Coding:
    """Selector and value, to the last bit: a number is itself, a value of a set its place.

    `decode` raises ValueError where a row stands for no member. With `has_part` there is a selector in any case.
    """
    return Coding(domain, lambda _, codes: codes, _member, has_part=has_part)


def parted(domain: Domain) -> Coding:
    """The same in [0, 1], numbers or their logarithms, with a column for each part of a union that has several values.

    So the values of one part are no neighbours of those of another one. What is between two members is the nearest
    one, the upper one of two; only in columns of parts that are not taken a row may hold NaN.
    """
    return Coding(domain, to_unit, from_unit, is_apart=True)


def _rows_of(place: int, marks: Array | None) -> "Array | slice":
    """The rows whose values lie in a part."""
    return slice(None) if marks is None else np.flatnonzero(marks == place)


def _member(part: Simple, given: Array) -> Array:
    found = nearest(part, given)
    if not (found == given).all():
        raise ValueError("a number stands for no value")
    return found
