"""The target `random`: configurations that were drawn, as arrays of floats for anybody who has NumPy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from spacelang.codings.domains import Rows, selected
from spacelang.codings.rows import RowCoding
from spacelang.draws.batch import Batch
from spacelang.draws.sampling import Sampler, UnlikelyError
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Simple, literal
from spacelang.ir.value import Value, to_json
from spacelang.plugins import OptionError, option
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import nearest_admissible
from spacelang.targets._chain import RULES, keeps_of, of_rules, uniform_priors
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import Keeps, Lowered, exact, refuse_giants, refused, report_of
from spacelang.targets._random.layout import MatrixColumn, columns_of
from spacelang.targets._random.source import source
from spacelang.targets._shown import quoted

if TYPE_CHECKING:
    from numpy.random import Generator

UNLIKELY = refused("values drawn from the ranges that it compares hardly ever satisfy it")


@dataclass(frozen=True, slots=True)
class Random:
    """A random sample of configurations as a matrix of floats, with what its columns mean."""

    n: int = option(1000, "how many configurations are drawn, at least 1")
    seed: int = option(0, "the seed of the draw, at least 0")

    keeps: ClassVar[Keeps] = {
        **keeps_of(lambda _: True),
        Construct.DECISIONS: (exact("the place of the alternative"),),
        Construct.NESTED: (exact("the place of the alternative, NaN where it is not reached"),),
        Construct.ORDERS: (exact("the place of the order"),),
        Construct.UNIONS: (exact("the place of the part, and the value within it"),),
        Construct.CONDITIONS: (exact("NaN where the hyperparameter is not active"),),
        **dict.fromkeys(RULES, (exact("every row satisfies them"), UNLIKELY)),
        Construct.DEFAULTS: (exact("the row of the default configuration is given, too"),),
    }

    def __post_init__(self) -> None:
        """Raises OptionError for numbers out of their bounds."""
        for name, number, least in (("n", self.n, 1), ("seed", self.seed, 0)):
            if number < least:
                raise OptionError(f"`{name}` is {number}", f"`{name}` is at least {least}")

    def lower(self, structures: Structures) -> Lowered["RandomArrays", Rows]:
        """So many configurations of the space of the structures: those that its sampler draws with the seed."""
        space = structures.space
        refuse_giants(space, self.keeps)
        sampler = Sampler(structures)
        try:
            columns = sampler.columns(self.n, np.random.default_rng(self.seed))
        except UnlikelyError:
            tied = [rule for rule in space.constraints if len(rule.scope) > 1] or space.constraints
            report_of(space, self.keeps, of_rules(tied, UNLIKELY))
            raise
        form = RandomArrays(structures, sampler, columns, self.seed)
        report = report_of(space, self.keeps, uniform_priors(space))
        return Lowered(form, form.encode, form.decode, form.reaches, form.sample, report)


class RandomArrays:
    """Drawn configurations: `columns` as the sampler drew them, `values` as one matrix of floats."""

    def __init__(self, structures: Structures, sampler: Sampler, columns: Batch, seed: int) -> None:
        """The arrays of drawn columns."""
        self.structures = structures
        self.space = structures.space
        self.columns = columns
        self.seed = seed
        self._sampler = sampler

    @cached_property
    def values(self) -> Rows:
        """The configurations as rows, (n, d); NaN where nothing is active."""
        return self._coding.encode(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d columns; a union has one more for its part."""
        return tuple(column.name for column in self._described)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each column holds: decision, part, categorical, ordinal, int, float or mixed."""
        return tuple(column.kind for column in self._described)

    @property
    def bounds(self) -> Rows:
        """The least and the greatest number of each column, (d, 2)."""
        return np.array([(column.lower, column.upper) for column in self._described]).reshape(-1, 2)

    @property
    def log(self) -> "np.typing.NDArray[np.bool_]":
        """Whether each column is on a logarithmic scale, (d,)."""
        return np.array([column.log for column in self._described], bool)

    @property
    def categories(self) -> tuple[tuple[Value, ...] | None, ...]:
        """What the places in each column stand for; None where its numbers are numbers."""
        return tuple(column.categories for column in self._described)

    @cached_property
    def default(self) -> Rows:
        """The row of the default configuration, or of the member nearest to it where constraints exclude that."""
        return self.encode(nearest_admissible(self.structures)[1])

    def encode(self, configuration: Configuration) -> Rows:
        """The row of a member, (d,)."""
        row: Rows = self.encode_all([configuration])[0]
        return row

    def decode(self, row: Rows) -> Configuration:
        """The configuration of a row; raises ValueError for numbers that stand for nothing."""
        return self.decode_all(np.asarray(row, float).reshape(1, -1))[0]

    def encode_all(self, configurations: Sequence[Configuration]) -> Rows:
        """The rows of members, (n, d)."""
        return self._coding.encode(configurations)

    def decode_all(self, rows: Rows) -> list[Configuration]:
        """The configurations of rows, column by column; raises ValueError for numbers that stand for nothing."""
        if rows.ndim != 2 or rows.shape[1] != len(self._described):
            raise ValueError(f"rows have {len(self._described)} columns")
        return self._coding.decode(rows).configurations()

    def reaches(self, row: Rows) -> bool:
        """Whether a row is one that could have been drawn: that of a member, with nothing beside it."""
        return self._coding.has(row)

    def sample(self, count: int, rng: "Generator") -> list[Rows]:
        """So many further rows."""
        return list(self._coding.encode(self._sampler.columns(count, rng)))

    def to_json(self) -> dict[str, object]:
        """The columns, the rows with null for what is not active, and the row of the default configuration."""
        return {
            "seed": self.seed,
            "columns": [self._column_to_json(column) for column in self._described],
            "default": _listed(self.default),
            "rows": [_listed(row) for row in self.values],
        }

    def to_text(self) -> str:
        """The columns, with the numbers of rows in which they are active."""
        active = (~np.isnan(self.values)).sum(axis=0).tolist()
        lines = [f"{self.space.name}: {len(self.columns)} rows, {len(self.names)} columns, seed {self.seed}"]
        wide = max(map(len, self.names), default=0)
        for column, rows in zip(self._described, active, strict=True):
            lines.append(f"  {column.name:{wide}}  {rows:>7,}  {column.kind:11}  {_range(column)}".rstrip())
        return "\n".join(lines)

    def to_dot(self) -> str:
        """A graph of the columns, below the alternatives that they belong to."""
        return "\n".join(["digraph random {", "  rankdir=LR;", "  node [shape=box];", *self._edges(), "}"])

    def to_python(self) -> str:
        """A module that knows the columns: it reads the rows of a JSON file and makes dictionaries of them."""
        return source(self.space.name, self._specifications())

    @cached_property
    def _coding(self) -> RowCoding:
        return RowCoding(self.space, selected)

    @cached_property
    def _described(self) -> tuple[MatrixColumn, ...]:
        return columns_of(self.space)

    def _edges(self) -> Iterator[str]:
        for column in self._described:
            yield f"  {quoted(column.name)} [label={quoted(f'{column.name}: {column.kind}')}];"
            owners = self.space.variables[column.address].owners
            if owners:
                owner, branch = owners[-1]
                above = next(other.name for other in self._described if other.address == owner)
                yield f"  {quoted(above)} -> {quoted(column.name)} [label={quoted(branch)}];"

    def _column_to_json(self, column: MatrixColumn) -> dict[str, object]:
        node = self.space.variables[column.address].node
        found: dict[str, object] = {"name": column.name, "key": node.key, "kind": column.kind}
        found |= {"lower": column.lower, "upper": column.upper, "log": column.log}
        if column.categories is not None:
            found["categories"] = [to_json(value) for value in column.categories]
        if column.inner:
            found["parts"] = [self._column_to_json(inner) for inner in column.inner]
        return found

    def _specifications(self) -> Iterator[Mapping[str, object]]:
        """For each variable its key, where it starts, and how its numbers are read, part by part."""
        for field in self._coding.fields:
            read = [_read_as(part) for part in field.coding.parts]
            yield {"key": field.variable.key, "start": field.start, "parts": read}


def _read_as(part: Simple) -> tuple[object, ...]:
    """How the numbers of a part become a value: by their place among values, or as they are."""
    if isinstance(part, Categorical):
        return ("values", list(part.values))
    return ("int",) if isinstance(part, Grid) and part.is_integral else ("float",)


def _listed(row: Rows) -> list[float | None]:
    return [None if number != number else number for number in row.tolist()]  # noqa: PLR0124 - NaN


def _range(column: MatrixColumn) -> str:
    if column.categories is not None:
        return "{" + ", ".join(map(literal, column.categories)) + "}"
    return f"[{column.lower:g}, {column.upper:g}]{' log' if column.log else ''}"
