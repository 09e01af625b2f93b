"""Draws from a region: the values in given cells for which the comparisons that tie them have required truths.

Plain rejection needs very many draws if the region is a small part of its cells. A region has a simplex, slabs, boxes
or hit-and-run of its own, so that at least one draw in five is accepted:

- A simplex, such as `a + b + c <= 1`, is drawn by its closed form.
- Two to four ranges: one of them is drawn by its inverse conditional law, given the others. The others lie in boxes,
  which are halved until one draw in five is accepted. Draws remain exact, because the rest is rejected.
- More ranges: hit-and-run, which is approximate.
"""

from typing import Protocol

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import Real
from spacelang.sampling.box_region import BoxRegion
from spacelang.sampling.hit_and_run import HitAndRunRegion
from spacelang.sampling.slab_region import SlabRegion, can_be_last
from spacelang.sampling.tied_cells import TiedCells
from spacelang.sampling.value_codes import Array
from spacelang.solver.network_compiler import MAX_EXACT_RANGES


class Region(Protocol):
    """The values in given cells for which the comparisons that tie them have required truths."""

    mass: float
    """The probability of the cover that values are drawn from, relative to the cells; an estimate if approximate."""
    is_approximate: bool

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares of shape (count, dimension) from the cover, and True where they are accepted."""


def make_region(tied: TiedCells) -> Region:
    """Return the region of tied cells."""
    simplex = SimplexRegion.find(tied)
    if simplex is not None:
        return simplex
    if tied.dimension > MAX_EXACT_RANGES and len(tied.rows.constants):
        return HitAndRunRegion(tied)
    last = next((name for name in tied.names if can_be_last(tied, name)), None)
    return BoxRegion(tied) if last is None or tied.dimension == 1 else SlabRegion(tied, last)


class SimplexRegion:
    """Continuous ranges with a bounded sum, such as `a + 2 * b <= 1`, where no upper end matters."""

    is_approximate = False

    def __init__(self, widths: Array) -> None:
        """Store the share of its cell that each range reaches if all others have their least values."""
        self._widths = widths
        self.mass = float(np.prod(widths / np.arange(1, len(widths) + 1)))

    @classmethod
    def find(cls, tied: TiedCells) -> "SimplexRegion | None":
        """Return the simplex that a region is, or None if it is none."""
        cells = [tied.cells[name] for name in tied.names]
        ranges = [
            each.cell for each in cells if isinstance(each.cell, Real) and each.prior is None and not each.cell.log
        ]
        if len(tied.required) != 1 or len(tied.rows.constants) != 1 or len(ranges) < len(cells):
            return None
        (factors,), (constant,) = tied.rows.factors, tied.rows.constants
        lower, upper = np.array([each.lower for each in ranges]), np.array([each.upper for each in ranges])
        left = -(constant + factors @ lower)
        if left <= 0 or (factors <= 0).any():
            return None
        widths = left / factors / (upper - lower)
        return cls(np.minimum(widths, 1)) if (widths <= 1 + 1e-12).all() else None

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares with the uniform distribution on the simplex, the flat Dirichlet distribution."""
        spacings = rng.standard_exponential((count, len(self._widths) + 1))
        return np.minimum(spacings[:, :-1] / spacings.sum(axis=1, keepdims=True) * self._widths, 1), np.ones(
            count, bool
        )
