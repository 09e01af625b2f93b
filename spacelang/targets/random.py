"""The target `random`: randomly drawn configurations as a matrix of floats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from spacelang.encodings.row_encodings import EncodedRows, RowEncoding, exact_encoding
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain, describe, literal, parts
from spacelang.ir.space import Choice, Space, Variable
from spacelang.ir.value import Value, to_json
from spacelang.plugins import OptionError, option
from spacelang.reductions.space_questions import VariableNames
from spacelang.sampling.batch_builder import ConfigurationBatch
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.targets import _lowering
from spacelang.targets._lowering import (
    Construct,
    FormWithTextRepr,
    LoweringResult,
    PreservationTable,
    exact,
    make_report,
    refused,
)
from spacelang.targets._random_draws import RandomDrawDeclaration
from spacelang.targets._reduction_chain import CONSTRAINT_CONSTRUCTS, constraint_findings, preserved_by_reductions
from spacelang.targets._text_and_dot import quote_dot

RARELY_SATISFIED = refused("values drawn from the compared ranges almost never satisfy the constraint")
Kind: TypeAlias = Literal["decision", "part", "categorical", "ordinal", "int", "float", "mixed"]


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """A description of a matrix column; `lower` and `upper` are its least and greatest number.

    `categories` are the values that indices represent: the branches of a decision, the parts of a union, or the values
    of a set. A union has two columns: one with the index of the part, and a `mixed` one. The index selects the entry of
    `inner` that says how to read the number of the mixed column.
    """

    name: str
    address: str
    kind: Kind
    lower: float
    upper: float
    log: bool = False
    categories: tuple[Value, ...] | None = None
    inner: tuple["MatrixColumn", ...] = ()


@dataclass(frozen=True, slots=True)
class Random:
    """A random sample of configurations as a matrix of floats, with a description of its columns."""

    n: int = option(1000, "number of configurations to draw, at least 1")
    seed: int = option(0, "random seed, at least 0")

    random_draws: ClassVar[RandomDrawDeclaration] = RandomDrawDeclaration("the sampler of the space")

    preserves: ClassVar[PreservationTable] = {
        **preserved_by_reductions(lambda _: True),
        Construct.DECISIONS: (exact("a column with the index of the alternative"),),
        Construct.NESTED: (exact("a column with the index of the alternative, NaN where the decision is not reached"),),
        Construct.ORDERS: (exact("a column with the index of the order of the steps"),),
        Construct.UNIONS: (exact("columns with the index of the part, and with the value within the part"),),
        Construct.CONDITIONS: (exact("the column is NaN where the hyperparameter is not active"),),
        **dict.fromkeys(CONSTRAINT_CONSTRUCTS, (exact("every row satisfies the constraints"), RARELY_SATISFIED)),
        Construct.TESTED: (exact("every row is tested with the constraint"),),
        Construct.DEFAULTS: (exact("the row of the default configuration is included"),),
        Construct.WEIGHTS: (exact("rows are drawn by the weights"),),
        Construct.PRIORS: (exact("rows are drawn by the priors"),),
    }

    def __post_init__(self) -> None:
        for name, number, least in (("n", self.n, 1), ("seed", self.seed, 0)):
            if number < least:
                raise OptionError(f"`{name}` cannot be {number}", f"set `{name}` to {least} or more")

    def lower(self, structures: Structures) -> LoweringResult["RandomArrays", EncodedRows]:
        """Draw `n` configurations of the space with its sampler and the option `seed`, and return them as the form."""
        space = structures.space
        _lowering.refuse_oversized_integers(space, self.preserves)
        sampler = Sampler(structures, advised=True)
        try:
            columns = sampler.batch(self.n, np.random.default_rng(self.seed))
        except SamplingFailedError:
            tied = [rule for rule in space.constraints if len(rule.scope) > 1] or space.constraints
            make_report(space, self.preserves, constraint_findings(tied, RARELY_SATISFIED))
            raise
        form = RandomArrays(structures, sampler, columns, self.seed)
        report = make_report(space, self.preserves)
        return LoweringResult(form, form.encode, form.decode, form.accepts, form.sample, report)


class RandomArrays(FormWithTextRepr):
    """Drawn configurations: `values` is a matrix of floats, and `columns` the batch from which it is made."""

    def __init__(self, structures: Structures, sampler: Sampler, columns: ConfigurationBatch, seed: int) -> None:
        self.structures, self.space = structures, structures.space
        self.columns, self.seed, self._sampler = columns, seed, sampler

    @cached_property
    def values(self) -> EncodedRows:
        """The configurations as rows, shape (n, d); inactive entries are NaN."""
        return self._row_encoding.encode(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d columns; a union has an additional column for its part."""
        return tuple(column.name for column in self._matrix_columns)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each column: decision, part, categorical, ordinal, int, float or mixed."""
        return tuple(column.kind for column in self._matrix_columns)

    @property
    def bounds(self) -> EncodedRows:
        """The least and greatest number of each column, shape (d, 2)."""
        return np.array([(column.lower, column.upper) for column in self._matrix_columns]).reshape(-1, 2)

    @property
    def log(self) -> "np.typing.NDArray[np.bool_]":
        """A boolean for each column, True on a logarithmic scale, shape (d,)."""
        return np.array([column.log for column in self._matrix_columns], bool)

    @property
    def categories(self) -> tuple[tuple[Value, ...] | None, ...]:
        """The values that the indices of each column represent; None for columns of plain numbers."""
        return tuple(column.categories for column in self._matrix_columns)

    @cached_property
    def default(self) -> EncodedRows:
        """The row of the default configuration, or of the nearest member if constraints exclude it, shape (d,)."""
        return self.encode(member_nearest_to_default(self.structures)[1])

    def encode(self, configuration: Configuration) -> EncodedRows:
        """Return the row of a member, shape (d,)."""
        row: EncodedRows = self.encode_all([configuration])[0]
        return row

    def decode(self, row: EncodedRows) -> Configuration:
        """Return the configuration of a row; raise ValueError for numbers that encode nothing."""
        return self.decode_all(np.asarray(row, float).reshape(1, -1))[0]

    def encode_all(self, configurations: Sequence[Configuration]) -> EncodedRows:
        """Return the rows of members, shape (n, d)."""
        return self._row_encoding.encode(configurations)

    def decode_all(self, rows: EncodedRows) -> list[Configuration]:
        """Return the configurations of rows, shape (n, d); raise ValueError for numbers that encode nothing."""
        if rows.ndim != 2 or rows.shape[1] != len(self._matrix_columns):
            raise ValueError(f"expected rows with {len(self._matrix_columns)} columns")
        return self._row_encoding.decode(rows).configurations()

    def accepts(self, row: EncodedRows) -> bool:
        """Return True if a row is the encoding of a member, with nothing else in it."""
        return self._row_encoding.is_valid_row(row)

    def sample(self, count: int, rng: Generator) -> list[EncodedRows]:
        """Draw and return `count` more configurations as encoded rows; `values` is not changed."""
        return list(self._row_encoding.encode(self._sampler.batch(count, rng)))

    def to_json(self) -> dict[str, object]:
        """Return the columns, the rows with null for inactive entries, and the default row."""
        columns, rows = map(self._column_to_json, self._matrix_columns), map(_row_to_json, self.values)
        return {"seed": self.seed, "columns": [*columns], "default": _row_to_json(self.default), "rows": [*rows]}

    def to_text(self) -> str:
        """Return a listing of the columns with the number of rows in which each is active."""
        active = (~np.isnan(self.values)).sum(axis=0).tolist()
        lines = [f"{self.space.name}: {len(self.columns)} rows, {len(self.names)} columns, seed {self.seed}"]
        wide = max(map(len, self.names), default=0)
        for column, rows in zip(self._matrix_columns, active, strict=True):
            lines.append(f"  {column.name:{wide}}  {rows:>7,}  {column.kind:11}  {_range_text(column)}".rstrip())
        return "\n".join(lines)

    def to_dot(self) -> str:
        """Return a graph of the columns, each below the alternative to which it belongs."""
        lines = ["digraph random {", "  rankdir=LR;", "  node [shape=box];"]
        for column in self._matrix_columns:
            lines.append(f"  {quote_dot(column.name)} [label={quote_dot(f'{column.name}: {column.kind}')}];")
            for owner, branch in self.space.variables[column.address].owners[-1:]:
                above = next(other.name for other in self._matrix_columns if other.address == owner)
                lines.append(f"  {quote_dot(above)} -> {quote_dot(column.name)} [label={quote_dot(branch)}];")
        return "\n".join([*lines, "}"])

    def to_python(self) -> str:
        """Return a module that reads the rows of a JSON file and decodes them into dictionaries."""
        fields = self._row_encoding.fields
        readings = ([*map(_decoding_of, field.coding.parts)] for field in fields)
        told = ({"key": f.variable.key, "start": f.start, "parts": p} for f, p in zip(fields, readings, strict=True))
        return HEAD.format(name=self.space.name) + "\n".join(f"    {each!r}," for each in told) + TAIL

    @cached_property
    def _row_encoding(self) -> RowEncoding:
        return RowEncoding(self.space, exact_encoding)

    @cached_property
    def _matrix_columns(self) -> tuple[MatrixColumn, ...]:
        return describe_matrix_columns(self.space)

    def _column_to_json(self, column: MatrixColumn) -> dict[str, object]:
        node = self.space.variables[column.address].node
        found: dict[str, object] = {"name": column.name, "key": node.key, "kind": column.kind}
        found |= {"lower": column.lower, "upper": column.upper, "log": column.log}
        if column.categories is not None:
            found["categories"] = [to_json(value) for value in column.categories]
        if column.inner:
            found["parts"] = [self._column_to_json(inner) for inner in column.inner]
        return found


def _decoding_of(part: SimpleDomain) -> tuple[object, ...]:
    """Return what generated code needs to read a number of a part: as an index, an integer or a float."""
    if isinstance(part, Categorical):
        return ("values", list(part.values))
    return ("int",) if isinstance(part, Grid) and part.is_integral else ("float",)


def _row_to_json(row: EncodedRows) -> list[float | None]:
    return [None if number != number else number for number in row.tolist()]  # noqa: PLR0124 - NaN


def _range_text(column: MatrixColumn) -> str:
    if column.categories is not None:
        return "{" + ", ".join(map(literal, column.categories)) + "}"
    return f"[{column.lower:g}, {column.upper:g}]{' log' if column.log else ''}"


def describe_matrix_columns(space: Space) -> tuple[MatrixColumn, ...]:
    """Return a description of each column of `exact_encoding`, in the order in which the space declares variables."""
    names = VariableNames(space)
    return tuple(column for v in space.variables.values() for column in _columns(v, names.name_of(v.node)))


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


HEAD: Final = '''"""The columns of random configurations of the space `{name}`."""

import json
from pathlib import Path

import numpy as np

# For each decision and hyperparameter: its key, its first column, and how to read the numbers of each of its parts.
COLUMNS = [
'''
TAIL: Final = '''
]


def read(path):
    """Return the rows of a compiled JSON document as an array; inactive entries are NaN."""
    return np.array(json.loads(Path(path).read_text(encoding="utf-8"))["rows"], dtype=float)


def decode(row):
    """Return the configuration of one row as a dictionary."""
    found = {}
    for column in COLUMNS:
        numbers = row[column["start"] :]
        if np.isnan(numbers[0]):
            continue
        parts = column["parts"]
        part, numbers = (parts[0], numbers) if len(parts) == 1 else (parts[int(numbers[0])], numbers[1:])
        found[column["key"]] = value_of(part, numbers)
    return dict(sorted(found.items()))


def value_of(part, numbers):
    """Return the value that numbers encode in a part of a domain."""
    kind = part[0]
    if kind == "values":
        return part[1][int(numbers[0])]
    return int(numbers[0]) if kind == "int" else float(numbers[0])'''
