"""The configurations of one structure as points, many at once, and back: for those who search its hyperparameters."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from spacelang.codings.domains import Coding, Rows, Units
from spacelang.codings.limits import check_held
from spacelang.codings.rows import Field, RowCoding
from spacelang.draws.codes import decoded
from spacelang.draws.tabulating import Tabulator, coded
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Structure, assemble, reached


class StructureCoding:
    """Points with the columns of the hyperparameters that a structure reaches, one after the other, without any gap.

    A hyperparameter that a condition switches off is at its default, so that it may be moved before it counts. What
    has one value only has no column. With `Units` every point of the unit cube stands for something.
    """

    def __init__(self, space: Space, structure: Structure, coding: Callable[[Domain], Coding] = Units) -> None:
        """`structure` gives every reached decision's address the branch that it takes.

        Raises ValueError where it reaches integers that no float tells apart (`limits`).
        """
        self.space = space
        self.structure = dict(structure)
        moved = []
        for variable, _ in reached(space, lambda choice: structure[choice.address]):
            if isinstance(variable.node, Hyperparameter) and variable.node.domain.size != 1:
                check_held(variable.node)
                moved.append(variable)
        self._rows = RowCoding(space, coding, variables=moved)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Where each hyperparameter is, in the order of the walk."""
        return self._rows.fields

    @property
    def width(self) -> int:
        """How many columns there are; 0 where nothing can be moved."""
        return self._rows.width

    @cached_property
    def default(self) -> Rows:
        """The point of the defaults, (width,), whatever constraints say of them."""
        found = np.empty(self.width)
        for field in self.fields:
            node = field.variable.node
            assert isinstance(node, Hyperparameter)
            found[field.start : field.end] = field.coding.encode(coded(node.domain, [node.default]))[0]
        return found

    def encode(self, configurations: Sequence[Configuration]) -> Rows:
        """The points of members of the structure, (n, width)."""
        found = self._rows.encode(self._tabulator.columns(configurations))
        return np.where(np.isnan(found), self.default, found)

    def decode(self, points: Rows) -> list[Configuration | None]:
        """What points (n, width) stand for; None for those that a constraint excludes. No number may be NaN."""
        values: dict[str, list[Value]] = {}
        for field in self.fields:
            node = field.variable.node
            assert isinstance(node, Hyperparameter)
            values[node.address] = decoded(node.domain, field.coding.decode(points[:, field.start : field.end]))
        return [self._assembled(values, row) for row in range(len(points))]

    def _assembled(self, values: dict[str, list[Value]], row: int) -> Configuration | None:
        def value_of(node: Hyperparameter) -> Value:
            return values[node.address][row] if node.address in values else node.default

        found = assemble(self.space, self.structure, value_of)
        return found if not self.space.constraints or exclusion(self.space, found) is None else None

    @cached_property
    def _tabulator(self) -> Tabulator:
        return Tabulator(self.space)
