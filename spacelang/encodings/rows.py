"""Encoding of configurations as rows of floats, many at once, with a missing value for inactive variables."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spacelang.encodings.domains import DomainEncoding, EncodedRows, unit_encoding
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.ir.value import Value
from spacelang.ir.walk import assemble, walk_reached
from spacelang.sampling.batch_builder import Batch, BatchBuilder, Column
from spacelang.sampling.value_codes import Array, ValueCodes, decode_values


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
        """Create the encoding of a space; `coding` returns the encoding of each domain.

        Without `variables`, it includes all variables of the space in the order of its text.
        """
        self.space = space
        self.missing = missing
        fields: list[VariableColumns] = []
        for variable in space.variables.values() if variables is None else variables:
            fields.append(VariableColumns(variable, coding(domain_of(variable)), fields[-1].end if fields else 0))
        self.fields: tuple[VariableColumns, ...] = tuple(fields)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.fields[-1].end if self.fields else 0

    def encode(self, members: Sequence[Configuration] | Batch) -> EncodedRows:
        """Return the rows of configurations, shape (n, width)."""
        columns = members if isinstance(members, Batch) else self._batch_builder.build(members)
        found = np.full((len(columns), self.width), self.missing, order="F")
        for field in self.fields:
            drawn = _column_of(columns, field.variable)
            if drawn is None:
                continue
            rows = slice(None) if len(drawn.rows) == len(columns) and _is_in_order(drawn.rows) else drawn.rows
            found[rows, field.start : field.end] = field.coding.encode(drawn.values)
        return found

    def decode(self, rows: EncodedRows) -> Batch:
        """Return the batch of configurations that rows stand for.

        Raises ValueError with the address of the variable if a number stands for no value.
        """
        decisions: dict[str, Array] = {}
        hyperparameters: dict[str, Column] = {}
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
                hyperparameters[field.variable.address] = Column(at, values)
        return Batch(self.space, len(rows), decisions, hyperparameters)

    def is_valid_row(self, row: EncodedRows) -> bool:
        """Return True if a row of shape (width,) is the encoding of a valid configuration of the space."""
        try:
            with np.errstate(invalid="ignore"):
                (found,) = self.decode(np.asarray(row, float).reshape(1, -1)).configurations()
        except (IndexError, ValueError, OverflowError):
            return False
        return first_exclusion(self.space, found) is None and np.array_equal(
            self.encode([found])[0], row, equal_nan=True
        )

    def is_active(self, field: VariableColumns, rows: EncodedRows) -> Array:
        """Return a boolean array: True for the rows in which a field is not missing."""
        first = rows[:, field.start]
        return np.asarray(first == first if math.isnan(self.missing) else first != self.missing)  # noqa: PLR0124 - NaN

    @cached_property
    def _batch_builder(self) -> BatchBuilder:
        return BatchBuilder(self.space)


def domain_of(variable: Variable) -> Domain:
    """Return the domain of a hyperparameter; for a decision, the set of its branch names."""
    node = variable.node
    return Categorical(tuple(node.branch_indices)) if isinstance(node, Choice) else node.domain


def _column_of(columns: Batch, variable: Variable) -> Column | None:
    """Return the values of a variable and their rows; None if no row has a value."""
    if not isinstance(variable.node, Choice):
        return columns.hyperparameters.get(variable.address)
    places = columns.decisions.get(variable.address)
    if places is None:
        return None
    rows = np.flatnonzero(places >= 0)
    return Column(rows, ValueCodes(places[rows]))


def _is_in_order(rows: Array) -> bool:
    return bool((rows == np.arange(len(rows))).all())


class VectorEncoding:
    """An encoding of configurations as vectors, for models of decisions and values together.

    The columns are those of `unit_encoding` for all variables with several values. Inactive and unreached variables,
    and parts that are not taken, are NaN. A vector without NaN decodes to the configuration with the decisions that it
    encodes and with the values of the hyperparameters that are active under them.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        several = [each for each in space.variables.values() if domain_of(each).size != 1]
        self._rows = RowEncoding(space, unit_encoding, variables=several)

    @property
    def fields(self) -> tuple[VariableColumns, ...]:
        """The columns of each decision and hyperparameter, in the order of the text."""
        return self._rows.fields

    @property
    def width(self) -> int:
        """The number of columns."""
        return self._rows.width

    def encode(self, configurations: Sequence[Configuration]) -> EncodedRows:
        """Return the vectors of configurations, shape (n, width)."""
        return self._rows.encode(configurations)

    def decode(self, vectors: EncodedRows) -> Iterator[Configuration | None]:
        """Yield the configurations that vectors without NaN stand for, shape (n, width).

        Yields None in place of a configuration that a constraint excludes.
        """
        values = {
            field.variable.address: _decode_field(field, vectors[:, field.start : field.end]) for field in self.fields
        }
        return (self._assemble(values, row) for row in range(len(vectors)))

    def _assemble(self, values: dict[str, list[Value]], row: int) -> Configuration | None:
        def branch_of(choice: Choice) -> str:
            return str(values[choice.address][row]) if choice.address in values else choice.branches[0].name

        def value_of(node: Hyperparameter) -> Value:
            return values[node.address][row] if node.address in values else node.default

        structure = {each.address: branch for each, branch in walk_reached(self.space, branch_of) if branch is not None}
        found = assemble(self.space, structure, value_of)
        return None if self.space.constraints and first_exclusion(self.space, found) is not None else found


def _decode_field(field: VariableColumns, columns: EncodedRows) -> list[Value]:
    return decode_values(domain_of(field.variable), field.coding.decode(np.asarray(columns)))
