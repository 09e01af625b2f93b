"""Approximate random draws by hit-and-run from a region of many ranges that comparisons connect.

A step of hit-and-run moves a point to a uniform position on a random line through it, within the region (Smith,
Efficient Monte Carlo Procedures for Generating Points Uniformly Distributed over Bounded Regions, Operations Research
1984). The first points are found by multilevel splitting: the region is the last of a sequence of smaller and smaller
sets, each of which contains half of the points in the set before it.
"""

import math
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.sampling.compared_cells import ComparedCells
from spacelang.sampling.value_codes import Array

STEPS_PER_RANGE: Final = 25
"""The number of hit-and-run steps of each draw, per tied range."""
POINTS: Final = 512
"""The number of points of multilevel splitting. Draws start at these points."""
STEPS_PER_LEVEL: Final = 12
MAX_LEVELS: Final = 200
"""The maximum number of levels; each halves the probability."""
MAX_SHRINKINGS: Final = 40
"""The maximum number of times that an interval of a line is shrunk before the point stays where it is."""


class HitAndRunRegion:
    """A region of many ranges that comparisons connect; `log_mass` is an estimate, and draws are approximate."""

    is_approximate = True

    def __init__(self, tied: ComparedCells) -> None:
        """Find points in the region; `log_mass` is -inf if there are none."""
        self._tied = tied
        rng = np.random.default_rng(0)  # estimates must not depend on the random state of the user
        self._points = rng.random((POINTS, tied.dimension))
        self._limits = _SparseInequalities.of_shares(tied)
        excess = np.abs(self._excess(self._points, _Buffers()))
        self._sizes = np.maximum(np.ascontiguousarray(excess.T).mean(axis=0), np.finfo(float).tiny)[:, None]
        self._steps = STEPS_PER_RANGE * tied.dimension
        self.log_mass = 0.0
        self._split(rng)

    def _excess(self, shares: Array, buffers: "_Buffers") -> Array:
        """Return the left side of each inequality, shape (inequalities, points): positive where a point violates it."""
        if self._limits is None:
            return self._tied.inequality_excess(self._tied.numbers_from_shares(shares)).T
        return self._limits.excess(shares, buffers)

    def _split(self, rng: Generator) -> None:
        for _ in range(MAX_LEVELS):
            violations = (self._excess(self._points, _Buffers()) / self._sizes).max(axis=0)  # 0 or less in the region
            level = max(float(np.median(violations)), 0.0)
            kept = violations <= level
            if level > 0 and kept.all():  # all points are the same: the region has no volume
                break
            self.log_mass += float(np.log(kept.mean()))
            self._points = self._points[kept][rng.integers(kept.sum(), size=POINTS)]
            self._points = self._hit_and_run(self._points, level, STEPS_PER_LEVEL, rng)
            if level == 0:
                self._points = self._hit_and_run(self._points, level, self._steps, rng)
                return
        self.log_mass = -np.inf

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares of shape (count, dimension), and True for those in the region."""
        starts = self._points[rng.integers(POINTS, size=count)]
        if self.log_mass == -np.inf:
            return starts, np.zeros(count, bool)
        shares = self._hit_and_run(starts, 0.0, self._steps, rng)
        return shares, self._tied.satisfy_comparisons(self._tied.codes_from_shares(shares), count)

    def _hit_and_run(self, points: Array, level: float, steps: int, rng: Generator) -> Array:
        """Return points after hit-and-run steps within the points whose violation is at most `level`."""
        points, count = points.copy(), len(points)
        spread = self._points.std(axis=0) + 1e-12
        buffers = _Buffers()
        directions = np.empty(points.shape)
        for step in range(steps):
            if step % 2:
                np.multiply(rng.standard_normal(out=directions), spread, out=directions)
            else:  # the difference of two points follows the shape of the region
                pairs = rng.integers(POINTS, size=(2, count))
                starts = buffers.take_rows("starts", self._points, pairs[1])
                np.subtract(buffers.take_rows("ends", self._points, pairs[0]), starts, out=directions)
            self._move_along(points, directions, level * self._sizes, rng, buffers)
        return points

    def _move_along(self, points: Array, directions: Array, limits: Array, rng: Generator, buffers: "_Buffers") -> None:
        """Move each point along a line through it to a uniform position in the region; `points` is modified."""
        lower, upper = _chord_of_cube(points, directions, buffers)
        if self._limits is not None:
            excess = self._limits.excess(points, buffers)
            rest = np.subtract(limits, excess, out=excess)
            first, last = _chord(self._limits.products(directions, "speeds", buffers), rest, buffers)
            lower, upper = np.maximum(lower, first), np.minimum(upper, last)
        waiting = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper) & (lower <= upper))
        for _ in range(MAX_SHRINKINGS):
            if not len(waiting):
                break
            places = lower[waiting] + (upper[waiting] - lower[waiting]) * rng.random(len(waiting))
            tried = buffers.take_rows("ends", directions, waiting)
            tried *= places[:, None]
            tried += buffers.take_rows("starts", points, waiting)
            np.clip(tried, 0, 1, out=tried)
            good = (self._excess(tried, buffers) <= limits).all(axis=0)
            points[waiting[good]] = tried[good]
            waiting, places = waiting[~good], places[~good]
            is_below = places < 0
            lower[waiting] = np.where(is_below, places, lower[waiting])
            upper[waiting] = np.where(is_below, upper[waiting], places)


class _Buffers:
    """Arrays that each step uses again, by name: to allocate them anew would take most of the time."""

    def __init__(self) -> None:
        self._memory: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return the array with a name; its values are those of its last use."""
        size = math.prod(shape)
        if name not in self._memory or len(self._memory[name]) < size:
            self._memory[name] = np.empty(size)
        return self._memory[name][:size].reshape(shape)

    def take_rows(self, name: str, values: Array, rows: Array) -> Array:
        """Return the given rows of `values`."""
        found = self.array(name, (len(rows), values.shape[1]))
        # Without a mode, NumPy would copy the array once more.
        return np.take(values, rows, axis=0, out=found, mode="clip")


