"""Mapping of integer encodings to the unit interval, for optimizers that also move between integers."""

from collections.abc import Sequence

import numpy as np

from spacelang.codings.indexed import Piece
from spacelang.draws.codes import Array
from spacelang.draws.unit import scale
from spacelang.ir.domain import Grid, Real


class UnitInterval:
    """A mapping between the numbers of some pieces and [0, 1]; numbers between two members are mapped too.

    Several pieces get equal shares of [0, 1]. Each of their members extends half a step to both sides. Ranges with
    `log` use logarithms.
    """

    def __init__(self, pieces: Sequence[Piece], *, integral: bool) -> None:
        """Create the mapping; `integral` numbers are the integers of the pieces, else the values of a single range."""
        margin = 0.5 if integral and len(pieces) > 1 else 0.0
        self._lines = [_Line(piece, margin, integral=integral) for piece in pieces]
        self._edges = np.array([piece.first - margin for piece in pieces[1:]])

    def to_unit(self, codes: Array) -> Array:
        """Return the positions in [0, 1] of numbers that lie between the first and the last one."""
        count = len(self._lines)
        if count == 1:
            return self._lines[0].share(codes)
        at = np.searchsorted(self._edges, codes, "right")
        found = np.empty(np.shape(codes))
        for place, line in enumerate(self._lines):
            mine = at == place
            found[mine] = (place + line.share(codes[mine])) / count
        return found

    def from_unit(self, places: Array) -> Array:
        """Return the numbers at positions in [0, 1], without rounding."""
        count = len(self._lines)
        if count == 1:
            return self._lines[0].code(places)
        at = np.minimum((places * count).astype(int), count - 1)
        found = np.empty(np.shape(places))
        for place, line in enumerate(self._lines):
            mine = at == place
            found[mine] = line.code(places[mine] * count - place)
        return found


class _Line:
    """The mapping between the numbers of one piece, with a margin on both sides, and [0, 1]."""

    def __init__(self, piece: Piece, margin: float, *, integral: bool) -> None:
        part = piece.part
        self._log = isinstance(part, Grid | Real) and part.log and not (integral and piece.is_continuous)
        self._first, self._start, self._step = 0.0, 0.0, 1.0
        if integral:
            lower, upper = piece.first - margin, piece.last + margin
        else:
            assert isinstance(part, Real)
            lower, upper = part.least, part.greatest
        if integral and self._log:
            # With `log`, the scale is that of the values: `start + step * (code - first)`.
            self._first, (self._start, self._step) = piece.first, piece.start_and_step()
        self._scale = scale(float(self._placed(lower)), float(self._placed(upper)), log=self._log, functions=np)

    def share(self, codes: Array) -> Array:
        return np.asarray(self._scale.share(self._placed(codes)))

    def code(self, shares: Array) -> Array:
        return np.asarray((self._scale.number(shares) - self._start) / self._step + self._first)

    def _placed(self, codes: Array | float) -> Array:
        members = self._start + self._step * (np.asarray(codes, float) - self._first)
        return np.maximum(members, self._start / 2 or np.finfo(float).tiny) if self._log else members
