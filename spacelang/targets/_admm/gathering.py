"""Configurations as columns: what the batches of targets are made of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from spacelang.ir.codes import Array, Codes, code_of, code_type, integer_type
from spacelang.ir.columns import Column, Columns
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, parts
from spacelang.ir.space import Space
from spacelang.ir.value import Value, identity

Given: TypeAlias = dict[str, tuple[list[int], list[Value]]]
"""The rows that have a key, and their values."""


def gathered(space: Space, configurations: Iterable[Configuration]) -> Columns:
    """Members of a space as columns, in their order; the way back is `Columns.configurations`."""
    given: Given = {}
    count = 0
    for row, configuration in enumerate(configurations):
        count = row + 1
        for key, value in configuration.without(()).items():
            rows, values = given.setdefault(key, ([], []))
            rows.append(row)
            values.append(value)
    decisions = _decisions(space, count, given)
    hyperparameters = {}
    for node in space.hyperparameters:
        rows, values = given.get(node.key, ([], []))
        at = np.array(rows, np.int64)
        reached = _reached(space, space.variables[node.address].owners, decisions, at)
        if not reached.all():
            kept = np.flatnonzero(reached)
            at, values = at[kept], [values[place] for place in kept.tolist()]
        if len(at):
            hyperparameters[node.address] = Column(at, codes_of(node.domain, values))
    return Columns(space, count, decisions, hyperparameters)


def codes_of(domain: Domain, values: Sequence[Value]) -> Codes:
    """The codes of values that lie in a domain."""
    kind = code_type(domain)
    if len(parts(domain)) == 1:
        (part,) = parts(domain)
        if isinstance(part, Categorical):
            index = part.index
            return Codes(np.array([index[identity(value)] for value in values], kind))
        return Codes(np.array(values, kind))
    known: dict[tuple[object, ...], tuple[int, object]] = {}
    marks, codes = np.zeros(len(values), np.int8), np.zeros(len(values), kind)
    for row, value in enumerate(values):
        key = identity(value)
        if key not in known:
            known[key] = code_of(domain, value)
        marks[row], codes[row] = known[key]
    return Codes(codes, marks)


def _decisions(space: Space, count: int, given: Given) -> Mapping[str, Array]:
    found: dict[str, Array] = {}
    for choice in space.decisions:
        rows, names = given.get(choice.key, ([], []))
        at = np.array(rows, np.int64)
        places = np.array([choice.places.get(str(name), -1) for name in names], integer_type(-1, len(choice.branches)))
        reached = _reached(space, space.variables[choice.address].owners, found, at)
        found[choice.address] = np.full(count, -1, places.dtype)
        found[choice.address][at[reached]] = places[reached]
    return found


def _reached(space: Space, owners: Sequence[tuple[str, str]], decisions: Mapping[str, Array], rows: Array) -> Array:
    """Which of some rows take all of these branches."""
    found: Array = np.ones(len(rows), bool)
    for owner, branch in owners:
        choice = space.variables[owner].node
        found &= decisions[owner][rows] == choice.places[branch]  # type: ignore[union-attr]
    return found
