"""Exact draws from continuous ranges that comparisons of two connect like a forest, such as `a <= b and b <= c`.

Each range is a point on a common axis, scaled and moved so that every comparison says which of two points lies
further left. In a forest this is always possible. The ends of all ranges cut the axis into pieces. The density of a
point, times what it leaves to the points that depend on it, is a polynomial in each piece. Its coefficients in the
Bernstein basis are sums and products of positive numbers: nothing cancels, and as logarithms nothing underflows,
however many ranges there are. A positive polynomial in this basis is a mixture of beta distributions, which are drawn
directly.

The linear extensions of a tree are counted in the same way (Atkinson, On Computing the Number of Linear Extensions of a
Tree, Order 1990).
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.random import Generator

from spacelang.frozen import frozen
from spacelang.sampling.compared_cells import ComparedCells
from spacelang.sampling.value_codes import Array
from spacelang.solver.bucket_elimination import UnionFind
from spacelang.solver.range_forest import ordered_forest

MAX_COEFFICIENTS: Final = 10_000_000  # The maximum number of coefficients of all polynomials; takes about a second
MAX_OFFSET: Final = 1e9  # The maximum distance of a point from the origin in lengths of its range, for exact sums
MAX_CHUNK: Final = 1_000_000  # The maximum number of weights that are compared at once


@frozen
class _ShareComparison:
    """The comparison `own * i + other * j + constant <= 0` of the shares i and j of two ranges."""

    own: float
    other: float
    constant: float

    def turned(self) -> "_ShareComparison":
        return _ShareComparison(self.other, self.own, self.constant)


@frozen
class _AxisPoint:
    """A range as a point of the axis: `offset + scale * share`, for shares from `least` to `greatest`.

    `sign` says where it must be: left of the point of `parent` if it is 1, right of it if it is -1. A root has no
    parent.
    """

    place: int
    parent: str
    offset: float
    scale: float
    least: float
    greatest: float
    sign: int

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the point on the axis, the left one first."""
        one, other = self.offset + self.scale * self.least, self.offset + self.scale * self.greatest
        return min(one, other), max(one, other)


class OrderForestRegion:
    """A region of continuous ranges that comparisons of two connect like a forest, or a cover of such a region.

    If there are other comparisons, draws that satisfy the forest are accepted if they satisfy these, too.
    """

    is_approximate = False

    def __init__(self, points: Mapping[str, _AxisPoint], rest: ComparedCells | None = None) -> None:
        """Compute the polynomials of all points; `points` has each one after its parent.

        Draws are tested with the comparisons of `rest`.
        """
        self._points, self._rest = points, rest
        edges = np.unique([end for each in points.values() for end in each.ends])
        self._densities: dict[str, _PiecewisePolynomial] = {}
        left: dict[str, Array] = {}
        self.log_mass = 0.0
        for name, point in reversed([*points.items()]):
            start, end = np.searchsorted(edges, point.ends)
            logs = np.full((len(edges) - 1, 1), -np.inf)
            logs[start:end] = -np.log(np.abs(point.scale))
            logs = _product(logs, left.pop(name)) if name in left else logs
            density = self._densities[name] = _PiecewisePolynomial(
                point.sign * edges[:: point.sign], logs[:: point.sign, :: point.sign]
            )
            if point.parent:
                told = density.log_integral[:: point.sign, :: point.sign]
                left[point.parent] = _product(left[point.parent], told) if point.parent in left else told
            else:
                self.log_mass += density.log_mass

    @classmethod
    def find_in_cells(cls, tied: ComparedCells) -> "OrderForestRegion | None":
        """Return the region of cells; None if it is empty, or if it would have too many polynomials or pieces."""
        forest = _ShareForest(tied)
        points = forest.points_on_axis()
        if points is None or _coefficient_count(points) > MAX_COEFFICIENTS:
            return None
        return cls(points, None if forest.is_whole else tied)

    def draw(self, count: int, rng: Generator) -> tuple[Array, Array]:
        """Return shares of shape (count, dimension), and True for those that satisfy all comparisons."""
        shares = np.empty((count, len(self._points)))
        drawn: dict[str, Array] = {}
        for name, point in self._points.items():
            density = self._densities[name]
            if point.parent:
                drawn[name] = point.sign * density.draw_below(point.sign * drawn[point.parent], rng)
            else:
                drawn[name] = density.draw(count, rng)
            shares[:, point.place] = ((drawn[name] - point.offset) / point.scale).clip(point.least, point.greatest)
        if self._rest is None:
            return shares, np.ones(count, bool)
        return shares, self._rest.satisfy_comparisons(self._rest.codes_from_shares(shares), count)


