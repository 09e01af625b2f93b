"""What conditions and constraints tie together, directly or through others, and nothing more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from spacelang.grouping import grouped
from spacelang.ir.expr import INACTIVE, holds, scope
from spacelang.ir.space import Constraint, Context, Variable

T = TypeVar("T")


class Ties:
    """Disjoint sets of names: union-find."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def root(self, name: str) -> str:
        """The name that stands for all that are tied to one."""
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def tie(self, names: Iterable[str]) -> bool:
        """Tie the names together; whether they were not already."""
        roots = {self.root(name): None for name in names}
        first, *others = roots or [""]
        for other in others:
            self._parent[other] = first
        return bool(others)

    def sets(self, items: Iterable[tuple[str, T]]) -> list[list[T]]:
        """The items whose names are tied to each other, together, in the order of the first ones."""
        return [*grouped((self.root(name), item) for name, item in items).values()]


class Tied(NamedTuple):
    """Variables in the order of the text, the constraints over them, and the branches that all of them lie below."""

    context: Context
    members: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]


def tied(variables: Mapping[str, Variable], constraints: Sequence[Constraint]) -> Iterator[Tied]:
    """What is tied together, in the order of the first variables; every variable is in exactly one.

    What is said of others, as of decisions that are known, ties nothing. Constraints that name none of the variables
    come last, without members.
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
    """The owners of what a constraint tests if it says something about where none of it is reached.

    Where a constraint names a hyperparameter it says nothing there.
    """
    if constraint.scope or holds(constraint.expression, lambda _: INACTIVE) != constraint.forbidden:
        return
    for address in _among(variables, scope(constraint.expression)):
        yield from (owner for owner, _ in variables[address].owners)


def _tie_owners(variables: Mapping[str, Variable], ties: Ties) -> None:
    """Add the decisions between a context and what lies below it: whether a member is reached depends on them."""
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
    """The branches that all contexts begin with."""
    first, *others = contexts
    for other in others:
        length = 0
        for mine, its in zip(first, other, strict=False):
            if mine != its:
                break
            length += 1
        first = first[:length]
    return first
