"""What is left of the structures of a space once some branches are taken: counted, drawn from, nearest to the default.

Branches that are taken fix members of groups; everything else cancels out or is as it was. So only tables over the
decisions of one group are ever solved again, and what was solved for the same members serves all other branches.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from spacelang.ir.space import Choice, Variable
from spacelang.ir.walk import Structure, default_structure
from spacelang.solver.compiled import UNREACHED, Compiled, TooTangledError
from spacelang.solver.counting import Discrepancy, Structures
from spacelang.solver.elimination import Elimination, Factor, State, Table, TangledError, draw, eliminate, project
from spacelang.solver.groups import Context
from spacelang.solver.model import Solution

KEPT: Final = 8_192
"""For so many sets of fixed members what was solved is kept."""

Fixed: TypeAlias = tuple[tuple[str, State], ...]
"""The addresses of some decisions of a group with the places of their branches, in the order of its members."""


class Completions:
    """The admissible structures that take given branches, none of them listed.

    Branches are given by the addresses of their decisions; where a decision is nested, those that lead to it are given
    too. Some admissible structure must take all of them, but where `admits` is asked.
    """

    def __init__(self, structures: Structures) -> None:
        """Nothing is solved before it is asked for."""
        self.structures = structures
        self._deciding = structures.model.deciding
        groups = [group for found in self._deciding.values() for group in found]
        self._groups = {id(group): group for group in groups}
        self._group_of = {member.address: group for group in groups for member in group.group.members}
        self._tables = lru_cache(maxsize=None)(self._make_tables)
        self._weights = lru_cache(maxsize=None)(self._make_weights)
        self._drawn = lru_cache(maxsize=KEPT)(self._make_drawn)
        self._shares = lru_cache(maxsize=KEPT)(self._make_shares)

    def admits(self, taken: Structure) -> bool:
        """Whether some admissible structure takes the given branches."""
        waiting: list[Context] = [()]
        while waiting:
            for group in self.structures.model.by_context.get(waiting.pop(), ()):
                members = fixed(group, taken)
                solved = self.elimination(group, members) if members else self.structures.existence.solve(group)
                if not solved.total:
                    return False
                waiting.extend(_inside(self.structures.space.variables[address], place) for address, place in members)
        return True

    def counts(self, taken: Structure, choice: Choice, structures: int) -> dict[str, int]:
        """How many structures take each branch that some take of a decision to which the given branches lead.

        `structures` is how many take the given branches alone.
        """
        group = self._group_of[choice.address]
        shares: dict[int, int] = self._shares(id(group), fixed(group, taken), choice.address)
        total = sum(shares.values())
        return {choice.branches[place].name: structures * share // total for place, share in shares.items()}

    def elimination(self, compiled: Compiled, members: Fixed) -> Elimination:
        """A group with decisions solved for drawing the others where some are fixed; raises TooTangledError."""
        found: Elimination = self._drawn(id(compiled), members)
        return found

    def nearest(self, taken: Structure) -> dict[str, str]:
        """The structure nearest to the default that takes the given branches.

        It differs from the default in as few further decisions as possible; where several structures do, which of them
        it is depends on the space alone.
        """
        usual = default_structure(self.structures.space, taken)
        if self.structures.admits(usual):
            return usual
        found: dict[str, str] = {}
        waiting: list[Context] = [()]
        while waiting:
            for group in self._deciding.get(waiting.pop(), ()):
                members = fixed(group, taken)
                nearest = draw(self._solved(group, members, self._distances), self._fewest)
                for address, state in (*members, *nearest.items()):
                    if state != UNREACHED:
                        variable = self.structures.space.variables[address]
                        assert isinstance(variable.node, Choice)
                        found[address] = variable.node.branches[state].name
                        waiting.append((*variable.owners, (address, found[address])))
        return found

    @cached_property
    def _shift(self) -> int:
        return self.structures.count.bit_length() + 1

    @cached_property
    def _distances(self) -> Solution:
        """Structures by how many decisions do not take their defaults."""
        return Solution(self.structures.model, Discrepancy({}, self._shift))

    def _fewest(self, weights: Sequence[float]) -> int:
        """The first of packed counts (see `Discrepancy`) with a structure of as few discrepancies as there are."""
        lowest = [int(weight) & -int(weight) for weight in weights]
        return min(range(len(weights)), key=lambda place: (lowest[place].bit_length() - 1) // self._shift)

    def _make_drawn(self, group: int, members: Fixed) -> Elimination:
        return self._solved(self._groups[group], members, self.structures.existence)

    def _make_shares(self, group: int, members: Fixed, address: str) -> dict[int, int]:
        """In which proportions structures take the branches of a member, where others are fixed."""
        compiled, shift = self._groups[group], self._shift
        elimination = self._solved(compiled, members, self.structures.existence, apart=address)
        packed, places = int(elimination.total), range(len(compiled.states[address]))
        shares = ((place, (packed >> shift * place) & ((1 << shift) - 1)) for place in places)
        return {place: share for place, share in shares if share}

    def _solved(self, compiled: Compiled, members: Fixed, solution: Solution, apart: str = "") -> Elimination:
        """The sum over the decisions that are not fixed; with `apart`, over those alone that are tied to this one."""
        states = {a: compiled.states[a] for a in _decisions(compiled) if a not in dict(members)}
        tables = [*_left(self._tables(id(compiled)), dict(members))]
        if apart:
            tied = _tied_to(apart, tables)
            states = {address: each for address, each in states.items() if address in tied}
            tables = [table for table in tables if tied.intersection(table.scope)]
        weights = (self._weights(address, solution) for address in states if address != apart)
        try:
            return eliminate(states, [*tables, *weights, *([self._set_apart(apart)] if apart else ())])
        except TangledError as error:
            raise TooTangledError(compiled.group.constraints) from error

    def _make_tables(self, group: int) -> tuple[Factor, ...]:
        """Factors over the decisions of a group, with a row for each of their joint states that has a solution."""
        compiled = self._groups[group]
        try:
            return project(compiled.states, compiled.factors, compiled.existential)
        except TangledError as error:
            raise TooTangledError(compiled.group.constraints) from error

    def _make_weights(self, address: str, solution: Solution) -> Factor:
        """What the branches of a decision weigh, with all that is inside them."""
        variable = self.structures.space.variables[address]
        assert isinstance(variable.node, Choice)
        weights: Table = {
            (place,): solution.weights.branch(variable.node, place) * solution.total(_inside(variable, place))
            for place in range(len(variable.node.branches))
        }
        return Factor((address,), {**weights, (UNREACHED,): 1})

    def _set_apart(self, address: str) -> Factor:
        """The weights of a decision's branches so far apart that a sum keeps their counts apart."""
        usual: Factor = self._weights(address, self.structures.existence)
        apart: Table = {(s,): int(w) << self._shift * s for (s,), w in usual.table.items() if s != UNREACHED}
        return Factor((address,), apart)


