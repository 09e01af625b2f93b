"""Encodings of values and of configurations as rows of floats, many at once, and the limits of floats."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, affine_integer_coefficients, parts
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.ir.value import Value
from spacelang.ir.walk import assemble_configuration, walk_reached_variables
from spacelang.sampling import value_codes
from spacelang.sampling.batch_builder import BatchBuilder, ConfigurationBatch, SparseColumn
from spacelang.sampling.unit_scale import UnitScale, unit_scale
from spacelang.sampling.value_codes import Array, ValueCodes

EncodedRows: TypeAlias = NDArray[np.float64]
"""Floats with one row for each value or configuration, and one column for each number."""
PartFunction: TypeAlias = Callable[[SimpleDomain, Array], Array]
"""A function that maps an array of numbers to another one, for a given part of a domain."""


class DomainEncoding:
    """An encoding of the values of one domain as rows of floats; `decode(encode(values))` returns the same values.

    If the domain is a union, the first column has the index of the part. The value follows; `columns` maps the index of
    a part to its column. `exact_encoding` and `unit_interval_encoding` create the two kinds of encodings.
    """

    def __init__(
        self,
        domain: Domain,
        number: PartFunction,
        code: PartFunction,
        *,
        has_part: bool = False,
        is_apart: bool = False,
    ) -> None:
        """Create an encoding; `number` maps the codes of a part to numbers, and `code` maps these back.

        `has_part` adds the column with the index of the part even if the domain is not a union. `is_apart` gives every
        part with several values a column of its own.
        """
        self.parts = parts(domain)
        self.has_part = has_part or len(self.parts) > 1
        coded = [place for place, part in enumerate(self.parts) if not (is_apart and self.has_part and part.size == 1)]
        self.columns = {place: self.has_part + is_apart * turn for turn, place in enumerate(coded)}
        self.width = 1 + max(self.columns.values(), default=0)
        self._to_number, self._to_code = number, code
        self._selector = Categorical(tuple(range(len(self.parts))))
        self._type = value_codes.code_dtype(domain)

    def encode(self, values: ValueCodes) -> EncodedRows:
        """Return the rows of values of the domain, shape (n, width), with NaN in the columns of all other parts."""
        found = np.full((len(values), self.width), np.nan, order="F")
        if self.has_part:
            found[:, 0] = 0 if values.parts is None else self._to_number(self._selector, values.parts)
        for place, column in self.columns.items():
            mine = _rows_in_part(place, values.parts)
            found[mine, column] = self._to_number(self.parts[place], values.codes[mine])
        return found

    def decode(self, rows: EncodedRows) -> ValueCodes:
        """Return the codes of the values that rows of shape (n, width) stand for."""
        marks = self._to_code(self._selector, rows[:, 0]).astype(np.int8) if self.has_part else None
        codes = np.empty(len(rows))
        for place, part in enumerate(self.parts):
            mine = _rows_in_part(place, marks)
            given = rows[mine, self.columns[place]] if place in self.columns else np.zeros(len(codes[mine]))
            codes[mine] = self._to_code(part, given)
        return ValueCodes(codes.astype(self._type), marks if len(self.parts) > 1 else None)


@dataclass(frozen=True, slots=True)
class VariableColumns:
    """The columns of one decision or hyperparameter: `coding.width` columns, the first of which is `start`."""

    variable: Variable
    coding: DomainEncoding
    start: int

    @property
    def end(self) -> int:
        """The index of the column after the last one."""
        return self.start + self.coding.width


class RowEncoding:
    """An encoding of configurations as rows that have the columns of several variables, one after the other.

    A decision is encoded like the set of its branch names. A variable that is not reached or not active has the value
    `missing` in all of its columns. The first column of an active variable is never missing.
    """

    def __init__(
        self,
        space: Space,
        coding: Callable[[Domain], DomainEncoding],
        *,
        variables: Iterable[Variable] | None = None,
        missing: float = math.nan,
    ) -> None:
        """Create the encoding of `variables` (all, in the order of the text); `coding` returns that of each domain."""
        self.space, self.missing = space, missing
        fields: list[VariableColumns] = []
        for variable in space.variables.values() if variables is None else variables:
            fields.append(VariableColumns(variable, coding(domain_of(variable)), fields[-1].end if fields else 0))
        self.fields: tuple[VariableColumns, ...] = tuple(fields)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.fields[-1].end if self.fields else 0

    def encode(self, members: Sequence[Configuration] | ConfigurationBatch) -> EncodedRows:
        """Return the rows of configurations, shape (n, width)."""
        columns = members if isinstance(members, ConfigurationBatch) else self._batch_builder.build(members)
        found = np.full((len(columns), self.width), self.missing, order="F")
        for field in self.fields:
            drawn = _column_of(columns, field.variable)
            if drawn is None:
                continue
            is_whole = len(drawn.rows) == len(columns) and (drawn.rows == np.arange(len(columns))).all()
            rows = slice(None) if is_whole else drawn.rows
            found[rows, field.start : field.end] = field.coding.encode(drawn.values)
        return found

    def decode(self, rows: EncodedRows) -> ConfigurationBatch:
        """Return the batch of configurations; raise ValueError with the variable whose number stands for no value."""
        decisions: dict[str, Array] = {}
        hyperparameters: dict[str, SparseColumn] = {}
        for field in self.fields:
            at = np.flatnonzero(self.is_active(field, rows))
            if not len(at) and isinstance(field.variable.node, Hyperparameter):
                continue
            try:
                values = field.coding.decode(rows[:, field.start : field.end].take(at, axis=0))
            except ValueError as error:
                raise ValueError(f"the numbers for `{field.variable.address}` in a row encode no value") from error
            if isinstance(field.variable.node, Choice):
                decisions[field.variable.address] = np.full(len(rows), -1, np.int32)
                decisions[field.variable.address][at] = values.codes
            else:
                hyperparameters[field.variable.address] = SparseColumn(at, values)
        return ConfigurationBatch(self.space, len(rows), decisions, hyperparameters)

    def is_valid_row(self, row: EncodedRows) -> bool:
        """Return True if a row of shape (width,) is the encoding of a valid configuration of the space."""
        try:
            with np.errstate(invalid="ignore"):
                (found,) = self.decode(np.asarray(row, float).reshape(1, -1)).configurations()
        except (IndexError, ValueError, OverflowError):
            return False
        is_member = first_exclusion(self.space, found) is None
        return is_member and np.array_equal(self.encode([found])[0], row, equal_nan=True)

    def is_active(self, field: VariableColumns, rows: EncodedRows) -> Array:
        """Return a boolean array: True for the rows in which the variable of a field is active (is not `missing`)."""
        first = rows[:, field.start]
        return np.asarray(first == first if math.isnan(self.missing) else first != self.missing)  # noqa: PLR0124 - NaN

    @cached_property
    def _batch_builder(self) -> BatchBuilder:
        return BatchBuilder(self.space)


def domain_of(variable: Variable) -> Domain:
    """Return the domain of a hyperparameter; for a decision, the set of its branch names."""
    node = variable.node
    return Categorical(tuple(node.branch_indices)) if isinstance(node, Choice) else node.domain


def _column_of(columns: ConfigurationBatch, variable: Variable) -> SparseColumn | None:
    if not isinstance(variable.node, Choice):
        return columns.hyperparameters.get(variable.address)
    places = columns.decisions.get(variable.address)
    if places is None:
        return None
    rows = np.flatnonzero(places >= 0)
    return SparseColumn(rows, ValueCodes(places[rows]))


class VectorEncoding:
    """An encoding of configurations as vectors, for models of decisions and values together.

    The columns are those of `unit_interval_encoding` for all variables with several values. Inactive and unreached
    variables are NaN, and so are the columns of all parts of a union but the chosen one. A vector without NaN decodes
    to the configuration with the decisions that it encodes and with the values of the hyperparameters that are active
    under them.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        several = [each for each in space.variables.values() if domain_of(each).size != 1]
        rows = RowEncoding(space, unit_interval_encoding, variables=several)
        self.fields, self.width, self.encode = rows.fields, rows.width, rows.encode
        """The columns of each variable in the order of the text, their number, and a function of configurations."""

    def decode(self, vectors: EncodedRows) -> Iterator[Configuration | None]:
        """Yield the configurations of vectors without NaN, shape (n, width), or None where constraints exclude one."""
        values = {}
        for field in self.fields:
            found = field.coding.decode(np.asarray(vectors[:, field.start : field.end]))
            values[field.variable.address] = value_codes.decode_values(domain_of(field.variable), found)
        return (self._assemble(values, row) for row in range(len(vectors)))

    def _assemble(self, values: dict[str, list[Value]], row: int) -> Configuration | None:
        def branch_of(choice: Choice) -> str:
            return str(values[choice.address][row]) if choice.address in values else choice.branches[0].name

        def value_of(node: Hyperparameter) -> Value:
            return values[node.address][row] if node.address in values else node.default

        structure = {
            each.address: branch for each, branch in walk_reached_variables(self.space, branch_of) if branch is not None
        }
        found = assemble_configuration(self.space, structure, value_of)
        return None if self.space.constraints and first_exclusion(self.space, found) is not None else found


