"""Networks: variables that conditions and constraints tie together, and what these say of them as factors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from spacelang.ir.domain import Simple
from spacelang.ir.expr import Compare, Expr, references
from spacelang.ir.space import Choice, Constraint, Context, Variable
from spacelang.ir.value import is_number
from spacelang.solver.elimination import FactorGraph, State, TangledError
from spacelang.solver.linear import Rows, difference, rows

UNREACHED: Final = -1
"""The state of a variable that is not active."""
Fixed: TypeAlias = tuple[tuple[str, State], ...]
"""The addresses of some decisions of a network with the places of their branches, in the order of its members."""


class UndecidableError(Exception):
    """An atom whose truth over very many values cannot be decided exactly: arithmetic that is not linear."""

    def __init__(self, atom: Expr) -> None:
        super().__init__("arithmetic over a large range must be linear to be decided exactly")
        self.atom = atom


class TooTangledError(Exception):
    """Constraints that tie so many variables to each other that they cannot be counted exactly."""

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        super().__init__("the constraints tie too many decisions to each other to be counted exactly")
        self.constraints = constraints


@dataclass(frozen=True, eq=False)
class Network(FactorGraph):
    """Variables that are tied together, with their states, and the factors, of weights 0 and 1, that tie them.

    Those of the space are its `members`, in the order of the text, within the branches that all of them lie below, its
    `context`. `cells` holds the cells of each hyperparameter by state. `truths` are variables that stand for the truth
    (1 or 0) of parts of expressions; all others decide them. `ranges` are those of the comparisons of large ranges:
    what cells allow them to be is known, not how many values it takes, so that with any of them only existence is
    decided. A network equals itself alone.
    """

    context: Context
    members: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]
    cells: Mapping[str, tuple[Simple, ...]]
    truths: tuple[str, ...]
    ranges: Mapping[str, Compare]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def is_free(self) -> bool:
        """Whether it has hyperparameters alone, and nothing limits them: some values always exist."""
        return not self.factors and len(self.cells) == len(self.members)

    @property
    def existential(self) -> frozenset[str]:
        """The variables that are not decisions."""
        return frozenset((*self.cells, *self.truths))

    @cached_property
    def decisions(self) -> FactorGraph:
        """The decisions alone: positive where hyperparameters have values; raises TooTangledError."""
        with self.blamed():
            return self.without(self.existential)

    def fixed(self, taken: Mapping[str, str | None]) -> Fixed:
        """The decisions whose branches are given."""
        found = ((member.address, member.node, taken.get(member.address)) for member in self.members)
        return tuple(
            (address, node.places[branch])
            for address, node, branch in found
            if branch is not None and isinstance(node, Choice)
        )

    def compared(self, states: Mapping[str, State]) -> tuple[dict[str, Simple], list[tuple[Rows, ...]]]:
        """The cells of the numbers that are compared as ranges, in some states, and what the comparisons need there."""
        over = {address for atom in self.ranges.values() for address in references(atom)}
        cells = {address: self.cells[address][states[address]] for address in over if states[address] != UNREACHED}
        numbers = {address: cell for address, cell in cells.items() if is_number(cell.middle)}
        needed = [
            alternatives_of(atom, bool(states[name]))
            for name, atom in self.ranges.items()
            if numbers.keys() >= set(references(atom))
        ]
        return {address: numbers[address] for address in self.cells if address in numbers}, needed

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Where this network is what becomes too large, its constraints are to blame: raises TooTangledError."""
        try:
            yield
        except TangledError as error:
            raise TooTangledError(self.constraints) from error


def alternatives_of(atom: Compare, truth: bool) -> tuple[Rows, ...]:
    """The alternatives of which one must hold for a linear comparison of numbers to have the given truth."""
    form = difference(atom)
    assert form is not None
    return rows(atom.relation, form, truth)