def fixed(compiled: Compiled, taken: Structure) -> Fixed:
    """The decisions of a group whose branches are given."""
    found = ((member.address, member.node, taken.get(member.address)) for member in compiled.group.members)
    return tuple(
        (address, node.places[branch])
        for address, node, branch in found
        if branch is not None and isinstance(node, Choice)
    )


def _decisions(compiled: Compiled) -> Iterator[str]:
    return (member.address for member in compiled.group.members if isinstance(member.node, Choice))


def _inside(variable: Variable, place: State) -> Context:
    assert isinstance(variable.node, Choice)
    return (*variable.owners, (variable.address, variable.node.branches[place].name))


def _left(tables: Iterable[Factor], members: Mapping[str, State]) -> Iterator[Factor]:
    """What tables say of the other decisions once some are fixed."""
    for table in tables:
        known = [(place, members[name]) for place, name in enumerate(table.scope) if name in members]
        if not known:
            yield table
            continue
        free = [place for place, name in enumerate(table.scope) if name not in members]
        rows: Table = {
            tuple([row[place] for place in free]): weight
            for row, weight in table.table.items()
            if all(row[place] == state for place, state in known)
        }
        yield Factor(tuple(table.scope[place] for place in free), rows)


def _tied_to(address: str, tables: Iterable[Factor]) -> set[str]:
    """The decisions that tables tie to one, itself among them."""
    beside: dict[str, set[str]] = {}
    for table in tables:
        for name in table.scope:
            beside.setdefault(name, set()).update(table.scope)
    tied, waiting = {address}, [address]
    while waiting:
        for name in beside.get(waiting.pop(), ()):
            if name not in tied:
                tied.add(name)
                waiting.append(name)
    return tied