class _ShareForest:
    """Comparisons of the shares of two ranges each that form a forest; `is_whole` if there are no other comparisons."""

    def __init__(self, tied: ComparedCells) -> None:
        self._names = tied.names
        self._least, self._greatest = dict.fromkeys(tied.names, 0.0), dict.fromkeys(tied.names, 1.0)
        self._pairs: dict[tuple[str, str], _ShareComparison] = {}
        self._ties = UnionFind(tied.names)
        has_place = [row is not None and self._add(*row) for row in tied.inequalities_of_shares]
        self.is_whole = all(has_place)

    def _add(self, factors: Array, constant: float) -> bool:
        """Add an inequality of shares; return False if it has no place in the forest."""
        names = [self._names[place] for place in np.flatnonzero(factors).tolist()]
        mine = factors[factors != 0].tolist()
        match names:
            case []:
                return constant <= 0
            case [name] if mine[0] > 0:
                self._greatest[name] = min(self._greatest[name], -constant / mine[0])
                return True
            case [name]:
                self._least[name] = max(self._least[name], -constant / mine[0])
                return True
            case [one, other]:
                return self._add_pair((one, other), _ShareComparison(mine[0], mine[1], constant))
            case _:
                return False

    def _add_pair(self, pair: tuple[str, str], comparison: _ShareComparison) -> bool:
        known = self._pairs.get(pair)
        tighter = comparison if known is None else _tighter(known, comparison)
        if tighter is None or (known is None and self._ties.find(pair[0]) == self._ties.find(pair[1])):
            return False
        self._ties.union(pair)
        self._pairs[pair] = tighter
        return True

    def points_on_axis(self) -> dict[str, _AxisPoint] | None:
        """Return the points of all ranges, each after its parent; None if a range has no values or lies too far off."""
        order = ordered_forest(self._names, self._pairs)
        if order is None or any(self._least[name] >= self._greatest[name] for name in self._names):
            return None
        found: dict[str, _AxisPoint] = {}
        for name, parent in reversed(order):
            offset, scale, sign = 0.0, 1.0, 1
            if parent:
                known = self._pairs.get((name, parent)) or self._pairs[parent, name].turned()
                # The comparison is `(own * share + constant) / slope <= parent - offset of parent`, or `>=`.
                slope = -known.other / found[parent].scale
                offset, scale = found[parent].offset + known.constant / slope, known.own / slope
                sign = 1 if slope > 0 else -1
            ends = self._least[name], self._greatest[name]
            point = found[name] = _AxisPoint(self._names.index(name), parent, offset, scale, *ends, sign)
            if max(map(abs, point.ends)) > MAX_OFFSET * (point.ends[1] - point.ends[0]):
                return None
        return found


def _tighter(one: _ShareComparison, other: _ShareComparison) -> _ShareComparison | None:
    """Return the tighter one of two comparisons of the same ranges, or None if neither implies the other."""
    ratio = other.own / one.own
    if ratio <= 0 or other.other != ratio * one.other:
        return None
    return other if other.constant > ratio * one.constant else one


def _coefficient_count(points: Mapping[str, _AxisPoint]) -> int:
    """Return the number of coefficients of all polynomials: for each range, that of its descendants, times pieces."""
    sizes = dict.fromkeys(points, 1)
    for name, point in reversed([*points.items()]):
        if point.parent:
            sizes[point.parent] += sizes[name]
    return sum(sizes.values()) * len({end for each in points.values() for end in each.ends})


def _product(one: Array, other: Array) -> Array:
    """Return the coefficients of the product of two polynomials in each piece (row), all as logarithms."""
    low, high = sorted(
        (one + _log_binomials(one.shape[1] - 1), other + _log_binomials(other.shape[1] - 1)), key=np.size
    )
    degree = low.shape[1] + high.shape[1] - 2
    found = np.full((len(one), degree + 1), -np.inf)
    for place in range(low.shape[1]):
        part = found[:, place : place + high.shape[1]]
        np.logaddexp(part, high + low[:, place, None], out=part)
    found -= _log_binomials(degree)
    return found


def _log_binomials(number: int) -> Array:
    """Return the logarithms of the binomial coefficients of a number, from 0 to that number."""
    sums = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, number + 1)))))
    found: Array = sums[-1] - sums - sums[::-1]
    return found


