"""The numbers of `indexed` on the unit interval, logarithms under `log`: for those who move between whole numbers."""

from collections.abc import Sequence

import numpy as np

from spacelang.codings.indexed import Piece
from spacelang.draws.codes import Array
from spacelang.draws.unit import scale
from spacelang.ir.domain import Grid, Real


class UnitInterval:
    """The numbers of some pieces on [0, 1], those between two members too.

    Several pieces share [0, 1] alike, and each of their members has half a step to both of its sides.
    """

    def __init__(self, pieces: Sequence[Piece], *, integral: bool) -> None:
        """`integral` numbers are the whole ones of the pieces; else they are those of a single range itself."""
        margin = 0.5 if integral and len(pieces) > 1 else 0.0
        self._lines = [_Line(piece, margin, integral=integral) for piece in pieces]
        self._edges = np.array([piece.first - margin for piece in pieces[1:]])

    def to_unit(self, codes: Array) -> Array:
        """Where numbers between the first and the last lie."""
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
        """The numbers at places in [0, 1], not rounded."""
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
    """The codes of one piece, with a margin on both sides, as shares of its length: of logarithms under `log`."""

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
            # Under `log` the scale is that of what codes stand for: `start + step * (code - first)`.
            self._first, (self._start, self._step) = piece.first, piece.start_and_step()
        self._scale = scale(float(self._placed(lower)), float(self._placed(upper)), log=self._log, functions=np)

    def share(self, codes: Array) -> Array:
        return np.asarray(self._scale.share(self._placed(codes)))

    def code(self, shares: Array) -> Array:
        return np.asarray((self._scale.number(shares) - self._start) / self._step + self._first)

    def _placed(self, codes: Array | float) -> Array:
        members = self._start + self._step * (np.asarray(codes, float) - self._first)
        return np.maximum(members, self._start / 2 or np.finfo(float).tiny) if self._log else members
