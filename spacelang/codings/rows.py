"""Configurations as rows of floats, many at once, with a missing value for what is inactive, and back."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spacelang.codings.domains import Coding, Rows
from spacelang.draws.batch import Batch, Column
from spacelang.draws.codes import Array, Codes
from spacelang.draws.tabulating import Tabulator
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable


@dataclass(frozen=True, slots=True)
class Field:
    """The columns of a decision or a hyperparameter: `coding.width` of them, from `start` on."""

    variable: Variable
    coding: Coding
    start: int

    @property
    def end(self) -> int:
        """The column after its last one."""
        return self.start + self.coding.width


class RowCoding:
    """Rows with the columns of some variables of a space, one after the other; a decision is the set of its branches.

    What is not reached or not active is `missing` in all of its columns, and only there is it in the first of them.
    """

    def __init__(
        self,
        space: Space,
        coding: Callable[[Domain], Coding],
        *,
        variables: Iterable[Variable] | None = None,
        missing: float = math.nan,
    ) -> None:
        """`coding` says how each domain is coded; without `variables`, it is all of them in the order of the text."""
        self.space = space
        self.missing = missing
        fields: list[Field] = []
        for variable in space.variables.values() if variables is None else variables:
            fields.append(Field(variable, coding(domain_of(variable)), fields[-1].end if fields else 0))
        self.fields: tuple[Field, ...] = tuple(fields)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.fields[-1].end if self.fields else 0

    def encode(self, members: Sequence[Configuration] | Batch) -> Rows:
        """The rows of members, shape (n, width)."""
        columns = members if isinstance(members, Batch) else self._tabulator.columns(members)
        found = np.full((len(columns), self.width), self.missing, order="F")
        for field in self.fields:
            drawn = _drawn(columns, field.variable)
            if drawn is None:
                continue
            rows = slice(None) if len(drawn.rows) == len(columns) and _in_order(drawn.rows) else drawn.rows
            found[rows, field.start : field.end] = field.coding.encode(drawn.values)
        return found

    def decode(self, rows: Rows) -> Batch:
        """The members that rows stand for; raises ValueError, with the address, for numbers that stand for nothing."""
        decisions: dict[str, Array] = {}
        hyperparameters: dict[str, Column] = {}
        for field in self.fields:
            at = np.flatnonzero(self.is_active(field, rows))
            if not len(at) and isinstance(field.variable.node, Hyperparameter):
                continue
            try:
                values = field.coding.decode(rows[:, field.start : field.end].take(at, axis=0))
            except ValueError as error:
                raise ValueError(f"a row has no value of `{field.variable.address}`") from error
            if isinstance(field.variable.node, Choice):
                decisions[field.variable.address] = np.full(len(rows), -1, np.int32)
                decisions[field.variable.address][at] = values.codes
            else:
                hyperparameters[field.variable.address] = Column(at, values)
        return Batch(self.space, len(rows), decisions, hyperparameters)

    def has(self, row: Rows) -> bool:
        """Whether a row, (width,), is the one of a member of the space."""
        try:
            with np.errstate(invalid="ignore"):
                (found,) = self.decode(np.asarray(row, float).reshape(1, -1)).configurations()
        except (IndexError, ValueError, OverflowError):
            return False
        return exclusion(self.space, found) is None and np.array_equal(self.encode([found])[0], row, equal_nan=True)

    def is_active(self, field: Field, rows: Rows) -> Array:
        """In which rows a field is not missing."""
        first = rows[:, field.start]
        return np.asarray(first == first if math.isnan(self.missing) else first != self.missing)  # noqa: PLR0124 - NaN

    @cached_property
    def _tabulator(self) -> Tabulator:
        return Tabulator(self.space)


def domain_of(variable: Variable) -> Domain:
    """The values of a hyperparameter; of a decision, the names of its branches."""
    node = variable.node
    return Categorical(tuple(node.places)) if isinstance(node, Choice) else node.domain


def _drawn(columns: Batch, variable: Variable) -> Column | None:
    """The values that a variable has, with their rows; None where it has none."""
    if not isinstance(variable.node, Choice):
        return columns.hyperparameters.get(variable.address)
    places = columns.decisions.get(variable.address)
    if places is None:
        return None
    rows = np.flatnonzero(places >= 0)
    return Column(rows, Codes(places[rows]))


def _in_order(rows: Array) -> bool:
    return bool((rows == np.arange(len(rows))).all())
