"""One whole number for a domain, and a number for each of its ranges: theta_d and theta_c.

A continuous range is one number. Everything finite is one whole number: an integer range the integer itself, a stepped
range the index of its member, a set the place of its value, a union of them the place among the members of all parts,
one part after the other. A union with continuous parts is a whole number in which each of these parts counts as one
more member, and a number for each of them, which matters where the whole number says so. All of them are floats.

See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spacelang.codings.members import index_of
from spacelang.draws.codes import Array, Codes, at, code_type
from spacelang.ir.domain import Categorical, Domain, Grid, Real, Simple, part_of, parts
from spacelang.ir.value import Value


@dataclass(frozen=True)
class Piece:
    """A part of a domain in its numbers: `first`, `first + 1`, ..., one number for all of a continuous part.

    `place` is the part of the hyperparameter's whole domain that it lies in; `whole` is that part.
    """

    part: Simple
    place: int
    whole: Simple
    first: int

    @property
    def is_continuous(self) -> bool:
        """Whether another number says which value it is."""
        return self.part.size is None

    @property
    def last(self) -> int:
        """Its last number."""
        return self.first + (self.part.size or 1) - 1

    def start_and_step(self) -> tuple[float, float]:
        """What numbers stand for: `start + step * (number - first)`; of a set, their places."""
        match self.part:
            case Grid():
                return self.part.lower, self.part.step
            case Real():
                return self.part.lower, 0.0
            case Categorical():
                return 0, 1

    def value(self, number: int) -> Value:
        """The value of a number of a finite part."""
        return self.part.at(number - self.first)

    def codes(self, numbers: Array) -> Array:
        """The codes in `whole` that numbers of a finite part stand for."""
        if isinstance(self.part, Categorical):
            return np.asarray(self._places[(numbers - self.first).astype(np.int64)])
        return at(self.part, numbers - self.first)

    def numbers(self, codes: Array) -> Array:
        """The other way; whatever for codes that are not in the part."""
        if isinstance(self.part, Categorical):
            return np.asarray(self._by_place[codes.astype(np.int64)] + self.first)
        if self.is_continuous:
            return np.full(len(codes), self.first, float)
        return index_of(self.part, codes) + self.first

    def has(self, codes: Array) -> Array:
        """Which codes of `whole` lie in it."""
        if isinstance(self.part, Categorical):
            return np.asarray(self._by_place[codes.astype(np.int64)] >= 0)
        return np.asarray((codes >= self.part.least) & (codes <= self.part.greatest))

    @cached_property
    def _places(self) -> Array:
        """The places in `whole` of the values of a set."""
        assert isinstance(self.whole, Categorical)
        assert isinstance(self.part, Categorical)
        return np.array([self.whole.index_of(value) for value in self.part.values], np.int64)

    @cached_property
    def _by_place(self) -> Array:
        assert isinstance(self.whole, Categorical)
        found = np.full(self.whole.size, -1, np.int64)
        found[self._places] = np.arange(len(self._places))
        return found


class Indexed:
    """The numbers of the values of a domain, which is all of a hyperparameter's or a piece of it."""

    def __init__(self, domain: Domain, whole: Domain) -> None:
        self.domain = domain
        self._type = code_type(whole)
        self._is_union = len(parts(whole)) > 1
        found: list[Piece] = []
        for part in parts(domain):
            place = part_of(parts(whole), part.middle)
            first = found[-1].last + 1 if found else _first(domain)
            found.append(Piece(part, place, parts(whole)[place], first))
        self.pieces: tuple[Piece, ...] = tuple(found)

    @property
    def is_discrete(self) -> bool:
        """Whether it needs a whole number: everything but a single continuous range."""
        return not (len(self.pieces) == 1 and self.pieces[0].is_continuous)

    @cached_property
    def ranges(self) -> tuple[Piece, ...]:
        """The continuous parts, for each of which it needs a number."""
        return tuple(piece for piece in self.pieces if piece.is_continuous)

    @property
    def lower(self) -> int:
        """The smallest whole number."""
        return self.pieces[0].first

    @property
    def upper(self) -> int:
        """The largest one."""
        return self.pieces[-1].last

    def value(self, whole: float, numbers: Sequence[float]) -> Value:
        """The value of a whole number, which does not matter without a discrete part, and of one for each range."""
        if not self.is_discrete:
            return float(numbers[0])
        piece = next(piece for piece in self.pieces if piece.first <= whole <= piece.last)
        return float(numbers[self.ranges.index(piece)]) if piece.is_continuous else piece.value(int(whole))

    def decode(self, whole: Array | None, numbers: Sequence[Array]) -> Codes:
        """The values of whole numbers and of one array of numbers for each range, as codes of the whole domain."""
        if whole is None:
            return self._marked(numbers[0].astype(float), np.full(len(numbers[0]), self.pieces[0].place, np.int8))
        found, marks = np.zeros(len(whole), self._type), np.zeros(len(whole), np.int8)
        given = iter(numbers)
        for piece in self.pieces:
            mine = np.flatnonzero((whole >= piece.first) & (whole <= piece.last))
            found[mine] = next(given)[mine] if piece.is_continuous else piece.codes(whole[mine])
            marks[mine] = piece.place
        return self._marked(found, marks)

    def encode(self, values: Codes) -> tuple[Array, list[Array]]:
        """The whole numbers of values of the domain, and numbers for each range: NaN where they do not matter."""
        whole, numbers = np.zeros(len(values)), []
        for piece in self.pieces:
            mine = np.flatnonzero(self._in(piece, values))
            whole[mine] = piece.numbers(values.codes[mine])
            if piece.is_continuous:
                numbers.append(np.full(len(values), np.nan))
                numbers[-1][mine] = values.codes[mine]
        return whole, numbers

    def contains(self, values: Codes) -> Array:
        """Which values of the whole domain lie in this one."""
        found: Array = np.zeros(len(values), bool)
        for piece in self.pieces:
            found |= self._in(piece, values)
        return found

    def _in(self, piece: Piece, values: Codes) -> Array:
        if values.parts is None:
            return piece.has(values.codes)
        found: Array = values.parts == piece.place
        mine = np.flatnonzero(found)
        found[mine] = piece.has(values.codes[mine])
        return found

    def _marked(self, codes: Array, marks: Array) -> Codes:
        return Codes(codes, marks if self._is_union else None)


def _first(domain: Domain) -> int:
    """The first number: an integer range is told by its integers themselves."""
    return int(domain.lower) if isinstance(domain, Grid) and domain.is_consecutive else 0
