"""ADMM points as arrays, and the boxes of theta_c and theta_d with the projection P_D and the scaling to [0, 1].

See spacelang/optimizers/README.md, section "ADMM: variables".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from spacelang.deprecation import renamed_attributes
from spacelang.encodings.mixed_integer_encoding import EncodedDomainPart, UnitIntervalMapping
from spacelang.encodings.row_encodings import round_half_up
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, describe, literal
from spacelang.ir.prior import Prior
from spacelang.ir.space import Space
from spacelang.ir.value import to_json
from spacelang.sampling.prior_draws import prior_of_address, prior_quantile_indices, prior_quantiles
from spacelang.sampling.value_codes import Array

Owner: TypeAlias = tuple[str, str] | None
"""The stage and the alternative to which a variable belongs; None if it belongs to every pipeline."""


@dataclass(frozen=True, slots=True)
class ThetaCoordinate:
    """One variable of theta: `name` is its key in configurations, and `default` is the code of its default.

    `excluded` are the codes between the bounds that are not in D. `condition` is the text of the condition under which
    the variable is active in its alternative; empty if there is none.
    """

    name: str
    address: str
    owner: Owner
    pieces: tuple[EncodedDomainPart, ...]
    default: float
    excluded: frozenset[int] = frozenset()
    condition: str = ""

    @property
    def log(self) -> bool:
        """True if the variable has a logarithmic scale; False for a union, whose parts have scales of their own."""
        part = self.pieces[0].part
        return len(self.pieces) == 1 and isinstance(part, Grid | Real) and part.log

    def to_json(self, *, integral: bool) -> dict[str, object]:
        """Return the variable as a dictionary that the `json` module can write.

        The bounds are codes, or values if it is continuous (`integral=False`). `values` are those of a set.
        """
        document: dict[str, object] = {"name": self.name, "owner": self.owner and list(self.owner)}
        document |= {"lower": self.pieces[0].first, "upper": self.pieces[-1].last_integer, "log": self.log}
        if not integral:
            part = self.pieces[0].part
            assert isinstance(part, Real)
            document |= {"lower": part.lower, "upper": part.upper}
            document |= {"lower_open": True} if part.lower_open else {}
            document |= {"upper_open": True} if part.upper_open else {}
        elif len(self.pieces) == 1:
            document |= _piece_to_json(self.pieces[0])
        else:
            document["parts"] = [{"lower": p.first, "upper": p.last_integer, **_piece_to_json(p)} for p in self.pieces]
        if self.excluded:
            document["excluded"] = sorted(self.excluded)
        document |= {"condition": self.condition} if self.condition else {}
        return {**document, "default": self.default}


def _piece_to_json(piece: EncodedDomainPart) -> dict[str, object]:
    """Return the keys of a JSON document that say which values the codes of a piece stand for.

    The dictionary is empty if the codes are the values themselves.
    """
    part = piece.part
    scale = {"log": True} if isinstance(part, Grid | Real) and part.log else {}
    match part:
        case Ordinal():
            return {"values": list(map(to_json, part.values)), "ordered": True}
        case Categorical():
            return {"values": list(map(to_json, part.values))}
        case Real() if piece.is_continuous:
            return {"range": [part.lower, part.upper], **scale}
        case Grid() if part.is_consecutive and piece.first == part.lower:
            return {}
    start, step = piece.first_value_and_step()
    return {"start": start, "step": step, **scale}


class ThetaCoordinates:
    """The coordinates of theta_c or theta_d as arrays: bounds, log flags and defaults, and D if they are integral.

    The bounds of all coordinates together are a box.
    """

    def __init__(self, coordinates: tuple[ThetaCoordinate, ...], *, integral: bool) -> None:
        """Create the arrays; integral coordinates are integers in D, stored as floats."""
        self.coordinates, self.integral = coordinates, integral
        self.names: tuple[str, ...] = tuple(each.name for each in coordinates)
        self.owners: tuple[Owner, ...] = tuple(each.owner for each in coordinates)
        ends = [_bounds_of(each, integral=integral) for each in coordinates]
        self.lower: Array = np.array([lower for lower, _ in ends], float)
        self.upper: Array = np.array([upper for _, upper in ends], float)
        self.default: Array = np.array([each.default for each in coordinates], float)
        self.log: Array = np.array([each.log for each in coordinates], bool)
        codes = {
            c: range(e.pieces[0].first, e.pieces[-1].last_integer + 1) for c, e in enumerate(coordinates) if e.excluded
        }
        self.lattice: dict[int, Array] = {
            c: np.array([code for code in every if code not in coordinates[c].excluded], float)
            for c, every in codes.items()
        }
        """The members of D by column, for coordinates with excluded codes; all others have every integer of the box."""
        for column in self.lattice:
            self.default[column] = self._nearest_member(column, self.default[column : column + 1])[0]

    def __len__(self) -> int:
        return len(self.coordinates)

    def take(self, columns: Array) -> "ThetaCoordinates":
        """Return the coordinates at the given column indices."""
        return ThetaCoordinates(tuple(self.coordinates[column] for column in columns), integral=self.integral)

    @property
    def penalty_scales(self) -> Array:
        """The unit of each variable in penalties: max(1, upper - lower)."""
        return np.asarray(np.maximum(1, self.upper - self.lower))

    def clip(self, theta: Array) -> Array:
        """Return the nearest points of the box, shape (..., coordinates); NaN becomes the default."""
        given = np.asarray(theta, float)
        return np.asarray(np.clip(np.where(np.isnan(given), self.default, given), self.lower, self.upper))

    def nearest(self, theta: Array) -> Array:
        """Return the projection P_D of points: clipped, and rounded (up in a tie) to members of D if integral."""
        clipped = self.clip(theta)
        if not self.integral:
            return clipped + 0.0
        found = round_half_up(clipped)
        for column in self.lattice:
            found[..., column] = self._nearest_member(column, clipped[..., column])
        return found

    def contains(self, theta: Array) -> Array:
        """Return True for each point that lies in the box and, if the box is integral, in D; shape (...)."""
        given = np.asarray(theta)
        found: Array = ((given >= self.lower) & (given <= self.upper)).astype(bool)
        if self.integral:
            found &= (given == self.nearest(given)).astype(bool)
        return np.asarray(found.all(axis=-1))

    def to_unit(self, theta: Array) -> Array:
        """Scale points of the box to [0, 1], shape (..., coordinates); the scale is logarithmic under `log`.

        Points need not be members of D. The parts of a union have equal shares of [0, 1]. Every member has half a step
        on both of its sides.
        """
        return self._map_columns(self.clip(theta), [scale.to_unit for scale in self._scales])

    def from_unit(self, places: Array) -> Array:
        """Return the points of the box at coordinates in [0, 1]; they are not rounded, even if the box is integral."""
        given = np.clip(np.asarray(places, float), 0.0, 1.0)
        return np.clip(self._map_columns(given, [scale.from_unit for scale in self._scales]), self.lower, self.upper)

    def prior_quantile_functions(self, space: Space) -> list[Callable[[Array], Array] | None]:
        """Return, for each coordinate, a function from uniform numbers to draws by its prior, all in [0, 1].

        A function takes and returns arrays. It is None for a coordinate without a prior.
        """
        priors = [prior_of_address(space, each.address) for each in self.coordinates]
        return [None if p is None else partial(self._places_by_prior, c, p) for c, p in enumerate(priors)]

    def _places_by_prior(self, column: int, prior: Prior, shares: Array) -> Array:
        pieces = self.coordinates[column].pieces
        chosen = np.minimum(np.floor(shares * len(pieces)), len(pieces) - 1)
        inside, found = shares * len(pieces) - chosen, np.zeros(len(shares))
        for number, piece in enumerate(pieces):
            mine = np.flatnonzero(chosen == number)
            if not piece.is_continuous:
                assert not isinstance(piece.part, Real)
                found[mine] = piece.first + prior_quantile_indices(inside[mine], piece.part, prior)
            elif self.integral:
                found[mine] = piece.first
            else:
                assert isinstance(piece.part, Real)
                found[mine] = prior_quantiles(inside[mine], piece.part, prior)
        return self._scales[column].to_unit(found)

    def _map_columns(self, given: Array, functions: "list[Callable[[Array], Array]]") -> Array:
        found = np.empty(given.shape)
        for column, function in enumerate(functions):
            found[..., column] = function(given[..., column])
        return found

    @cached_property
    def _scales(self) -> tuple[UnitIntervalMapping, ...]:
        return tuple(UnitIntervalMapping(each.pieces, integral=self.integral) for each in self.coordinates)

    def _nearest_member(self, column: int, values: Array) -> Array:
        members = self.lattice[column]
        return np.asarray(members[np.searchsorted((members[1:] + members[:-1]) / 2, values, "right")])


def _bounds_of(coordinate: ThetaCoordinate, *, integral: bool) -> tuple[float, float]:
    if integral:
        return coordinate.pieces[0].first, coordinate.pieces[-1].last_integer
    part = coordinate.pieces[0].part
    assert isinstance(part, Real)
    return part.least, part.greatest


def describe_piece_values(piece: EncodedDomainPart) -> str:
    """Return the values that the codes of a piece stand for, as text."""
    part = piece.part
    match part:
        case Ordinal() | Categorical():
            return "{" + ", ".join(map(literal, part.values)) + "}"
        case Grid() | Real():
            return describe(part).removeprefix("float").removeprefix("int")


@renamed_attributes(order="first_order_matrix")
@dataclass(frozen=True, slots=True, eq=False)
class AdmmPoint:
    """A value of every variable: z (K,), theta_c (C,), theta_d (D,), orders (T, T).

    The numbers may be any, also such that no configuration has them.
    """

    z: Array
    theta_c: Array
    theta_d: Array
    orders: tuple[Array, ...] = ()

    @property
    def first_order_matrix(self) -> Array | None:
        """The permutation matrix of the first order; None if the space permutes no steps."""
        return self.orders[0] if self.orders else None

    def __eq__(self, other: object) -> bool:
        """Return True if all variables have the same values."""
        if not isinstance(other, AdmmPoint):
            return False
        mine, theirs = ((each.z, each.theta_c, each.theta_d, *each.orders) for each in (self, other))
        return all(map(np.array_equal, mine, theirs))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class AdmmPoints:
    """Many points: the arrays of `AdmmPoint` with an additional first axis, where row i of each is point i."""

    z: Array
    theta_c: Array
    theta_d: Array
    orders: tuple[Array, ...] = ()

    @classmethod
    def stack(cls, points: Sequence[AdmmPoint]) -> "AdmmPoints":
        """Stack one or more points, in their order."""
        orders = tuple(map(np.stack, zip(*(point.orders for point in points), strict=True)))
        vectors = zip(*((point.z, point.theta_c, point.theta_d) for point in points), strict=True)
        z, theta_c, theta_d = map(np.stack, vectors)
        return cls(z, theta_c, theta_d, orders)

    def __len__(self) -> int:
        return len(self.z)

    def __getitem__(self, row: int) -> AdmmPoint:
        return AdmmPoint(self.z[row], self.theta_c[row], self.theta_d[row], tuple(order[row] for order in self.orders))

    def __iter__(self) -> Iterator[AdmmPoint]:
        return (self[row] for row in range(len(self)))

    def copy(self) -> "AdmmPoints":
        """Return a copy with its own arrays."""
        return AdmmPoints(self.z.copy(), self.theta_c.copy(), self.theta_d.copy(), tuple(map(np.copy, self.orders)))

    def take(self, rows: Array) -> "AdmmPoints":
        """Return the points with the given row indices, as a copy."""
        orders = tuple(order[rows] for order in self.orders)
        return AdmmPoints(self.z[rows], self.theta_c[rows], self.theta_d[rows], orders)

    def replace_rows(self, rows: Array, others: "AdmmPoints") -> None:
        """Replace the points of some rows, in place."""
        self.z[rows], self.theta_c[rows], self.theta_d[rows] = others.z, others.theta_c, others.theta_d
        for mine, theirs in zip(self.orders, others.orders, strict=True):
            mine[rows] = theirs


@dataclass(frozen=True, slots=True, eq=False)
class VariableMask:
    """A mask with True for some of the variables, for one point or for many.

    It has an entry for each variable of theta_c and theta_d, and one for each order as a whole.
    """

    theta_c: Array
    theta_d: Array
    orders: tuple[Array, ...] = ()
