"""Batches: many configurations at once, as one array for each decision and each hyperparameter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.value import Value
from spacelang.sampling.value_codes import Array, ValueCodes, concatenate_codes, decode_values


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The encoded values of one hyperparameter; `values[i]` belongs to row `rows[i]` of a batch.

    `rows` has shape (k,) and need not be sorted. Rows in which the hyperparameter is inactive are left out.
    """

    rows: Array
    values: ValueCodes


def join_column_pieces(pieces: Sequence[tuple[Array, ValueCodes]]) -> Column:
    """Return one column from pieces; each piece is an array of rows and the values of these rows."""
    rows = [rows for rows, _ in pieces]
    return Column(
        rows[0] if len(rows) == 1 else np.concatenate(rows), concatenate_codes([codes for _, codes in pieces])
    )


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Many configurations as columns: row i of every column belongs to configuration i.

    `decisions` maps the address of a decision to an array of shape (count,). It has the index of the branch that each
    row takes, or -1 if the row does not reach the decision. `hyperparameters` maps the address of each hyperparameter
    that is active in at least one row to its values.
    """

    space: Space
    count: int
    decisions: Mapping[str, Array]
    hyperparameters: Mapping[str, Column]

    def __len__(self) -> int:
        return self.count

    def dense_column(self, address: str) -> tuple[Array, Array]:
        """Return a hyperparameter in all rows: the indices of the parts of its domain, and its codes.

        Both arrays have shape (count,). The part is 0 unless the domain is a union. The code of a number is the number
        itself; the code of a categorical value is its index in the set. Where the hyperparameter is not active, the
        part is -1 and the code is NaN. The codes are floats, so integers beyond 2^53 are rounded.
        """
        parts, codes = np.full(self.count, -1, np.int8), np.full(self.count, np.nan)
        if address in self.hyperparameters:
            column = self.hyperparameters[address]
            parts[column.rows] = 0 if column.values.parts is None else column.values.parts
            codes[column.rows] = column.values.codes
        return parts, codes

    def configurations(self) -> list[Configuration]:
        """Return the configurations in the order of the rows."""
        found: list[dict[str, Value]] = [{} for _ in range(self.count)]
        for address, codes in self.decisions.items():
            choice = self.space.variables[address].choice
            names, key = [branch.name for branch in choice.branches], choice.key
            for values, code in zip(found, codes.tolist(), strict=True):
                if code >= 0:
                    values[key] = names[code]
        for address, column in self.hyperparameters.items():
            node = self.space.variables[address].hyperparameter
            key = node.key
            for row, value in zip(column.rows.tolist(), decode_values(node.domain, column.values), strict=True):
                found[row][key] = value
        return Configuration.wrap_dicts(found)
