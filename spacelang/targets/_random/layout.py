"""The meaning of the columns of random configurations: one or two for each decision and hyperparameter."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain, describe, parts
from spacelang.ir.space import Choice, Space, Variable
from spacelang.ir.value import Value
from spacelang.reductions.variable_names import VariableNames

Kind: TypeAlias = Literal["decision", "part", "categorical", "ordinal", "int", "float", "mixed"]


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """A description of a matrix column; `lower` and `upper` are its least and greatest number.

    `categories` are the values that indices represent: the branches of a decision, the parts of a union, or the values
    of a set. A `mixed` column belongs to a union: the column before it has the part, which selects one of `inner` to
    read the number.
    """

    name: str
    address: str
    kind: Kind
    lower: float
    upper: float
    log: bool = False
    categories: tuple[Value, ...] | None = None
    inner: tuple["MatrixColumn", ...] = ()


def columns_of(space: Space) -> tuple[MatrixColumn, ...]:
    """Return a description of each matrix column, in the order in which the space declares variables.

    `encodings.domains.exact_encoding` fills the columns.
    """
    names = VariableNames(space)
    variables = space.variables.values()
    return tuple(column for each in variables for column in _columns(each, names.name_of(each.node)))


def _columns(variable: Variable, name: str) -> Iterator[MatrixColumn]:
    node = variable.node
    if isinstance(node, Choice):
        branches = tuple(branch.name for branch in node.branches)
        yield MatrixColumn(name, node.address, "decision", 0, len(branches) - 1, categories=branches)
        return
    several = parts(node.domain)
    if len(several) == 1:
        yield _part_column(several[0], name, node.address)
        return
    labels = tuple(map(describe, several))
    yield MatrixColumn(f"{name}:part", node.address, "part", 0, len(several) - 1, categories=labels)
    inner = tuple(_part_column(part, name, node.address) for part in several)
    lower, upper = min(column.lower for column in inner), max(column.upper for column in inner)
    yield MatrixColumn(name, node.address, "mixed", lower, upper, inner=inner)


def _part_column(part: SimpleDomain, name: str, address: str) -> MatrixColumn:
    match part:
        case Categorical():
            kind: Kind = "ordinal" if isinstance(part, Ordinal) else "categorical"
            return MatrixColumn(name, address, kind, 0, part.size - 1, categories=part.values)
        case Grid(is_integral=True):
            return MatrixColumn(name, address, "int", part.lower, part.upper, part.log)
        case Grid() | Real():
            return MatrixColumn(name, address, "float", part.lower, part.upper, part.log)
