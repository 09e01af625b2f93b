"""Batches: many configurations as one array for each decision and hyperparameter, and the conversion to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, parts
from spacelang.ir.space import Choice, Context, Hyperparameter, Space
from spacelang.ir.value import Value, identity_key
from spacelang.sampling.value_codes import (
    Array,
    ValueCodes,
    code_dtype,
    concatenate_codes,
    decode_values,
    part_index_and_code,
    smallest_integer_dtype,
)


@dataclass(frozen=True, slots=True, eq=False)
class SparseColumn:
    """Encoded values of a hyperparameter: `values[i]` is in row `rows[i]`; rows where it is inactive are left out."""

    rows: Array
    values: ValueCodes


@dataclass(frozen=True, slots=True, eq=False)
class ConfigurationBatch:
    """Many configurations as columns: row i of every column belongs to configuration i.

    `decisions` maps the address of a decision to an array of shape (count,): the index of the branch that each row
    takes, or -1 if the row does not reach the decision. `hyperparameters` maps the address of each hyperparameter that
    is active in at least one row to its values.
    """

    space: Space
    count: int
    decisions: Mapping[str, Array]
    hyperparameters: Mapping[str, SparseColumn]

    def __len__(self) -> int:
        return self.count

    def dense_part_indices_and_codes(self, address: str) -> tuple[Array, Array]:
        """Return a hyperparameter in all rows: the indices of the parts of its domain, and its codes, both (count,).

        The part is 0 unless the domain is a union. The code is the number itself or the index in the set, as a float,
        so integers beyond 2^53 are rounded. Where the hyperparameter is inactive, the part is -1 and the code NaN.
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


class BatchBuilder:
    """A builder of batches from configurations of one space; what depends only on the space is computed once."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._root = self._make_level(())

    def build(self, configurations: Sequence[Configuration]) -> ConfigurationBatch:
        """Return the configurations as a batch with these rows; `ConfigurationBatch.configurations` is the inverse."""
        branches: _ColumnEntries = {}
        values: _ColumnEntries = {}
        for row, configuration in enumerate(configurations):
            view = configuration.view
            stops = [self._root]
            for stop in stops:
                for choice in stop.choices:
                    branch = view[choice.key]
                    _add_entry(branches, choice.address, row, choice.branch_indices[branch])  # type: ignore[index]
                    below = stop.below[choice.address, branch]
                    if below is not None:
                        stops.append(below)
                for address, key in stop.hyperparameters:
                    if key in view:
                        _add_entry(values, address, row, view[key])
        count = len(configurations)
        return ConfigurationBatch(
            self._space,
            count,
            {address: self._branch_indices(address, count, *entries) for address, entries in branches.items()},
            {address: self._column(address, *entries) for address, entries in values.items()},
        )

    def _make_level(self, context: Context) -> "_ContextLevel":
        nodes = [variable.node for variable in self._space.by_context.get(context, ())]
        choices = tuple(node for node in nodes if isinstance(node, Choice))
        below = {
            (choice.address, branch): self._make_level(inside) if inside in self._space.by_context else None
            for choice in choices
            for branch in choice.branch_indices
            for inside in ((*context, (choice.address, branch)),)
        }
        return _ContextLevel(choices, tuple((n.address, n.key) for n in nodes if isinstance(n, Hyperparameter)), below)

    def _branch_indices(self, address: str, count: int, rows: Sequence[int], places: Sequence[Any]) -> Array:
        choice = self._space.variables[address].choice
        found = np.full(count, -1, smallest_integer_dtype(-1, len(choice.branches)))
        found[rows] = places
        return found

    def _column(self, address: str, rows: Sequence[int], values: Sequence[Value]) -> SparseColumn:
        node = self._space.variables[address].hyperparameter
        return SparseColumn(np.array(rows, np.intp), encode_values(node.domain, values))


_ColumnEntries: TypeAlias = dict[str, tuple[list[int], list[Any]]]


@dataclass(frozen=True, slots=True)
class _ContextLevel:
    """The choices and hyperparameters (address and key) of a context, and the contexts below its branches, if any."""

    choices: tuple[Choice, ...]
    hyperparameters: tuple[tuple[str, str], ...]
    below: Mapping[tuple[str, Any], "_ContextLevel | None"]


def _add_entry(entries: _ColumnEntries, address: str, row: int, entry: object) -> None:
    found = entries.get(address)
    if found is None:
        found = entries[address] = ([], [])
    found[0].append(row)
    found[1].append(entry)


def encode_values(domain: Domain, values: Sequence[Value]) -> ValueCodes:
    """Return the codes of values of a domain; the inverse of `decode_values`."""
    found = parts(domain)
    if len(found) > 1:
        both = [part_index_and_code(domain, value) for value in values]
        return ValueCodes(np.array([c for _, c in both], code_dtype(domain)), np.array([p for p, _ in both], np.int8))
    if isinstance(found[0], Categorical):
        index = found[0].index
        return ValueCodes(np.array([index[identity_key(value)] for value in values], code_dtype(domain)))
    return ValueCodes(np.array(values, code_dtype(domain)))


def join_column_pieces(pieces: Sequence[tuple[Array, ValueCodes]]) -> SparseColumn:
    """Return one column from pieces; each piece is an array of rows and the values of these rows."""
    rows = [rows for rows, _ in pieces]
    return SparseColumn(
        rows[0] if len(rows) == 1 else np.concatenate(rows), concatenate_codes([each for _, each in pieces])
    )
