"""Conversion of configurations to batches: the inverse of `Batch.configurations`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, parts
from spacelang.ir.space import Choice, Context, Hyperparameter, Space
from spacelang.ir.value import Value, identity_key
from spacelang.sampling.batch import Batch, Column
from spacelang.sampling.value_codes import Array, ValueCodes, code_of, code_type, integer_type


class BatchBuilder:
    """A builder of batches from configurations of one space; what depends only on the space is computed once."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._root = self._make_level(())

    def build(self, configurations: Sequence[Configuration]) -> Batch:
        """Return the configurations as a batch; row i is the i-th configuration.

        `Batch.configurations` of the result returns the same configurations.
        """
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
        return Batch(
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
        found = np.full(count, -1, integer_type(-1, len(choice.branches)))
        found[rows] = places
        return found

    def _column(self, address: str, rows: Sequence[int], values: Sequence[Value]) -> Column:
        node = self._space.variables[address].hyperparameter
        return Column(np.array(rows, np.intp), encode_values(node.domain, values))


_ColumnEntries: TypeAlias = dict[str, tuple[list[int], list[Any]]]
"""By address, the rows that have an entry, and the entries."""


@dataclass(frozen=True, slots=True)
class _ContextLevel:
    """The choices and hyperparameters (address and key) of a context, and the contexts below its branches.

    `below` is None for a branch that leads to nothing.
    """

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
        both = [code_of(domain, value) for value in values]
        return ValueCodes(
            np.array([code for _, code in both], code_type(domain)), np.array([p for p, _ in both], np.int8)
        )
    if isinstance(found[0], Categorical):
        index = found[0].index
        return ValueCodes(np.array([index[identity_key(value)] for value in values], code_type(domain)))
    return ValueCodes(np.array(values, code_type(domain)))
