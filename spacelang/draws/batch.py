"""Batches: many configurations at once as columns, arrays of branches and of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spacelang.draws.codes import Array, Codes, concatenated, decoded
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of one hyperparameter in the rows in which it is active, in no particular order."""

    rows: Array
    values: Codes


def column_of(pieces: Sequence[tuple[Array, Codes]]) -> Column:
    """The values of pieces, each with its rows."""
    rows = [rows for rows, _ in pieces]
    return Column(rows[0] if len(rows) == 1 else np.concatenate(rows), concatenated([codes for _, codes in pieces]))


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Configurations as arrays: row i of every column belongs to configuration i.

    `decisions` holds, by address, the place of the branch that each row takes, -1 where the decision is not reached.
    `hyperparameters` holds, by address, the values of each hyperparameter that is active in some row.
    """

    space: Space
    count: int
    decisions: Mapping[str, Array]
    hyperparameters: Mapping[str, Column]

    def __len__(self) -> int:
        return self.count

    def dense(self, address: str) -> tuple[Array, Array]:
        """A hyperparameter in all rows: the place of the part of its domain (0 but for unions), and its code there.

        The code of a number is the number, that of a set's value its place. Where it is not active the part is -1 and
        the code NaN. The codes are floats: integers beyond 2^53 are rounded.
        """
        parts, codes = np.full(self.count, -1, np.int8), np.full(self.count, np.nan)
        if address in self.hyperparameters:
            column = self.hyperparameters[address]
            parts[column.rows] = 0 if column.values.parts is None else column.values.parts
            codes[column.rows] = column.values.codes
        return parts, codes

    def configurations(self) -> list[Configuration]:
        """The rows as configurations, in their order."""
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
            for row, value in zip(column.rows.tolist(), decoded(node.domain, column.values), strict=True):
                found[row][key] = value
        return Configuration.owning(found)
