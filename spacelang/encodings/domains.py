"""Encodings of the values of one domain as columns of floats."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from spacelang.encodings.simple_domains import from_unit, nearest_codes, to_unit
from spacelang.ir.domain import Categorical, Domain, SimpleDomain, parts
from spacelang.sampling.value_codes import Array, ValueCodes, code_type

EncodedRows: TypeAlias = NDArray[np.float64]
"""Floats with one row for each value or configuration, and one column for each number."""

PartFunction: TypeAlias = Callable[[SimpleDomain, Array], Array]
"""A function that maps an array of numbers to another one, for a given part of a domain."""


class DomainEncoding:
    """An encoding of the values of one domain as rows of floats; `decode(encode(values))` returns the same values.

    If the domain is a union, the first column has the index of the part. The value follows; `columns` maps the index of
    a part to its column. `exact_encoding` and `unit_encoding` create the two kinds of encodings. They differ in how
    codes become numbers, and in whether the parts share a column.
    """

    def __init__(
        self,
        domain: Domain,
        number: PartFunction,
        code: PartFunction,
        *,
        has_part: bool = False,
        is_apart: bool = False,
    ) -> None:
        """Create an encoding of a domain.

        Parameters
        ----------
        domain
            The domain to encode.
        number
            Maps the codes of a part to numbers.
        code
            Maps numbers back to codes of a part.
        has_part
            Adds the column with the index of the part even if the domain is not a union.
        is_apart
            Gives every part with several values a column of its own.
        """
        self.parts = parts(domain)
        self.has_part = has_part or len(self.parts) > 1
        told = [place for place, part in enumerate(self.parts) if not (is_apart and self.has_part and part.size == 1)]
        self.columns = {place: self.has_part + is_apart * turn for turn, place in enumerate(told)}
        self.width = 1 + max(self.columns.values(), default=0)
        self._to_number, self._to_code = number, code
        self._selector = Categorical(tuple(range(len(self.parts))))
        self._type = code_type(domain)

    def encode(self, values: ValueCodes) -> EncodedRows:
        """Return the rows of values of the domain, shape (n, width), with NaN in the columns of all other parts."""
        found = np.full((len(values), self.width), np.nan, order="F")
        if self.has_part:
            found[:, 0] = 0 if values.parts is None else self._to_number(self._selector, values.parts)
        for place, column in self.columns.items():
            mine = _rows_in_part(place, values.parts)
            found[mine, column] = self._to_number(self.parts[place], values.codes[mine])
        return found

    def decode(self, rows: EncodedRows) -> ValueCodes:
        """Return the values that rows of shape (n, width) stand for."""
        marks = self._to_code(self._selector, rows[:, 0]).astype(np.int8) if self.has_part else None
        codes = np.empty(len(rows))
        for place, part in enumerate(self.parts):
            mine = _rows_in_part(place, marks)
            given = rows[mine, self.columns[place]] if place in self.columns else np.zeros(len(codes[mine]))
            codes[mine] = self._to_code(part, given)
        return ValueCodes(codes.astype(self._type), marks if len(self.parts) > 1 else None)


def exact_encoding(domain: Domain, *, has_part: bool = False) -> DomainEncoding:
    """Return the exact encoding: part index and value; a number is itself, a categorical value its index.

    `decode` raises ValueError if a row stands for no value. With `has_part`, the part index is there even if the domain
    is not a union.
    """
    return DomainEncoding(domain, lambda _, codes: codes, _require_member, has_part=has_part)


def unit_encoding(domain: Domain) -> DomainEncoding:
    """Return the encoding in [0, 1]: numbers or their logarithms, with one column per part that has several values.

    Values of different parts of a union are therefore never neighbours. A number between two members decodes to the
    nearest one, the upper one in a tie. Rows may hold NaN only in columns of parts that are not taken.
    """
    return DomainEncoding(domain, to_unit, from_unit, is_apart=True)


def _rows_in_part(place: int, marks: Array | None) -> "Array | slice":
    """Return the rows whose values lie in a part."""
    return slice(None) if marks is None else np.flatnonzero(marks == place)


def _require_member(part: SimpleDomain, given: Array) -> Array:
    found = nearest_codes(part, given)
    if not (found == given).all():
        raise ValueError("a number encodes no value of the domain")
    return found
