"""The values of one domain as columns of floats, and back."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spacelang.codings.members import from_unit, nearest, to_unit
from spacelang.draws.codes import Array, Codes, code_type
from spacelang.ir.domain import Categorical, Domain, Simple, parts

Rows: TypeAlias = NDArray[np.float64]
"""One row for each value, or each configuration; one column for each number."""

_OfPart: TypeAlias = Callable[[Simple, Array], Array]
"""Numbers to numbers within a part of a domain."""


class Coding(Protocol):
    """How the values of a domain are written as numbers: `decode(encode(values))` are the values again."""

    @property
    def width(self) -> int:
        """How many columns there are."""
        ...

    def encode(self, values: Codes) -> Rows:
        """The rows of members of the domain, shape (n, width)."""
        ...

    def decode(self, rows: Rows) -> Codes:
        """The members that rows of the same shape stand for."""
        ...


class Selected:
    """Selector and value: the place of the part of a union, if it is one, and before all the value, to the last bit.

    A number is itself, a value of a set its place. With `marked` there is a column for the part in any case.
    """

    def __init__(self, domain: Domain, *, marked: bool = False) -> None:
        self.parts = parts(domain)
        self.has_part = marked or len(self.parts) > 1
        self._selector = _places(len(self.parts))
        self._type = code_type(domain)

    @property
    def width(self) -> int:
        """One column for the value, and one for the part."""
        return 1 + self.has_part

    def encode(self, values: Codes) -> Rows:
        """The rows of members of the domain, shape (n, width)."""
        found = np.zeros((len(values), self.width), order="F")
        if values.parts is not None:
            found[:, 0] = values.parts
        found[:, -1] = values.codes
        return found

    def decode(self, rows: Rows) -> Codes:
        """The members that rows stand for; raises ValueError where one stands for none."""
        marks = _member(self._selector, rows[:, 0]).astype(np.int8) if self.has_part else None
        codes = _by_part(self.parts, marks, rows[:, -1], _member)
        return Codes(codes.astype(self._type), marks if len(self.parts) > 1 else None)


class Units:
    """The same in [0, 1]: places of parts and of values, and numbers or their logarithms; every point is a member's.

    What is between two members is the nearest one, the upper one of two.
    """

    def __init__(self, domain: Domain) -> None:
        self.parts = parts(domain)
        self._selector = _places(len(self.parts))
        self._type = code_type(domain)

    @property
    def width(self) -> int:
        """One column for the value, and before it one for the part of a union."""
        return 1 + (len(self.parts) > 1)

    def encode(self, values: Codes) -> Rows:
        """The rows of members of the domain, shape (n, width)."""
        found = np.empty((len(values), self.width), order="F")
        if values.parts is not None:
            found[:, 0] = to_unit(self._selector, values.parts)
        found[:, -1] = _by_part(self.parts, values.parts, values.codes, to_unit)
        return found

    def decode(self, rows: Rows) -> Codes:
        """The members nearest to rows, whatever they hold but NaN."""
        marks = None if len(self.parts) == 1 else from_unit(self._selector, rows[:, 0]).astype(np.int8)
        return Codes(_by_part(self.parts, marks, rows[:, -1], from_unit).astype(self._type), marks)


class Parted:
    """The same with a column for each part of a union that has several values: the columns of parts not taken miss it.

    So the values of one part are no neighbours of those of another one. What is not a union is as `Units` has it.
    """

    def __init__(self, domain: Domain) -> None:
        self.parts = parts(domain)
        self._selector = _places(len(self.parts))
        self._type = code_type(domain)
        several = [place for place, part in enumerate(self.parts) if part.size != 1 or len(self.parts) == 1]
        self.columns = {place: number + (len(self.parts) > 1) for number, place in enumerate(several)}
        """The column of each part that has one, by its place."""

    @property
    def width(self) -> int:
        """How many columns there are; the first one of a union says which part is taken."""
        return len(self.columns) + (len(self.parts) > 1)

    def encode(self, values: Codes) -> Rows:
        """The rows of members of the domain, shape (n, width); NaN in the columns of parts that are not taken."""
        found = np.full((len(values), self.width), np.nan, order="F")
        if values.parts is not None:
            found[:, 0] = to_unit(self._selector, values.parts)
        for place, column in self.columns.items():
            mine = np.arange(len(values)) if values.parts is None else np.flatnonzero(values.parts == place)
            found[mine, column] = to_unit(self.parts[place], values.codes[mine])
        return found

    def decode(self, rows: Rows) -> Codes:
        """The members nearest to rows, whatever they hold but NaN in the column of the part that is taken."""
        marks = None if len(self.parts) == 1 else from_unit(self._selector, rows[:, 0]).astype(np.int8)
        given = np.zeros(len(rows))
        for place, column in self.columns.items():
            mine = np.arange(len(rows)) if marks is None else np.flatnonzero(marks == place)
            given[mine] = rows[mine, column]
        return Codes(_by_part(self.parts, marks, given, from_unit).astype(self._type), marks)


class OneHot:
    """A column for each value of a set, 1 where it is taken and else 0, and one for the place of a number in [0, 1].

    A range beside other parts of a union has a column of its own that says whether it is taken.
    """

    def __init__(self, domain: Domain) -> None:
        self.parts = parts(domain)
        self._type = code_type(domain)
        told = [(place, code) for place, part in enumerate(self.parts) for code in self._told(part)]
        self._marks = np.array([place for place, _ in told], np.int8)
        self._codes = np.array([code for _, code in told], float)
        """For each column that says what is taken its part, and the code of its value: NaN for a range."""
        ranges = [place for place, part in enumerate(self.parts) if not isinstance(part, Categorical)]
        self._columns = {place: len(told) + number for number, place in enumerate(ranges)}

    def _told(self, part: Simple) -> Iterator[float]:
        if isinstance(part, Categorical):
            yield from range(part.size)
        elif len(self.parts) > 1:
            yield np.nan

    @property
    def width(self) -> int:
        """How many columns there are: first those that say what is taken, then the places of numbers."""
        return len(self._marks) + len(self._columns)

    def encode(self, values: Codes) -> Rows:
        """The rows of members of the domain, shape (n, width)."""
        found = np.zeros((len(values), self.width), order="F")
        for place, part in enumerate(self.parts):
            mine = np.arange(len(values)) if values.parts is None else np.flatnonzero(values.parts == place)
            codes = values.codes[mine].astype(float)
            if isinstance(part, Categorical):
                found[mine, np.searchsorted(self._marks, place) + codes.astype(int)] = 1
                continue
            if len(self.parts) > 1:
                found[mine, np.searchsorted(self._marks, place)] = 1
            found[mine, self._columns[place]] = to_unit(part, codes)
        return found

    def decode(self, rows: Rows) -> Codes:
        """The members of the largest numbers among those that say what is taken, and nearest to the places."""
        if not len(self._marks):
            return Codes(from_unit(self.parts[0], rows[:, 0]).astype(self._type))
        taken = rows[:, : len(self._marks)].argmax(axis=1)
        marks, codes = self._marks[taken], self._codes[taken]
        for place, column in self._columns.items():
            mine = np.flatnonzero(marks == place)
            codes[mine] = from_unit(self.parts[place], rows[mine, column])
        return Codes(codes.astype(self._type), marks if len(self.parts) > 1 else None)


def _by_part(several: tuple[Simple, ...], marks: Array | None, given: Array, function: _OfPart) -> Array:
    """What a function of a part and of numbers makes of the numbers that lie in each part."""
    if marks is None or len(several) == 1:
        return function(several[0], given)
    found = np.empty(len(given))
    for place, part in enumerate(several):
        mine = np.flatnonzero(marks == place)
        found[mine] = function(part, given[mine])
    return found


def _member(part: Simple, given: Array) -> Array:
    found = nearest(part, given)
    if not (found == given).all():
        raise ValueError("a number stands for no value")
    return found


def _places(count: int) -> Categorical:
    return Categorical(tuple(range(count)))
