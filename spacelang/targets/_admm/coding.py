"""How a hyperparameter is coded in the variables of ADMM: integers of theta_d, numbers of theta_c (ALGORITHMS.md 4.1).

A continuous range is one number. Everything finite is one integer: an integer range the integer itself, a stepped
range the index of its member, a set the place of its value, a union of them the place among the members of all parts,
one part after the other. A union with continuous parts is an integer in which each of these parts counts as one more
member, and a number for each of them, which matters where the integer says so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from spacelang.ir.codes import EXACT, Array, Codes, code_type
from spacelang.ir.domain import Categorical, Domain, Integer, Real, Simple, contains, parts
from spacelang.ir.value import Value, identity

LISTABLE: Final = 4_096
"""The largest grid of floats whose members are all computed beforehand."""
WIDE: Final = 10**9
"""Grids of more members than this are searched with exact fractions."""


@dataclass(frozen=True)
class Piece:
    """A part of a domain in its codes: `first`, `first + 1`, ..., one code for all of a continuous part.

    `place` is the part of the hyperparameter's whole domain that it lies in; `whole` is that part.
    """

    part: Simple
    place: int
    whole: Simple
    first: int

    @property
    def is_continuous(self) -> bool:
        """Whether a number of theta_c says which value it is."""
        return self.part.size is None

    @property
    def count(self) -> int:
        """How many codes it takes."""
        return 1 if self.part.size is None else self.part.size

    @property
    def last(self) -> int:
        """Its last code."""
        return self.first + self.count - 1

    def start_and_step(self) -> tuple[float, float]:
        """What the codes of numbers stand for: `start + step * (code - first)`; of a set, their places."""
        match self.part:
            case Integer():
                return self.part.lower, self.part.step
            case Real(step=float(step)):
                return self.part.at(self.part.first_index), step
            case Real():
                return self.part.lower, 0.0
            case Categorical():
                return 0, 1

    def ends(self) -> tuple[float, float]:
        """The smallest and the largest number of a continuous part, excluded ends drawn in by one float."""
        assert isinstance(self.part, Real)
        lower, upper = self.part.lower + 0.0, self.part.upper + 0.0
        if self.part.lower_open:
            lower = math.nextafter(lower, math.inf)
        if self.part.upper_open:
            upper = math.nextafter(upper, -math.inf)
        return lower, upper

    def code(self, value: Value) -> int:
        """The code of a value that lies in it."""
        match self.part:
            case Categorical():
                return self.first + self.part.index[identity(value)]
            case Integer():
                return self.first + (int(value) - self.part.lower) // self.part.step  # type: ignore[arg-type]
            case Real(step=float(step)):
                index = round((Fraction(value) - Fraction(self.part.lower)) / Fraction(step))  # type: ignore[arg-type]
                return self.first + index - self.part.first_index
            case Real():
                return self.first

    def value(self, code: int) -> Value:
        """The value of a code of a finite part."""
        return self._at(code - self.first)

    def values(self, codes: Array) -> Array:
        """The values that codes of a finite part stand for: numbers as themselves, of a set their places in `whole`."""
        indices = codes - self.first
        match self.part:
            case Categorical():
                return self._places[indices.astype(np.int64)]
            case Integer():
                exact = abs(self.part.lower) < EXACT and abs(self.part.upper) < EXACT
                return self.part.lower + self.part.step * indices.astype(np.int64 if exact else object)
            case Real():
                return self._members(indices)

    def codes(self, values: Array) -> Array:
        """The other way; whatever for values that are not in the part."""
        match self.part:
            case Categorical():
                return self._by_place[values.astype(np.int64)] + self.first
            case Integer():
                giant = values.dtype.kind == "O" or max(abs(self.part.lower), abs(self.part.upper)) >= EXACT
                return (values.astype(object if giant else np.int64) - self.part.lower) // self.part.step + self.first
            case Real(step=float(step)):
                if self.count > WIDE:
                    lower, spacing = Fraction(self.part.lower), Fraction(step)
                    found = [round((Fraction(value) - lower) / spacing) for value in values.tolist()]
                    return np.array(found, object) - self.part.first_index + self.first
                indices = np.rint((values.astype(float) - self.part.lower) / step).astype(np.int64)
                return indices - self.part.first_index + self.first
            case Real():
                return np.full(len(values), self.first)

    def has(self, values: Array) -> Array:
        """Which values of the part `whole` lie in it: numbers as themselves, a set's by their place."""
        match self.part:
            case Categorical():
                return self._by_place[values.astype(np.int64)] >= 0
            case Integer():
                return (values >= self.part.lower) & (values <= self.part.upper)
            case Real(step=float()):
                return (values >= self.part.at(self.part.first_index)) & (values <= self.part.at(self.part.last_index))
            case Real():
                lower, upper = self.ends()
                return (values >= lower) & (values <= upper)

    def _at(self, index: int) -> Value:
        return self.part.at(index + self.part.first_index if isinstance(self.part, Real) else index)

    def _members(self, indices: Array) -> Array:
        if self.count <= LISTABLE:
            return self._grid[indices.astype(np.int64)]
        return np.array([self._at(int(index)) for index in indices.tolist()], float)

    @cached_property
    def _grid(self) -> Array:
        return np.array([self._at(index) for index in range(self.count)], float)

    @cached_property
    def _places(self) -> Array:
        """The places in `whole` of the values of a set."""
        assert isinstance(self.whole, Categorical)
        assert isinstance(self.part, Categorical)
        return np.array([self.whole.index[identity(value)] for value in self.part.values], np.int64)

    @cached_property
    def _by_place(self) -> Array:
        assert isinstance(self.whole, Categorical)
        found = np.full(self.whole.size, -1, np.int64)
        found[self._places] = np.arange(len(self._places))
        return found


