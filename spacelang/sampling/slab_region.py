"""Exact draws from a region of linear inequalities: the last range is drawn given the others, without rejection."""

import math
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import Real
from spacelang.sampling.box_region import TARGET_ACCEPTANCE, BoxRegion
from spacelang.sampling.tied_cells import ROUNDING_MARGIN, TiedCells
from spacelang.sampling.unit_scale import unit_scale
from spacelang.sampling.value_codes import Array
from spacelang.solver.domain_cells import log_ratio

TARGET_OF_TWO_RANGES: Final = 0.9
"""The acceptance rate at which halving stops for two tied ranges, whose boxes are intervals and cost little."""


def can_be_last(tied: TiedCells, name: str) -> bool:
    """Return True if a range can be drawn last: it is continuous, without a prior, and occurs in an inequality."""
    each = tied.cells[name]
    is_finite = isinstance(each.cell, Real) and math.isfinite(each.cell.upper - each.cell.lower)
    return is_finite and each.prior is None and bool(tied.rows.factors[:, tied.names.index(name)].any())


class SlabRegion(BoxRegion):
    """A region covered by slabs: boxes of all shares but the last one, which lies between linear bounds.

    The other shares are drawn first, and accepted in proportion to the length that they leave for the last range. The
    last range is then drawn uniformly (on its scale) between its bounds.
    """

    def __init__(self, tied: TiedCells, last: str) -> None:
        """Cover the region; `last` is the name of the range that is drawn last."""
        self.last = tied.names.index(last)
        self.target_acceptance = TARGET_OF_TWO_RANGES if tied.dimension == 2 else TARGET_ACCEPTANCE
        cell = tied.cells[last].cell
        assert isinstance(cell, Real)
        self._ends = cell.lower, cell.upper
        self._scale = unit_scale(cell.lower, cell.upper, log=cell.log, functions=np)
        self._is_log = cell.log
        factors = tied.rows.factors[:, self.last]
        self._others = [place for place in range(tied.dimension) if place != self.last]
        with np.errstate(all="ignore"):
            slopes = -tied.rows.factors[:, self._others] / factors[:, None]
            starts = -tied.rows.constants / factors
        still = np.zeros((1, len(self._others)))
        # The bounds of the last range are linear functions of the others; the ends of its cell are constant bounds.
        self._upper_slopes = np.concatenate((still, slopes[factors > 0]))
        self._upper_starts = np.concatenate(([cell.upper], starts[factors > 0]))
        self._lower_slopes = np.concatenate((still, slopes[factors < 0]))
        self._lower_starts = np.concatenate(([cell.lower], starts[factors < 0]))
        super().__init__(tied)

    @property
    def box_dimension(self) -> int:
        """The number of shares that the boxes cover: all but one."""
        return self.tied.dimension - 1

    def number_ends(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return the ends of the numbers in slabs, each (boxes, dimension); the last range has the ends of its cell."""
        return self.tied.numbers(self._with_last(lower, 0.0)), self.tied.numbers(self._with_last(upper, 1.0))

    def _with_last(self, shares: Array, last: float | Array) -> Array:
        found = np.empty((len(shares), self.tied.dimension))
        found[:, self._others], found[:, self.last] = shares, last
        return found

    def sensitivities(self, lower: Array, upper: Array) -> Array:
        """Return by how much each share changes the bounds of the last range, plus a little of its own width."""
        first, last = (ends[:, self._others] for ends in self.number_ends(lower, upper))
        slopes = np.concatenate((self._upper_slopes, self._lower_slopes))
        with np.errstate(all="ignore"):
            changes = np.abs(slopes)[None] * (last - first)[:, None, :]
            relative = changes / changes.sum(axis=2, keepdims=True)
        found: Array = np.nan_to_num(relative).sum(axis=1) + 1e-3 * (upper - lower)
        return found

    def bounds(self, lower: Array, upper: Array) -> Array:
        """Return an upper bound of the mass in each slab: its volume times the greatest length of the last range."""
        volumes = super().bounds(lower, upper)
        first, last = (ends[:, self._others] for ends in self.number_ends(lower, upper))
        highest = _extreme(self._upper_slopes, self._upper_starts, first, last, np.maximum).min(axis=1)
        lowest = _extreme(self._lower_slopes, self._lower_starts, first, last, np.minimum).max(axis=1)
        hull = self._length(lowest, highest)
        # The width between two linear bounds is linear itself, so its bound is good even where the bounds are steep.
        slopes = (self._upper_slopes[:, None] - self._lower_slopes[None]).reshape(-1, len(self._others))
        starts = (self._upper_starts[:, None] - self._lower_starts[None]).ravel()
        widths = _extreme(slopes, starts, first, last, np.maximum).min(axis=1)
        with np.errstate(all="ignore"):
            lengths = np.minimum(hull, widths * self._greatest_density(lowest))
        found: Array = volumes * np.nan_to_num(np.clip(lengths, 0, 1), nan=1.0) * (1 + ROUNDING_MARGIN)
        return found

    def _greatest_density(self, lowest: Array) -> Array:
        """Return the greatest density of the last range, on its scale, among the numbers above `lowest`."""
        start, end = self._ends
        if not self._is_log:
            return np.full(len(lowest), 1 / (end - start))
        density: Array = 1 / (np.clip(lowest, start, end) * log_ratio(start, end))
        return density

    def _length(self, lower: Array, upper: Array) -> Array:
        first, last = (self._scale.to_unit(np.clip(each, *self._ends)) for each in (lower, upper))
        found: Array = np.where(upper >= lower, np.clip(last - first, 0, 1), 0.0)
        return found

    def points(self, lower: Array, upper: Array, boxes: Array, rng: Generator) -> tuple[Array, Array]:
        """Return one point in each slab, and True for those that are accepted in proportion to the length."""
        others = lower + (upper - lower) * rng.random((len(boxes), self.box_dimension))
        numbers = self.tied.numbers(self._with_last(others, 0.5))[:, self._others]
        least = (numbers @ self._lower_slopes.T + self._lower_starts).max(axis=1)
        greatest = (numbers @ self._upper_slopes.T + self._upper_starts).min(axis=1)
        first, last = (np.clip(self._scale.to_unit(np.clip(e, *self._ends)), 0, 1) for e in (least, greatest))
        lengths = np.where(greatest >= least, last - first, 0.0)
        volumes = np.prod(upper - lower, axis=1)
        with np.errstate(all="ignore"):
            accepted = rng.random(len(boxes)) * self.masses[boxes] <= lengths * volumes
        return self._with_last(others, first + lengths * rng.random(len(boxes))), accepted & (lengths > 0)


def _extreme(slopes: Array, starts: Array, first: Array, last: Array, choose: np.ufunc) -> Array:
    """Return the maxima (or minima, as `choose` says) of linear functions in boxes, shape (boxes, functions)."""
    with np.errstate(all="ignore"):
        found: Array = choose(slopes[None] * first[:, None, :], slopes[None] * last[:, None, :]).sum(axis=2) + starts
    return found
