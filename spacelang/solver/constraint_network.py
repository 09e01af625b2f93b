"""Networks: variables that conditions and constraints connect, with their factors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

from spacelang.ir.domain import SimpleDomain, contains
from spacelang.ir.expr import Compare, Expr, ExpressionValue, is_true, mentioned_addresses, references
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Variable
from spacelang.ir.value import is_number
from spacelang.solver.bucket_elimination import (
    Factor,
    FactorGraph,
    State,
    TooManyJointStatesError,
    eliminate,
    supported_states,
)
from spacelang.solver.linear_inequalities import InequalitySystem, inequalities_for, linear_difference
from spacelang.text import NO_SPAN

UNREACHED: Final = -1
MAX_ATTEMPTS: Final = 10_000
"""The maximum number of draws for each accepted one, if constraints compare ranges with each other."""
MAX_TESTED_ATTEMPTS: Final = 200_000
"""The same for constraints that are only tested; `check` admits them if one draw in 10,000 passes."""
FixedDecisions: TypeAlias = tuple[tuple[str, State], ...]
"""Addresses of some decisions of a network with the indices of their branches, in the order of its members."""


class UndecidableError(Exception):
    """An atom over very many values that takes too long to decide exactly.

    The compiler of networks catches it and leaves the atom to the draws.
    """

    def __init__(self, atom: Expr) -> None:
        super().__init__("an expression takes too long to be decided exactly")
        self.atom = atom


class TooManyConnectedVariablesError(Exception):
    """Constraints that connect so many variables that configurations cannot be counted exactly."""

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        super().__init__("the constraints connect too many decisions to be counted exactly")
        self.constraints = constraints


class SamplingFailedError(Exception):
    """Values that satisfy the comparisons between ranges, `constraints`, are too rare for rejection sampling.

    `remedy` says what to do about it; it is also a note of the exception.
    """

    def __init__(
        self, constraints: tuple[Constraint, ...], remedy: str | None = None, attempts: int = MAX_ATTEMPTS
    ) -> None:
        super().__init__(f"none of {attempts:,} draws satisfies the constraints over ranges")
        self.constraints = constraints
        spans = (constraint.span for constraint in constraints if constraint.span.source is not NO_SPAN.source)
        lines = [str(line) for line in dict.fromkeys(span.line for span in spans)]
        where = f" in line{'s' if len(lines) > 1 else ''} {', '.join(lines)}" if lines else ""
        self.remedy = remedy or f"loosen the constraints{where}: too few random values satisfy them"
        self.add_note(self.remedy)


@dataclass(frozen=True, eq=False)
class ConstraintNetwork(FactorGraph):
    """A factor graph of connected variables; its factors have the weights 0 and 1.

    - `members` are its variables of the space, in the order of the text.
    - `context` holds the branches that all members lie below.
    - `cells` holds the cells of each hyperparameter; a state is the index of a cell.
    - `truths` are auxiliary variables for the truth (1 or 0) of parts of expressions; all other variables determine
      them.
    - `ranges` are those truths that belong to comparisons of large ranges. The solver knows which truths are
      possible in which cells, but not for how many values. With any of them, only existence is decided.
    - `tested` are those truths that belong to expressions that the solver cannot decide. Both truths are assumed to be
      possible wherever all their hyperparameters are active; they are tested with the values of each draw.

    A network is equal only to itself.
    """

    context: Context
    members: tuple[Variable, ...]
    constraints: tuple[Constraint, ...]
    cells: Mapping[str, tuple[SimpleDomain, ...]]
    truths: tuple[str, ...]
    ranges: Mapping[str, Compare]
    tested: Mapping[str, Expr]
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def without_joint_states(self) -> "ConstraintNetwork":
        """Return the network with a factor that excludes all joint states."""
        return replace(self, factors=(*self.factors, Factor((), {})))

    @property
    def has_only_unconstrained_hyperparameters(self) -> bool:
        """True if the network has only hyperparameters and no factor limits them, so that values always exist."""
        return not self.factors and len(self.cells) == len(self.members)

    @cached_property
    def admits_defaults(self) -> bool:
        """True if all members are hyperparameters without conditions, and their defaults satisfy all constraints.

        This is a quick test that the network has values. If it is False, the network may still have some.
        """
        nodes = [member.node for member in self.members if isinstance(member.node, Hyperparameter)]
        defaults: dict[str, ExpressionValue] = {
            node.address: node.default
            for node in nodes
            if node.condition is None and contains(node.domain, node.default)
        }
        if len(defaults) < len(self.members) or any(UNREACHED in self.states[address] for address in defaults):
            return False
        named = {name for each in self.constraints for name in mentioned_addresses(each.expression)}
        return named <= defaults.keys() and all(
            is_true(each.expression, defaults.__getitem__) != each.forbidden for each in self.constraints
        )

    @property
    def existential_variables(self) -> frozenset[str]:
        """The variables that are not decisions: the hyperparameters and the truths."""
        return frozenset((*self.cells, *self.truths))

    @cached_property
    def decision_graph(self) -> FactorGraph:
        """The factor graph of the decisions alone. Raise TooManyConnectedVariablesError.

        It allows the combinations of branches for which the hyperparameters can have values.
        """
        with self.attribute_errors_to_constraints():
            return self.project_out(self.existential_variables)

    @cached_property
    def possible_states(self) -> dict[str, frozenset[State]]:
        """The states of each variable that occur in a possible joint state. Raise TooManyConnectedVariablesError."""
        with self.attribute_errors_to_constraints():
            return supported_states(eliminate(self, keep_trivial=True))

    def fixed_decisions(self, taken: Mapping[str, str | None]) -> FixedDecisions:
        """Return the decisions of the network whose branches are given, with the indices of these branches."""
        found = ((member.address, member.node, taken.get(member.address)) for member in self.members)
        return tuple(
            (address, node.branch_indices[branch])
            for address, node, branch in found
            if branch is not None and isinstance(node, Choice)
        )

    def required_comparisons(
        self, states: Mapping[str, State]
    ) -> tuple[dict[str, SimpleDomain], list[tuple[InequalitySystem, ...]]]:
        """Return the cells of the numbers that `ranges` compare, by address, and what their truths in `states` require.

        The requirement of each comparison is a tuple of systems of inequalities, one of which must hold. Comparisons
        without a state in `states` are left out.
        """
        mine = {name: atom for name, atom in self.ranges.items() if name in states}
        over = {address for atom in mine.values() for address in references(atom)}
        cells = {address: self.cells[address][states[address]] for address in over if states[address] != UNREACHED}
        numbers = {address: cell for address, cell in cells.items() if is_number(cell.representative)}
        needed = [
            inequality_systems_for_truth(atom, bool(states[name]))
            for name, atom in mine.items()
            if numbers.keys() >= set(references(atom))
        ]
        return {address: numbers[address] for address in self.cells if address in numbers}, needed

    @contextmanager
    def attribute_errors_to_constraints(self) -> Iterator[None]:
        """Turn errors in the `with` block into TooManyConnectedVariablesError with these constraints."""
        try:
            yield
        except TooManyJointStatesError as error:
            raise TooManyConnectedVariablesError(self.constraints) from error


def inequality_systems_for_truth(atom: Compare, truth: bool) -> tuple[InequalitySystem, ...]:
    """Return systems of inequalities, one of which must hold to give a comparison a truth value."""
    form = linear_difference(atom)
    assert form is not None
    return inequalities_for(atom.relation, form, truth)
