"""Configurations of all structures as vectors of the unit cube, and back: for those who model decisions and values."""

from collections.abc import Iterator, Sequence

import numpy as np

from spacelang.codings.domains import Rows, parted
from spacelang.codings.rows import Field, RowCoding, domain_of
from spacelang.draws.codes import decoded
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import assemble, reached


class VectorCoding:
    """Vectors with the columns of all decisions and hyperparameters that have several values, as `parted` has them.

    What is not reached, not active or not taken is NaN. A vector without any NaN stands for the configuration whose
    decisions it says and whose values are those of what is active there.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        several = [each for each in space.variables.values() if domain_of(each).size != 1]
        self._rows = RowCoding(space, parted, variables=several)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Where each decision and hyperparameter is, in the order of the text."""
        return self._rows.fields

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self._rows.width

    def encode(self, configurations: Sequence[Configuration]) -> Rows:
        """The vectors of members, (n, width)."""
        return self._rows.encode(configurations)

    def decode(self, vectors: Rows) -> Iterator[Configuration | None]:
        """What vectors (n, width) without any NaN stand for, one by one; None for those that a constraint excludes."""
        values = {field.variable.address: _values(field, vectors[:, field.start : field.end]) for field in self.fields}
        return (self._assembled(values, row) for row in range(len(vectors)))

    def _assembled(self, values: dict[str, list[Value]], row: int) -> Configuration | None:
        def branch_of(choice: Choice) -> str:
            return str(values[choice.address][row]) if choice.address in values else choice.branches[0].name

        def value_of(node: Hyperparameter) -> Value:
            return values[node.address][row] if node.address in values else node.default

        structure = {each.address: branch for each, branch in reached(self.space, branch_of) if branch is not None}
        found = assemble(self.space, structure, value_of)
        return None if self.space.constraints and exclusion(self.space, found) is not None else found


def _values(field: Field, columns: Rows) -> list[Value]:
    return decoded(domain_of(field.variable), field.coding.decode(np.asarray(columns)))