class Coding:
    """The codes of the values of a domain, which is all of a hyperparameter's or a piece of it."""

    def __init__(self, domain: Domain, whole: Domain) -> None:
        self.domain = domain
        self._whole = whole
        self._is_union = len(parts(whole)) > 1
        found: list[Piece] = []
        for part in parts(domain):
            place = next(place for place, each in enumerate(parts(whole)) if _lies_in(part, each))
            first = found[-1].last + 1 if found else _first(domain)
            found.append(Piece(part, place, parts(whole)[place], first))
        self.pieces: tuple[Piece, ...] = tuple(found)

    @property
    def is_discrete(self) -> bool:
        """Whether it needs an integer: everything but a single continuous range."""
        return not (len(self.pieces) == 1 and self.pieces[0].is_continuous)

    @cached_property
    def ranges(self) -> tuple[Piece, ...]:
        """The continuous parts, for each of which it needs a number."""
        return tuple(piece for piece in self.pieces if piece.is_continuous)

    @property
    def lower(self) -> int:
        """The smallest code of the integer."""
        return self.pieces[0].first

    @property
    def upper(self) -> int:
        """The largest code of the integer."""
        return self.pieces[-1].last

    def value(self, integer: int, numbers: Sequence[float]) -> Value:
        """The value of one code, which does not matter without a discrete part, and of one number for each range."""
        if not self.is_discrete:
            return float(numbers[0])
        piece = next(piece for piece in self.pieces if piece.first <= integer <= piece.last)
        return float(numbers[self.ranges.index(piece)]) if piece.is_continuous else piece.value(integer)

    def decode(self, integers: Array | None, numbers: Sequence[Array]) -> Codes:
        """The values of integers and of one array of numbers for each range, as codes of the whole domain."""
        if integers is None:
            return self._marked(numbers[0].astype(float), np.full(len(numbers[0]), self.pieces[0].place, np.int8))
        if len(self.pieces) == 1:
            piece = self.pieces[0]
            found = piece.values(integers).astype(code_type(self._whole), copy=False)
            return self._marked(found, np.full(len(integers), piece.place, np.int8))
        found, marks = np.zeros(len(integers), code_type(self._whole)), np.zeros(len(integers), np.int8)
        given = iter(numbers)
        for piece in self.pieces:
            mine = np.flatnonzero((integers >= piece.first) & (integers <= piece.last))
            found[mine] = next(given)[mine] if piece.is_continuous else piece.values(integers[mine])
            marks[mine] = piece.place
        return self._marked(found, marks)

    def encode(self, codes: Codes) -> tuple[Array, list[Array]]:
        """The integers of values that lie in the domain, and numbers for each range: NaN where they do not matter."""
        integers: Array = np.zeros(len(codes), object if self.is_giant else np.int64)
        numbers = []
        for piece in self.pieces:
            mine = np.flatnonzero(self._in(piece, codes))
            integers[mine] = piece.codes(codes.codes[mine])
            if piece.is_continuous:
                numbers.append(np.full(len(codes), np.nan))
                numbers[-1][mine] = codes.codes[mine].astype(float)
        return integers, numbers

    @property
    def is_giant(self) -> bool:
        """Whether floats do not hold all of its integers exactly."""
        return max(abs(self.lower), abs(self.upper)) >= EXACT

    def contains(self, codes: Codes) -> Array:
        """Which values of the whole domain lie in this one."""
        found: Array = np.zeros(len(codes), bool)
        for piece in self.pieces:
            found |= self._in(piece, codes)
        return found

    def _in(self, piece: Piece, codes: Codes) -> Array:
        if codes.parts is None:
            return np.asarray(piece.has(codes.codes), bool)
        found: Array = codes.parts == piece.place
        mine = np.flatnonzero(found)
        found[mine] = np.asarray(piece.has(codes.codes[mine]), bool)
        return found

    def _marked(self, codes: Array, marks: Array) -> Codes:
        return Codes(codes, marks if self._is_union else None)


def _first(domain: Domain) -> int:
    """The first code: an integer range is coded by its integers themselves."""
    return domain.lower if isinstance(domain, Integer) and domain.step == 1 else 0


def _lies_in(part: Simple, whole: Simple) -> bool:
    return contains(whole, part.middle)
