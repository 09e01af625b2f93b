"""Encoding of configurations of any structure as vectors in the unit cube."""

from collections.abc import Iterator, Sequence

import numpy as np

from spacelang.encodings.domains import EncodedRows, unit_encoding
from spacelang.encodings.rows import RowEncoding, VariableColumns, domain_of
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import assemble, walk_reached
from spacelang.sampling.value_codes import decode_values


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
