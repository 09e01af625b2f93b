"""Group variables that conditions and constraints connect, directly or through others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from spacelang.grouping import group_by_key
from spacelang.ir.expr import INACTIVE, is_true, scope
from spacelang.ir.space import Constraint, Context, Variable

T = TypeVar("T")


class UnionFind:
    """A union-find structure: disjoint sets of names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def find(self, name: str) -> str:
        """Return the representative of the set that contains a name."""
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def union(self, names: Iterable[str]) -> bool:
        """Merge the sets of all names; return True if anything changed."""
        roots = {self.find(name): None for name in names}
        first, *others = roots or [""]
        for other in others:
            self._parent[other] = first
        return bool(others)

    def groups(self, items: Iterable[tuple[str, T]]) -> list[list[T]]:
        """Return the items grouped by the sets of their names, in the order of first occurrence."""
        return [*group_by_key((self.find(name), item) for name, item in items).values()]


class VariableGroup(NamedTuple):
    """A group of connected variables in the order of the text, with their constraints and common context."""

    context: Context
    members: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]


def group_variables(variables: Mapping[str, Variable], constraints: Sequence[Constraint]) -> Iterator[VariableGroup]:
    """Yield the groups of connected variables, in the order of their first variables.

    Every variable is in exactly one group. Addresses that are not in `variables`, such as decisions that are already
    known, connect nothing. Constraints that name none of the variables come last, in a group without members.
    """
    ties = UnionFind(variables)
    for variable in variables.values():
        if variable.condition is not None:
            ties.union((variable.address, *_known_addresses(variables, scope(variable.condition))))
    loose: list[Constraint] = []
    over: list[tuple[str, Constraint]] = []
    for constraint in constraints:
        named = _known_addresses(variables, scope(constraint.expression))
        ties.union((*named, *_known_addresses(variables, _owners_if_unreached(variables, constraint))))
        over += [(address, constraint) for address in named[:1]]
        loose += [] if named else [constraint]
    _union_owners(variables, ties)
    rules = group_by_key((ties.find(address), constraint) for address, constraint in over)
    for members in ties.groups(variables.items()):
        mine = tuple(rules.get(ties.find(members[0].address), ()))
        yield VariableGroup(common_context(member.owners for member in members), tuple(members), mine)
    if loose:
        yield VariableGroup((), (), tuple(loose))


def _known_addresses(variables: Mapping[str, Variable], addresses: Iterable[str]) -> list[str]:
    return [address for address in addresses if address in variables]


def _owners_if_unreached(variables: Mapping[str, Variable], constraint: Constraint) -> Iterator[str]:
    """Yield the owners of the variables that a constraint tests, if it can fail where none of them is reached.

    A constraint that names a hyperparameter does not apply there.
    """
    if constraint.scope or is_true(constraint.expression, lambda _: INACTIVE) != constraint.forbidden:
        return
    for address in _known_addresses(variables, scope(constraint.expression)):
        yield from (owner for owner, _ in variables[address].owners)


def _union_owners(variables: Mapping[str, Variable], ties: UnionFind) -> None:
    """Connect variables with the decisions between their group's context and them, which decide if they are reached."""
    changed = True
    while changed:
        changed = False
        for members in ties.groups(variables.items()):
            if len(members) > 1:
                for address, owner in _inner_owners(members):
                    changed |= owner in variables and ties.union([address, owner])


def _inner_owners(members: Sequence[Variable]) -> Iterator[tuple[str, str]]:
    depth = len(common_context(member.owners for member in members))
    return ((member.address, owner) for member in members for owner, _ in member.owners[depth:])


def common_context(contexts: Iterable[Context]) -> Context:
    """Return the longest common prefix of several contexts."""
    first, *others = contexts
    for other in others:
        length = 0
        for mine, its in zip(first, other, strict=False):
            if mine != its:
                break
            length += 1
        first = first[:length]
    return first