class _PiecewisePolynomial:
    """A density that is a polynomial in each piece of the axis.

    `logs` has the logarithms of the Bernstein coefficients of a piece in a row, and `edges` has the ends of the pieces.
    """

    def __init__(self, edges: Array, logs: Array) -> None:
        self._edges, self._widths, self._degree = edges, np.diff(edges), logs.shape[1] - 1
        # The coefficient k, times the width over degree + 1, is the weight of the beta distribution (k + 1, degree + 1
        # - k): the point is the one with k of `degree` other uniform points of the piece to its left.
        scales = np.log(self._widths / (self._degree + 1))
        self._sums = np.logaddexp.accumulate(logs, axis=1) + scales[:, None]
        self._masses = np.concatenate(([-np.inf], np.logaddexp.accumulate(self._sums[:, -1])))
        none = np.full((len(logs), 1), -np.inf)
        self._inside = np.concatenate((none, self._sums), axis=1)

    @property
    def log_mass(self) -> float:
        """The logarithm of the integral of the density."""
        return float(self._masses[-1])

    @property
    def log_integral(self) -> Array:
        """The logarithms of the coefficients of the integral up to a point, shape (pieces, degree + 2)."""
        found: Array = np.logaddexp(self._inside, self._masses[:-1, None])
        return found

    def draw(self, count: int, rng: Generator) -> Array:
        """Return `count` points of the axis."""
        return self._draw_in(self._draw_pieces(np.full(count, len(self._widths)), rng), rng)

    def draw_below(self, limits: Array, rng: Generator) -> Array:
        """Return one point left of each of the given ones."""
        found = np.empty(len(limits))
        size = max(1, MAX_CHUNK // (self._degree + 2))
        for start in range(0, len(limits), size):
            found[start : start + size] = self._draw_chunk_below(limits[start : start + size], rng)
        return found

    def _draw_chunk_below(self, limits: Array, rng: Generator) -> Array:
        pieces = (np.searchsorted(self._edges, limits, "right") - 1).clip(0, len(self._widths) - 1)
        shares = ((limits - self._edges[pieces]) / self._widths[pieces]).clip(np.finfo(float).tiny, 1 - 2.0**-53)
        numbers = np.arange(self._degree + 2)
        # The weight of the case that this number of the points of the piece, itself included, lies left of the limit.
        logs = self._inside[pieces] + _log_binomials(self._degree + 1)
        logs += numbers * np.log(shares)[:, None] + numbers[::-1] * np.log1p(-shares)[:, None]
        most = logs.max(axis=1, keepdims=True)
        sums = np.cumsum(np.exp(logs - np.where(np.isfinite(most), most, 0)), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.log(sums[:, -1]) + most[:, 0]
            before = self._masses[pieces]
            is_inside = np.log(rng.random(len(limits))) >= before - np.logaddexp(before, inside)
        found = np.empty(len(limits))
        found[~is_inside] = self._draw_in(self._draw_pieces(pieces[~is_inside], rng), rng)
        levels = rng.random(is_inside.sum()) * sums[is_inside, -1]
        counts = (sums[is_inside] <= levels[:, None]).sum(axis=1).clip(1, self._degree + 1)
        mine = pieces[is_inside]
        ranks = self._draw_ranks(mine, counts, rng)
        lower = self._edges[mine]
        found[is_inside] = lower + (limits[is_inside] - lower) * rng.beta(ranks + 1, counts - ranks)
        return found

    def _draw_pieces(self, ends: Array, rng: Generator) -> Array:
        """Return a piece before each of the given ones, in proportion to the masses of the pieces."""
        with np.errstate(divide="ignore"):
            levels = self._masses[ends] + np.log(rng.random(len(ends)))
        found: Array = np.minimum(np.searchsorted(self._masses[1:], levels, "right"), ends - 1).clip(0)
        return found

    def _draw_in(self, pieces: Array, rng: Generator) -> Array:
        """Return one point in each of the given pieces."""
        ranks = self._draw_ranks(pieces, np.full(len(pieces), self._degree + 1), rng)
        return self._edges[pieces] + self._widths[pieces] * rng.beta(ranks + 1, self._degree + 1 - ranks)

    def _draw_ranks(self, pieces: Array, counts: Array, rng: Generator) -> Array:
        """Return for each piece a number below `counts`, in proportion to the coefficients of the piece."""
        with np.errstate(divide="ignore"):
            levels = self._sums[pieces, counts - 1] + np.log(rng.random(len(pieces)))
        found: Array = counts - 1
        for piece, rows in _rows_by_value(pieces):
            found[rows] = np.minimum(found[rows], np.searchsorted(self._sums[piece], levels[rows], "right"))
        return found


def _rows_by_value(values: Array) -> Iterator[tuple[int, Array]]:
    """Yield each number in an array with the rows that have it."""
    for value in np.unique(values).tolist():
        yield value, np.flatnonzero(values == value)