def exact_encoding(domain: Domain, *, has_part: bool = False) -> DomainEncoding:
    """Return the encoding of values as part index (if `has_part`, or for a union) and value, without any scaling.

    Decoding raises ValueError for a number that no value has.
    """
    return DomainEncoding(domain, lambda _, codes: codes, _require_member, has_part=has_part)


def unit_interval_encoding(domain: Domain) -> DomainEncoding:
    """Return the encoding in [0, 1] with a column per part of several values; decoded to the nearest member."""
    return DomainEncoding(domain, to_unit, from_unit, is_apart=True)


def _rows_in_part(place: int, marks: Array | None) -> "Array | slice":
    return slice(None) if marks is None else np.flatnonzero(marks == place)


def _require_member(part: SimpleDomain, given: Array) -> Array:
    found = nearest_codes(part, given)
    if not (found == given).all():
        raise ValueError("a number encodes no value of the domain")
    return found


MAX_EXACT_STEPS: Final = 2**50
"""If all members of a grid lie within this many steps of 0, rounding changes an index by less than a quarter."""


def round_half_up(numbers: Array) -> Array:
    """Return the nearest integers as floats, the upper one in a tie."""
    given = np.asarray(numbers, float)
    below = np.floor(given)
    return np.asarray(below + (given - below >= 0.5))  # adding 0.5 to a large float may round up to the next integer


