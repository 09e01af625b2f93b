"""Configurations as vectors for a surrogate, with exact decoding.

A decision has one column, the index of its branch. A hyperparameter has a column for its number, or for the index of
its value in a set. It has another column before that for the part of its domain, if the domain has several parts or if
-1 is one of its values. All columns of an unreached or inactive variable are -1; the first column of any other variable
never is.

See spacelang/optimizers/README.md, sections "Unit interval" and "Forest".
"""

from collections.abc import Iterator, Sequence

import numpy as np

from spacelang.encodings.domains import DomainEncoding, EncodedRows, exact_encoding
from spacelang.encodings.rows import RowEncoding, VariableColumns
from spacelang.encodings.simple_domains import to_unit
from spacelang.ir.domain import Categorical, Domain, contains
from spacelang.ir.space import Choice, Space

INACTIVE = -1.0


class MosaicVectorEncoding(RowEncoding):
    """The vector columns of a space: decisions in the given order, then hyperparameters in text order."""

    def __init__(self, space: Space, decisions: Sequence[Choice]) -> None:
        addresses = [node.address for nodes in (decisions, space.hyperparameters) for node in nodes]
        variables = [space.variables[address] for address in addresses]
        super().__init__(space, _encoding_of, variables=variables, missing=INACTIVE)
        self.names: tuple[str, ...] = tuple(name for field in self.fields for name in _names(field))
        """The name of each column: an address, followed by " (part)" for the column of a part."""
        self._ranges = [
            (field, place, part)
            for field in self.fields
            for place, part in enumerate(field.coding.parts)
            if not isinstance(part, Categorical)
        ]

    def scale(self, vectors: EncodedRows) -> EncodedRows:
        """Return the vectors with numbers scaled to the unit interval, for a surrogate.

        Numbers under `log` are scaled on their logarithms, and all other columns stay. Inactive entries are -1; nothing
        else is negative.
        """
        found = vectors.copy(order="K")
        for field, place, part in self._ranges:
            is_mine = vectors[:, field.start] == place if field.coding.has_part else self.is_active(field, vectors)
            rows = np.flatnonzero(is_mine)
            if len(rows):
                found[rows, field.end - 1] = to_unit(part, vectors[rows, field.end - 1])
        return found


def _encoding_of(domain: Domain) -> DomainEncoding:
    return exact_encoding(domain, has_part=not isinstance(domain, Categorical) and contains(domain, int(INACTIVE)))


def _names(field: VariableColumns) -> Iterator[str]:
    if field.coding.has_part:
        yield f"{field.variable.address} (part)"
    yield field.variable.address
