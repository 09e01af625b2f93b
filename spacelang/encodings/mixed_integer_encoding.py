"""Mixed-integer encodings: one integer for each domain, and one float for each of its continuous ranges.

A continuous range alone is one float. A finite domain is one integer: an integer range without steps keeps its
integers, everything else has the index of the member, for a union among the members of all parts. A continuous part of
a union counts as one member, and has a float that matters only if the integer selects it. In the ADMM paper these are
the variables theta_d and theta_c. All of them are stored as floats.
See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spacelang.encodings.row_encodings import nearest_indices
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, parts
from spacelang.ir.domain_properties import index_of_containing_domain
from spacelang.ir.value import Value
from spacelang.sampling.unit_scale import unit_scale
from spacelang.sampling.value_codes import Array, ValueCodes, code_dtype, codes_of_members_at


@dataclass(frozen=True)
class EncodedDomainPart:
    """One part of an encoded domain: which integers stand for its values.

    The integers are `first`, `first` + 1, ... for a finite part, and only `first` for a continuous one. `whole` is the
    part of the full domain that contains `part`, which may be a subset of it.
    """

    part: SimpleDomain
    part_index: int
    whole: SimpleDomain
    first: int

    @property
    def is_continuous(self) -> bool:
        """True if the part is a continuous range, so that a float must say which of its values is meant."""
        return self.part.size is None

    @property
    def last_integer(self) -> int:
        """The last integer of the part."""
        return self.first + (self.part.size or 1) - 1

    def first_value_and_step(self) -> tuple[float, float]:
        """Return `(start, step)` such that an integer stands for the value `start + step * (integer - first)`.

        For a set it stands for the member with that index.
        """
        match self.part:
            case Grid():
                return self.part.lower, self.part.step
            case Real():
                return self.part.lower, 0.0
            case Categorical():
                return 0, 1

    def value_of(self, integer: int) -> Value:
        """Return the value that an integer stands for; the part must be finite."""
        return self.part.value_at(integer - self.first)

    def integers_to_codes(self, integers: Array) -> Array:
        """Return the codes in `whole` that integers stand for; the part must be finite."""
        if isinstance(self.part, Categorical):
            return np.asarray(self._indices_in_whole[(integers - self.first).astype(np.int64)])
        return codes_of_members_at(self.part, integers - self.first)

    def codes_to_integers(self, codes: Array) -> Array:
        """Return the integers that stand for codes of `whole`; codes outside of the part give arbitrary integers."""
        if isinstance(self.part, Categorical):
            return np.asarray(self._index_by_code[codes.astype(np.int64)] + self.first)
        if self.is_continuous:
            return np.full(len(codes), self.first, float)
        return nearest_indices(self.part, codes) + self.first

    def contains(self, codes: Array) -> Array:
        """Return a boolean array: True for the codes of `whole` that lie in the part."""
        if isinstance(self.part, Categorical):
            return np.asarray(self._index_by_code[codes.astype(np.int64)] >= 0)
        return np.asarray((codes >= self.part.least) & (codes <= self.part.greatest))

    @cached_property
    def _indices_in_whole(self) -> Array:
        assert isinstance(self.whole, Categorical)
        assert isinstance(self.part, Categorical)
        return np.array([self.whole.index_of(value) for value in self.part.values], np.int64)

    @cached_property
    def _index_by_code(self) -> Array:
        assert isinstance(self.whole, Categorical)
        found = np.full(self.whole.size, -1, np.int64)
        found[self._indices_in_whole] = np.arange(len(self._indices_in_whole))
        return found


class MixedIntegerEncoding:
    """The mixed-integer encoding of a domain, which is the domain of a hyperparameter or a restriction of it.

    `whole` is the full domain of the hyperparameter; values are given as codes in it.
    """

    def __init__(self, domain: Domain, whole: Domain) -> None:
        self.domain = domain
        self._type = code_dtype(whole)
        self._is_union = len(parts(whole)) > 1
        found: list[EncodedDomainPart] = []
        for part in parts(domain):
            place = index_of_containing_domain(parts(whole), part.representative)
            start = int(domain.lower) if isinstance(domain, Grid) and domain.is_consecutive else 0
            first = found[-1].last_integer + 1 if found else start
            found.append(EncodedDomainPart(part, place, parts(whole)[place], first))
        self.pieces: tuple[EncodedDomainPart, ...] = tuple(found)

    @property
    def needs_integer(self) -> bool:
        """True if values need an integer, which is the case unless the domain is a single continuous range."""
        return not (len(self.pieces) == 1 and self.pieces[0].is_continuous)

    @cached_property
    def continuous_pieces(self) -> tuple[EncodedDomainPart, ...]:
        """The continuous parts, each of which needs a float."""
        return tuple(piece for piece in self.pieces if piece.is_continuous)

    @property
    def lower(self) -> int:
        """The smallest integer that stands for a value."""
        return self.pieces[0].first

    @property
    def upper(self) -> int:
        """The largest integer that stands for a value."""
        return self.pieces[-1].last_integer

    def value_of(self, integer: float, floats: Sequence[float]) -> Value:
        """Return the value that an integer and one float for each continuous part stand for.

        The integer selects the part or the member; it is ignored if the domain is a single continuous range. Only the
        float of a selected continuous part matters.
        """
        if not self.needs_integer:
            return float(floats[0])
        piece = next(piece for piece in self.pieces if piece.first <= integer <= piece.last_integer)
        if piece.is_continuous:
            return float(floats[self.continuous_pieces.index(piece)])
        return piece.value_of(int(integer))

    def decode(self, integers: Array | None, floats: Sequence[Array]) -> ValueCodes:
        """Return the codes that integers and one array of floats for each continuous part stand for.

        `integers` is None if the domain is a single continuous range. Only the floats of selected continuous parts
        matter.
        """
        if integers is None:
            places = np.full(len(floats[0]), self.pieces[0].part_index, np.int8)
            return self._make_codes(floats[0].astype(float), places)
        found, marks = np.zeros(len(integers), self._type), np.zeros(len(integers), np.int8)
        given = iter(floats)
        for piece in self.pieces:
            mine = np.flatnonzero((integers >= piece.first) & (integers <= piece.last_integer))
            found[mine] = next(given)[mine] if piece.is_continuous else piece.integers_to_codes(integers[mine])
            marks[mine] = piece.part_index
        return self._make_codes(found, marks)

    def encode(self, values: ValueCodes) -> tuple[Array, list[Array]]:
        """Return the integers of values, and an array of floats per continuous part: NaN for values of other parts."""
        whole, numbers = np.zeros(len(values)), []
        for piece in self.pieces:
            mine = np.flatnonzero(self._is_in_piece(piece, values))
            whole[mine] = piece.codes_to_integers(values.codes[mine])
            if piece.is_continuous:
                numbers.append(np.full(len(values), np.nan))
                numbers[-1][mine] = values.codes[mine]
        return whole, numbers

    def contains(self, values: ValueCodes) -> Array:
        """Return a boolean array: True for the values of the whole domain that lie in this domain."""
        found: Array = np.zeros(len(values), bool)
        for piece in self.pieces:
            found |= self._is_in_piece(piece, values)
        return found

    def _is_in_piece(self, piece: EncodedDomainPart, values: ValueCodes) -> Array:
        if values.parts is None:
            return piece.contains(values.codes)
        found: Array = values.parts == piece.part_index
        mine = np.flatnonzero(found)
        found[mine] = piece.contains(values.codes[mine])
        return found

    def _make_codes(self, codes: Array, marks: Array) -> ValueCodes:
        return ValueCodes(codes, marks if self._is_union else None)


class UnitIntervalMapping:
    """A mapping between the numbers of an encoding and [0, 1], of which each piece (part) gets an equal share.

    If there are several pieces, each member of a piece is in the middle of its interval. Ranges with `log` are mapped
    by logarithms.
    """

    def __init__(self, pieces: Sequence[EncodedDomainPart], *, integral: bool) -> None:
        """Create the mapping of integers if `integral`, else of the values of a single continuous range."""
        margin = 0.5 if integral and len(pieces) > 1 else 0.0
        self._scales = [_PieceScale(piece, margin, integral=integral) for piece in pieces]
        self._edges = np.array([piece.first - margin for piece in pieces[1:]])

    def to_unit(self, codes: Array) -> Array:
        """Return the positions in [0, 1] of numbers of the encoding, which must lie between its least and greatest."""
        count = len(self._scales)
        if count == 1:
            return self._scales[0].to_unit(codes)
        at = np.searchsorted(self._edges, codes, "right")
        found = np.empty(np.shape(codes))
        for place, line in enumerate(self._scales):
            mine = at == place
            found[mine] = (place + line.to_unit(codes[mine])) / count
        return found

    def from_unit(self, places: Array) -> Array:
        """Return the numbers at positions in [0, 1], without rounding."""
        count = len(self._scales)
        if count == 1:
            return self._scales[0].from_unit(places)
        at = np.minimum((places * count).astype(int), count - 1)
        found = np.empty(np.shape(places))
        for place, line in enumerate(self._scales):
            mine = at == place
            found[mine] = line.from_unit(places[mine] * count - place)
        return found


class _PieceScale:
    """The mapping between the numbers of one piece, with a margin on both sides, and [0, 1]."""

    def __init__(self, piece: EncodedDomainPart, margin: float, *, integral: bool) -> None:
        part = piece.part
        self._log = isinstance(part, Grid | Real) and part.log and not (integral and piece.is_continuous)
        self._first, self._start, self._step = 0.0, 0.0, 1.0
        if integral:
            lower, upper = piece.first - margin, piece.last_integer + margin
        else:
            assert isinstance(part, Real)
            lower, upper = part.least, part.greatest
        if integral and self._log:
            # With `log`, the scale is that of the values: `start + step * (code - first)`.
            self._first, (self._start, self._step) = piece.first, piece.first_value_and_step()
        ends = float(self._scaled_values(lower)), float(self._scaled_values(upper))
        self._scale = unit_scale(*ends, log=self._log, functions=np)

    def to_unit(self, codes: Array) -> Array:
        return np.asarray(self._scale.to_unit(self._scaled_values(codes)))

    def from_unit(self, shares: Array) -> Array:
        return np.asarray((self._scale.from_unit(shares) - self._start) / self._step + self._first)

    def _scaled_values(self, codes: Array | float) -> Array:
        members = self._start + self._step * (np.asarray(codes, float) - self._first)
        return np.maximum(members, self._start / 2 or np.finfo(float).tiny) if self._log else members