def nearest_indices(part: SimpleDomain, codes: Array) -> Array:
    """Return the indices of the members of a finite domain that are nearest to the codes.

    For codes outside of the range they may be below 0 or beyond the last index; they are not clipped.
    """
    match part:
        case Categorical():
            return round_half_up(codes)
        case Grid(is_integral=True):
            return round_half_up((np.asarray(codes, float) - part.lower) / part.step)
        case Grid():
            given, (start, step, below) = np.asarray(codes, float), affine_integer_coefficients(part)
            if max(abs(start), abs(start + step * part.last_index)) < step * MAX_EXACT_STEPS:
                return round_half_up((given * below - start) / step)
            return np.array([part.index_of(code) for code in given.ravel().tolist()], float).reshape(given.shape)
        case Real():
            return np.zeros(np.shape(codes))


def nearest_codes(domain: SimpleDomain, numbers: Array) -> Array:
    """Return the codes of the members nearest to some numbers (the upper one in a tie), never of an excluded end."""
    given = np.asarray(numbers, float)
    if isinstance(domain, Categorical):
        return round_half_up(_clip(given, 0, domain.last_index))
    inside = _clip(given, domain.least, domain.greatest)
    if domain.size is None:
        return inside + 0.0
    if isinstance(domain, Grid) and domain.is_consecutive:
        return round_half_up(inside)
    return value_codes.codes_of_members_at(domain, nearest_indices(domain, inside))


def to_unit(part: SimpleDomain, codes: Array) -> Array:
    """Return the positions of codes between the ends of a domain, clipped to [0, 1].

    They are (x - lower) / (upper - lower), where x is the logarithm of the code under `log`, and the index for a set.
    """
    return _clip(_scale_of(part).to_unit(np.asarray(codes, float)), 0.0, 1.0)


def from_unit(part: SimpleDomain, places: Array) -> Array:
    """Return the codes of the members nearest to positions in [0, 1]; 0 and 1 are the first and the last member."""
    given = _clip(np.asarray(places, float), 0.0, 1.0)
    found = nearest_codes(part, _scale_of(part).from_unit(given))
    first, last = (0, part.last_index) if isinstance(part, Categorical) else (part.least, part.greatest)
    return np.where(given <= 0.0, float(first), np.where(given >= 1.0, float(last), found))


def _scale_of(part: SimpleDomain) -> UnitScale:
    if isinstance(part, Categorical):
        return unit_scale(0, part.last_index, log=False, functions=np)
    return unit_scale(part.lower, part.upper, log=part.log, functions=np)


def _clip(numbers: Array, lower: float, upper: float) -> Array:
    """Return the numbers clipped to a range, like `np.clip` but five times as fast for small arrays."""
    return np.asarray(np.minimum(np.maximum(numbers, lower), upper))
