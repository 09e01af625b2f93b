"""Configurations as rows of floats: which columns there are, the way down and the way back.

Every number is exact: a decision is the place of its branch, a set's value its place, a number itself. NaN stands
wherever nothing is active.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spacelang.ir.codes import Codes, code_of, code_type
from spacelang.ir.columns import Column as Drawn
from spacelang.ir.columns import Columns
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Integer, Ordinal, Real, Simple, contains, describe, parts
from spacelang.ir.expr import Inactive
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment

Rows: TypeAlias = NDArray[np.float64]
"""A row a configuration, a column an entry of the layout."""

Kind: TypeAlias = Literal["decision", "part", "categorical", "ordinal", "int", "float", "mixed"]


@dataclass(frozen=True, slots=True)
class Column:
    """What the numbers of a column mean; `lower` and `upper` are the least and greatest that there are.

    `categories` are what places stand for: the branches of a decision, the parts of a union, the values of a set. A
    `mixed` column belongs to a union: the column of the part before it says how it is read (`inner`).
    """

    name: str
    address: str
    kind: Kind
    lower: float
    upper: float
    log: bool = False
    categories: tuple[Value, ...] | None = None
    inner: tuple["Column", ...] = ()


class Layout:
    """The columns of a space, in the order of the text."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.columns: tuple[Column, ...] = ()
        self._starts: dict[str, int] = {}
        names = _names(space)
        for address, variable in space.variables.items():
            self._starts[address] = len(self.columns)
            self.columns += tuple(_columns(variable, names[address]))

    def rows(self, columns: Columns) -> Rows:
        """Drawn configurations as rows."""
        found = np.full((len(columns), len(self.columns)), np.nan)
        for address, places in columns.decisions.items():
            found[:, self._starts[address]] = np.where(places >= 0, places, np.nan)
        for address, drawn in columns.hyperparameters.items():
            domain = _domain(self.space, address)
            several = parts(domain)
            marks = np.zeros(len(drawn.rows), np.int8) if drawn.values.parts is None else drawn.values.parts
            start = self._starts[address]
            if len(several) > 1:
                found[drawn.rows, start] = marks
                start += 1
            found[drawn.rows, start] = drawn.values.codes
        return found

    def columns_of(self, rows: Rows) -> Columns:
        """Rows as columns; raises ValueError for numbers that stand for nothing."""
        decisions, hyperparameters = {}, {}
        for address, variable in self.space.variables.items():
            start = self._starts[address]
            if isinstance(variable.node, Choice):
                decisions[address] = _places(rows[:, start], len(variable.node.branches), address)
                continue
            drawn = self._drawn(variable.node, rows[:, start : start + _width(variable.node.domain)])
            if len(drawn.rows):
                hyperparameters[address] = drawn
        return Columns(self.space, len(rows), decisions, hyperparameters)

    def row(self, configuration: Configuration) -> Rows:
        """One member as a row."""
        found = np.full(len(self.columns), np.nan)
        lookup = Assignment.of(self.space, configuration)
        for address, variable in self.space.variables.items():
            worth, start = lookup(address), self._starts[address]
            if isinstance(worth, Inactive):
                continue
            if isinstance(variable.node, Choice):
                found[start] = variable.node.places[str(worth)]
            else:
                entries = _of_value(variable.node.domain, worth)
                found[start : start + len(entries)] = entries
        return found

    def _drawn(self, node: Hyperparameter, rows: Rows) -> Drawn:
        several, active = parts(node.domain), np.flatnonzero(~np.isnan(rows[:, 0]))
        marks, entries = None, rows[active]
        if len(several) > 1:
            marks, entries = _places(entries[:, 0], len(several), node.address), entries[:, 1:]
        codes = np.empty(len(active), code_type(node.domain))
        for place, part in enumerate(several):
            mine = np.arange(len(active)) if marks is None else np.flatnonzero(marks == place)
            codes[mine] = _codes(part, entries[mine, 0], node.address)
        return Drawn(active, Codes(codes, marks))


def _width(domain: Domain) -> int:
    return 1 + (len(parts(domain)) > 1)


def _names(space: Space) -> dict[str, str]:
    """Keys, and addresses for the few keys that several variables share."""
    counts: dict[str, int] = {}
    for variable in space.variables.values():
        counts[variable.key] = counts.get(variable.key, 0) + 1
    return {a: v.key if counts[v.key] == 1 else a for a, v in space.variables.items()}


def _columns(variable: Variable, name: str) -> Iterator[Column]:
    node = variable.node
    if isinstance(node, Choice):
        branches = tuple(branch.name for branch in node.branches)
        yield Column(name, node.address, "decision", 0, len(branches) - 1, categories=branches)
        return
    several = parts(node.domain)
    if len(several) == 1:
        yield _of_part(several[0], name, node.address)
        return
    labels = tuple(map(describe, several))
    yield Column(f"{name}:part", node.address, "part", 0, len(several) - 1, categories=labels)
    inner = tuple(_of_part(part, name, node.address) for part in several)
    lower, upper = min(column.lower for column in inner), max(column.upper for column in inner)
    yield Column(name, node.address, "mixed", lower, upper, inner=inner)


def _of_part(part: Simple, name: str, address: str) -> Column:
    match part:
        case Categorical():
            kind: Kind = "ordinal" if isinstance(part, Ordinal) else "categorical"
            return Column(name, address, kind, 0, part.size - 1, categories=part.values)
        case Real():
            return Column(name, address, "float", part.lower, part.upper, part.log)
        case Integer():
            return Column(name, address, "int", part.lower, part.upper, part.log)


def _domain(space: Space, address: str) -> Domain:
    node = space.variables[address].node
    assert isinstance(node, Hyperparameter)
    return node.domain


def _of_value(domain: Domain, value: Value) -> list[float]:
    place, code = code_of(domain, value)
    return [float(place), float(code)] if len(parts(domain)) > 1 else [float(code)]  # type: ignore[arg-type]


def _codes(part: Simple, first: Rows, address: str) -> NDArray[np.generic]:
    """The codes of floats; raises ValueError for those that stand for no member."""
    if isinstance(part, Categorical):
        return _places(first, part.size, address)
    if isinstance(part, Integer):
        whole = np.isfinite(first) & (first == np.rint(first))
        inside = whole & (first >= part.lower) & (first <= part.upper)
        if not inside.all() or ((first - part.lower) % part.step).any():
            raise ValueError(f"a row has no value of `{address}`")
        return first.astype(np.int64)
    if not all(contains(part, number) for number in (first if part.step is not None else _ends(first)).tolist()):
        raise ValueError(f"a row has no value of `{address}`")
    return first + 0.0


def _ends(numbers: Rows) -> Rows:
    """The least and the greatest: those that may lie outside."""
    return np.array([numbers.min(), numbers.max()]) if len(numbers) else numbers


def _places(numbers: Rows, count: int, address: str) -> NDArray[np.int32]:
    """Places below a count, -1 for NaN."""
    found = np.where(np.isnan(numbers), -1, numbers)
    if (found != np.rint(found)).any() or (found < -1).any() or (found >= count).any():
        raise ValueError(f"a row has no place of `{address}`")
    return found.astype(np.int32)
