"""Configurations as vectors: what a surrogate is fitted to, and the exact way back.

A decision has one column, the place of its branch. A hyperparameter has one, a number itself or the place of a value
in its set, and before it another one for the part of its domain where that has several, or where -1 is one of its
values. What is not reached or not active is -1 in all of its columns, and only there is the first of them -1.

See spacelang/optimizers/README.md, sections "Unit interval" and "Forest".
"""

from collections.abc import Iterator, Sequence

import numpy as np

from spacelang.codings.domains import Coding, Rows, selected
from spacelang.codings.members import to_unit
from spacelang.codings.rows import Field, RowCoding
from spacelang.ir.domain import Categorical, Domain, contains
from spacelang.ir.space import Choice, Space

INACTIVE = -1.0


class Vectors(RowCoding):
    """The columns of the vectors of a space: decisions in the order given, then hyperparameters in that of the text."""

    def __init__(self, space: Space, decisions: Sequence[Choice]) -> None:
        addresses = [node.address for nodes in (decisions, space.hyperparameters) for node in nodes]
        variables = [space.variables[address] for address in addresses]
        super().__init__(space, _selected, variables=variables, missing=INACTIVE)
        self.names: tuple[str, ...] = tuple(name for field in self.fields for name in _names(field))
        """What each column is: an address, for the column of a part with a word behind it."""
        self._ranges = [
            (field, place, part)
            for field in self.fields
            for place, part in enumerate(field.coding.parts)
            if not isinstance(part, Categorical)
        ]

    def scaled(self, vectors: Rows) -> Rows:
        """The vectors for a surrogate: numbers on the unit interval, logarithms under `log`; the rest stays.

        What is inactive is -1, and nothing else is negative.
        """
        found = vectors.copy(order="K")
        for field, place, part in self._ranges:
            is_mine = vectors[:, field.start] == place if field.coding.has_part else self.is_active(field, vectors)
            rows = np.flatnonzero(is_mine)
            if len(rows):
                found[rows, field.end - 1] = to_unit(part, vectors[rows, field.end - 1])
        return found


def _selected(domain: Domain) -> Coding:
    return selected(domain, has_part=not isinstance(domain, Categorical) and contains(domain, int(INACTIVE)))


def _names(field: Field) -> Iterator[str]:
    if field.coding.has_part:
        yield f"{field.variable.address} (part)"
    yield field.variable.address