class _SparseInequalities:
    """Linear inequalities of shares, each of which usually names a few of many ranges.

    Products with a full matrix would take most of the time. They would also use all cores, which is slow if other
    processes need them.
    """

    def __init__(self, factors: Array, constants: Array) -> None:
        """Store the factors other than 0 of each row, with zeros after them in rows that have fewer than others."""
        length = int((factors != 0).sum(axis=1).max())
        self._places = np.argsort(factors == 0, axis=1, kind="stable")[:, :length].T
        self._factors = np.take_along_axis(factors.T, self._places, axis=0)
        self._constants = constants

    @classmethod
    def of_shares(cls, tied: ComparedCells) -> "_SparseInequalities | None":
        """Return the inequalities of cells, or None if they are not linear in shares."""
        rows = [row for row in tied.inequalities_of_shares if row is not None]
        if len(rows) < len(tied.inequalities_of_shares):
            return None
        return cls(np.array([factors for factors, _ in rows]), np.array([constant for _, constant in rows]))

    def products(self, shares: Array, name: str, buffers: _Buffers) -> Array:
        """Return the sums of factors times shares, shape (inequalities, points), in the buffer with this name."""
        shares_by_range = buffers.array("shares", shares.T.shape)
        shares_by_range[:] = shares.T
        found = buffers.array(name, (self._places.shape[1], len(shares)))
        found[:] = 0
        for places, factors in zip(self._places, self._factors, strict=True):
            terms = buffers.take_rows("terms", shares_by_range, places)
            terms *= factors[:, None]
            found += terms
        return found

    def excess(self, shares: Array, buffers: _Buffers) -> Array:
        """Return the left side of each inequality, shape (inequalities, points): positive where a point violates it."""
        found = self.products(shares, "excess", buffers)
        found += self._constants[:, None]
        return found


def _chord_of_cube(points: Array, directions: Array, buffers: _Buffers) -> tuple[Array, Array]:
    """Return the least and greatest t for which `points + t * directions` are in the unit cube, each (points,)."""
    to_start, to_end, least = (buffers.array(name, points.shape) for name in ("starts", "ends", "least"))
    with np.errstate(divide="ignore", invalid="ignore"):
        np.divide(np.negative(points, out=to_start), directions, out=to_start)
        np.divide(np.subtract(1, points, out=to_end), directions, out=to_end)
    # NaN: the point lies in a face of the cube and does not leave it.
    lower: Array = np.fmin(to_start, to_end, out=least).max(axis=1)
    upper: Array = np.fmax(to_start, to_end, out=to_end).min(axis=1)
    return lower, upper


def _chord(speeds: Array, limits: Array, buffers: _Buffers) -> tuple[Array, Array]:
    """Return the least and greatest t with `speeds * t <= limits` in all rows, each of shape (points,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.divide(limits, speeds, out=limits)
    chosen = buffers.array("terms", times.shape)
    chosen[:] = -np.inf
    np.copyto(chosen, times, where=speeds < 0)
    lower: Array = chosen.max(axis=0)
    chosen[:] = np.inf
    np.copyto(chosen, times, where=speeds > 0)
    upper: Array = chosen.min(axis=0)
    return lower, upper
