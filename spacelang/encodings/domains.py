"""Encodings of the values of one domain as columns of floats, and the limits of floats."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, affine_integer_coefficients, parts
from spacelang.ir.space import Hyperparameter, Space
from spacelang.sampling.unit_scale import UnitScale, unit_scale
from spacelang.sampling.value_codes import (
    EXACT_INTEGER_LIMIT,
    Array,
    ValueCodes,
    code_type,
    codes_at,
    is_exact_as_floats,
)

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


MAX_EXACT_STEPS: Final = 2**50
"""If all members of a grid lie within this many steps of 0, rounding changes an index by less than a quarter."""


def round_half_up(numbers: Array) -> Array:
    """Return the nearest integers as floats, the upper one in a tie."""
    given = np.asarray(numbers, float)
    below = np.floor(given)
    return np.asarray(below + (given - below >= 0.5))  # adding 0.5 to a large float may round up to the next integer


def nearest_index(part: SimpleDomain, codes: Array) -> Array:
    """Return the indices of the members of a finite domain that are nearest to the given codes.

    Codes outside the range give indices outside it.
    """
    match part:
        case Categorical():
            return round_half_up(codes)
        case Grid(is_integral=True):
            return round_half_up((np.asarray(codes, float) - part.lower) / part.step)
        case Grid():
            return _float_grid_index(part, np.asarray(codes, float))
        case Real():
            return np.zeros(np.shape(codes))


def nearest_codes(domain: SimpleDomain, numbers: Array) -> Array:
    """Return the codes (encoded values) of the members nearest to some numbers.

    In a tie, it is the upper member. An excluded end of the domain is never returned.
    """
    given = np.asarray(numbers, float)
    if isinstance(domain, Categorical):
        return round_half_up(_clip(given, 0, domain.last_index))
    inside = _clip(given, domain.least, domain.greatest)
    if domain.size is None:
        return inside + 0.0
    return (
        round_half_up(inside)
        if isinstance(domain, Grid) and domain.is_consecutive
        else codes_at(domain, nearest_index(domain, inside))
    )


def to_unit(part: SimpleDomain, codes: Array) -> Array:
    """Return the positions of codes in [0, 1]: (x - lower) / (upper - lower), clipped.

    Ranges with `log` use logarithms; sets use the index of the value.
    """
    return _clip(_scale_of(part).to_unit(np.asarray(codes, float)), 0.0, 1.0)


def from_unit(part: SimpleDomain, places: Array) -> Array:
    """Return the codes of the members nearest to positions in [0, 1]; 0 and 1 are the first and the last member."""
    given = _clip(np.asarray(places, float), 0.0, 1.0)
    found = nearest_codes(part, _scale_of(part).from_unit(given))
    first, last = (0, part.last_index) if isinstance(part, Categorical) else (part.least, part.greatest)
    return np.where(given <= 0.0, float(first), np.where(given >= 1.0, float(last), found))


def _scale_of(part: SimpleDomain) -> UnitScale:
    if isinstance(part, Categorical):
        return unit_scale(0, part.last_index, log=False, functions=np)
    return unit_scale(part.lower, part.upper, log=part.log, functions=np)


def _clip(numbers: Array, lower: float, upper: float) -> Array:
    """Return the numbers clipped to a range, like `np.clip` but five times as fast for small arrays."""
    return np.asarray(np.minimum(np.maximum(numbers, lower), upper))


def _float_grid_index(part: Grid, codes: Array) -> Array:
    start, step, below = affine_integer_coefficients(part)
    if max(abs(start), abs(start + step * part.last_index)) < step * MAX_EXACT_STEPS:
        return round_half_up((codes * below - start) / step)
    return np.array([part.index_of(code) for code in codes.ravel().tolist()], float).reshape(codes.shape)


FLOAT_LIMIT_REASON: Final = "values are encoded as floats, which are exact for integers only up to 2^53"


def is_encodable(part: SimpleDomain) -> bool:
    """Return True if floats distinguish all members of a domain and all of their indices."""
    if isinstance(part, Grid) and not is_exact_as_floats(part):
        return False
    return part.size is None or part.last_index < EXACT_INTEGER_LIMIT


def unencodable_domains(space: Space) -> Iterator[tuple[Hyperparameter, SimpleDomain]]:
    """Yield the hyperparameters of a space that cannot be encoded as floats, each with the responsible domain part."""
    for node in space.hyperparameters:
        yield from ((node, part) for part in parts(node.domain) if not is_encodable(part))
