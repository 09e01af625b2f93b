"""Mapping of integer encodings to the unit interval, for optimizers that also move between integers."""

from collections.abc import Sequence

import numpy as np

from spacelang.encodings.integer_codes import CodedPiece
from spacelang.ir.domain import Grid, Real
from spacelang.sampling.unit_scale import unit_scale
from spacelang.sampling.value_codes import Array


class UnitIntervalMapping:
    """A mapping between the numbers of some pieces and [0, 1]; numbers between two members are mapped too.

    Several pieces get equal shares of [0, 1]. Each of their members extends half a step to both sides. Ranges with
    `log` use logarithms.
    """

    def __init__(self, pieces: Sequence[CodedPiece], *, integral: bool) -> None:
        """Create the mapping; `integral` numbers are the integers of the pieces, else the values of a single range."""
        margin = 0.5 if integral and len(pieces) > 1 else 0.0
        self._scales = [_PieceScale(piece, margin, integral=integral) for piece in pieces]
        self._edges = np.array([piece.first - margin for piece in pieces[1:]])

    def to_unit(self, codes: Array) -> Array:
        """Return the positions in [0, 1] of numbers that lie between the first and the last one."""
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

    def __init__(self, piece: CodedPiece, margin: float, *, integral: bool) -> None:
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
        self._scale = unit_scale(
            float(self._scaled_values(lower)), float(self._scaled_values(upper)), log=self._log, functions=np
        )

    def to_unit(self, codes: Array) -> Array:
        return np.asarray(self._scale.to_unit(self._scaled_values(codes)))

    def from_unit(self, shares: Array) -> Array:
        return np.asarray((self._scale.from_unit(shares) - self._start) / self._step + self._first)

    def _scaled_values(self, codes: Array | float) -> Array:
        members = self._start + self._step * (np.asarray(codes, float) - self._first)
        return np.maximum(members, self._start / 2 or np.finfo(float).tiny) if self._log else members
