"""Random draws from a region: the values in given cells for which comparisons are true or false as required.

Plain rejection sampling needs very many draws if the region is a small part of its cells. The following methods accept
at least one draw in five:

- For a simplex, such as `a + b + c <= 1`, draws have a closed form.
- For two to four ranges, boxes cover the region and are halved until one draw in five is accepted. If possible, the
  last range is not covered, but drawn from its conditional distribution given the others. Draws are exact, because
  those outside of the region are rejected.
- For more ranges, hit-and-run is used, which is approximate.
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
    """A protocol for regions: the values in given cells for which comparisons are true or false as required."""

    mass: float
    """The probability that a draw from the cells lies in the cover of the region; an estimate if `is_approximate`."""
    is_approximate: bool

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares of shape (count, dimension) from the cover, and True where they are accepted."""


def make_region(tied: TiedCells) -> Region:
    """Return the region of tied cells, with the best method for its draws."""
    simplex = SimplexRegion.find(tied)
    if simplex is not None:
        return simplex
    if tied.dimension > MAX_EXACT_RANGES and len(tied.rows.constants):
        return HitAndRunRegion(tied)
    last = next((name for name in tied.names if can_be_last(tied, name)), None)
    return BoxRegion(tied) if last is None or tied.dimension == 1 else SlabRegion(tied, last)


class SimplexRegion:
    """A region of continuous ranges with a bounded sum, such as `a + 2 * b <= 1`, where no upper end is reached."""

    is_approximate = False

    def __init__(self, widths: Array) -> None:
        """Take the largest share of each range: its share if all others have their least values."""
        self._widths = widths
        self.mass = float(np.prod(widths / np.arange(1, len(widths) + 1)))

    @classmethod
    def find(cls, tied: TiedCells) -> "SimplexRegion | None":
        """Return the region of tied cells if it is a simplex, else None."""
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
