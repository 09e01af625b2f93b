"""Group variables that conditions and constraints connect, directly or through others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from spacelang.grouping import grouped
from spacelang.ir.expr import INACTIVE, holds, scope
from spacelang.ir.space import Constraint, Context, Variable

T = TypeVar("T")


class Ties:
    """A union-find structure: disjoint sets of names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def root(self, name: str) -> str:
        """Return the representative of the set that contains a name."""
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def tie(self, names: Iterable[str]) -> bool:
        """Merge the sets of all names; return True if anything changed."""
        roots = {self.root(name): None for name in names}
        first, *others = roots or [""]
        for other in others:
            self._parent[other] = first
        return bool(others)

    def sets(self, items: Iterable[tuple[str, T]]) -> list[list[T]]:
        """Return the items grouped by the sets of their names, in the order of first occurrence."""
        return [*grouped((self.root(name), item) for name, item in items).values()]


class Tied(NamedTuple):
    """A group of connected variables in the order of the text, with their constraints and common context."""

    context: Context
    members: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]


def tied(variables: Mapping[str, Variable], constraints: Sequence[Constraint]) -> Iterator[Tied]:
    """Yield the groups of connected variables, in the order of their first variables.

    Every variable is in exactly one group. Addresses that are not in `variables`, such as decisions that are already
    known, connect nothing. Constraints that name none of the variables come last, in a group without members.
    """
    ties = Ties(variables)
    for variable in variables.values():
        if variable.condition is not None:
            ties.tie((variable.address, *_among(variables, scope(variable.condition))))
    loose: list[Constraint] = []
    over: list[tuple[str, Constraint]] = []
    for constraint in constraints:
        named = _among(variables, scope(constraint.expression))
        ties.tie((*named, *_among(variables, _outside(variables, constraint))))
        over += [(address, constraint) for address in named[:1]]
        loose += [] if named else [constraint]
    _tie_owners(variables, ties)
    rules = grouped((ties.root(address), constraint) for address, constraint in over)
    for members in ties.sets(variables.items()):
        mine = tuple(rules.get(ties.root(members[0].address), ()))
        yield Tied(common_context(member.owners for member in members), tuple(members), mine)
    if loose:
        yield Tied((), (), tuple(loose))


def _among(variables: Mapping[str, Variable], addresses: Iterable[str]) -> list[str]:
    return [address for address in addresses if address in variables]


def _outside(variables: Mapping[str, Variable], constraint: Constraint) -> Iterator[str]:
    """Yield the owners of the variables that a constraint tests, if it can fail where none of them is reached.

    A constraint that names a hyperparameter does not apply there.
    """
    if constraint.scope or holds(constraint.expression, lambda _: INACTIVE) != constraint.forbidden:
        return
    for address in _among(variables, scope(constraint.expression)):
        yield from (owner for owner, _ in variables[address].owners)


def _tie_owners(variables: Mapping[str, Variable], ties: Ties) -> None:
    """Connect variables with the decisions between their group's context and them, which decide if they are reached."""
    changed = True
    while changed:
        changed = False
        for members in ties.sets(variables.items()):
            if len(members) > 1:
                for address, owner in _inner_owners(members):
                    changed |= owner in variables and ties.tie([address, owner])


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
