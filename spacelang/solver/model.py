"""The counting model of a space: its groups, compiled once, summed under whatever weights a question needs."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Final, Protocol

from spacelang.ir.domain import Simple
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.solver.compiled import UNREACHED, Compiled, TooTangledError, compile_group
from spacelang.solver.elimination import Elimination, Factor, State, TangledError, draw, eliminate, project, supported
from spacelang.solver.groups import Context, groups_of

SMALL_GROUP: Final = 100
"""So many variables of a group are solved with all that is needed to tell what is supported."""


class Weights(Protocol):
    """What the branches of decisions and the cells of hyperparameters weigh in a sum."""

    existential: bool
    """Whether hyperparameters only have to exist: a structure then counts once, however many values it allows."""

    def branch(self, choice: Choice, place: int) -> float:
        """The weight of taking a branch, on top of what lies inside it."""
        ...

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """The weight of a value in the cell."""
        ...


class Model:
    """The groups of a space by their context; see `Solution` for what is asked of them."""

    def __init__(self, space: Space) -> None:
        """Compile all groups; raises UndecidableError for arithmetic that cannot be decided exactly."""
        self.space = space
        self.by_context: dict[Context, list[Compiled]] = {}
        for group in groups_of(space):
            self.by_context.setdefault(group.context, []).append(compile_group(group))

    @cached_property
    def deciding(self) -> dict[Context, list[Compiled]]:
        """The groups with decisions among their members, by their context."""
        found = {
            context: [c for c in group if any(isinstance(member.node, Choice) for member in c.group.members)]
            for context, group in self.by_context.items()
        }
        return {context: group for context, group in found.items() if group}

    @cached_property
    def only_existence(self) -> bool:
        """Whether some comparison of ranges was decided without its solutions being countable."""
        return any(compiled.ranges for group in self.by_context.values() for compiled in group)


class Solution:
    """A model under weights: totals below every context, computed on demand and once."""

    def __init__(self, model: Model, weights: Weights, taken: Mapping[str, str] | None = None) -> None:
        """`taken` gives a whole structure: decisions that it names take that branch, all others are not reached."""
        self.model = model
        self.weights = weights
        self.taken = taken
        self._eliminations: dict[int, Elimination] = {}

    def total(self, context: Context = ()) -> float:
        """The weight of everything below a context, its branches taken."""
        return prod(
            self.solve(compiled).total
            for compiled in self.model.by_context.get(context, ())
            if not (self.weights.existential and compiled.is_free)
        )

    def structure(self, choose: Callable[[Sequence[float]], int]) -> dict[str, str]:
        """The branches of one structure by the addresses of its decisions, drawn in proportion to the weights."""
        result: dict[str, str] = {}
        waiting: list[Context] = [()]
        while waiting:
            for compiled in self.model.deciding.get(waiting.pop(), ()):
                drawn = draw(self.solve(compiled), choose, compiled.existential)
                for address, state in drawn.items():
                    if state != UNREACHED:
                        variable = self.model.space.variables[address]
                        assert isinstance(variable.node, Choice)
                        result[address] = variable.node.branches[state].name
                        waiting.append((*variable.owners, (address, result[address])))
        return result

    def supported(self) -> dict[str, frozenset[State]]:
        """For every variable the states that some admissible configuration has, given that its context is reached."""
        return {
            address: states
            for group in self.model.by_context.values()
            for compiled in group
            for address, states in self._supported(compiled).items()
            if address not in compiled.truths
        }

    def supported_branches(self) -> dict[str, frozenset[int]]:
        """For every decision the places of the branches that some admissible configuration takes."""
        found: dict[str, frozenset[int]] = {}
        for group in self.model.deciding.values():
            for compiled in group:
                choices = {m.address: m for m in compiled.group.members if isinstance(m.node, Choice)}
                if compiled.group.constraints:
                    support = self._supported(compiled)
                    found |= {address: support[address] - {UNREACHED} for address in choices}
                else:
                    found |= {address: self._open_branches(variable) for address, variable in choices.items()}
        return found

    def _open_branches(self, variable: Variable) -> frozenset[int]:
        """The branches below which something is left, of a decision that nothing else limits."""
        assert isinstance(variable.node, Choice)
        contexts = ((*variable.owners, (variable.address, branch.name)) for branch in variable.node.branches)
        return frozenset(place for place, context in enumerate(contexts) if self.total(context))

    def _supported(self, compiled: Compiled) -> dict[str, frozenset[State]]:
        kept = self.solve(compiled) if _is_small(compiled) else self._eliminated(compiled, keep_trivial=True)
        return supported(kept)

    def decision_factors(self, compiled: Compiled) -> tuple[Factor, ...]:
        """Factors over the decisions of a group alone, positive where the group has a solution."""
        factors = [*compiled.factors, *self._weight_factors(compiled)]
        return project(self._states(compiled), factors, compiled.existential)

    def solve(self, compiled: Compiled) -> Elimination:
        """The sum over the joint states of one group, its context taken; raises TooTangledError."""
        key = id(compiled)
        if key not in self._eliminations:
            self._eliminations[key] = self._eliminated(compiled, keep_trivial=_is_small(compiled))
        return self._eliminations[key]

    def _eliminated(self, compiled: Compiled, *, keep_trivial: bool) -> Elimination:
        factors = [*compiled.factors, *self._weight_factors(compiled)]
        existential = compiled.existential if self.weights.existential else frozenset()
        try:
            return eliminate(self._states(compiled), factors, existential, keep_trivial=keep_trivial)
        except TangledError as error:
            raise TooTangledError(compiled.group.constraints) from error

    def _states(self, compiled: Compiled) -> Mapping[str, Sequence[State]]:
        if self.taken is None:
            return compiled.states
        states = dict(compiled.states)
        for variable in compiled.group.members:
            if isinstance(variable.node, Choice):
                branch = self.taken.get(variable.address)
                states[variable.address] = (UNREACHED if branch is None else variable.node.places[branch],)
        return states

    def _weight_factors(self, compiled: Compiled) -> list[Factor]:
        return [
            Factor(
                (variable.address,),
                {
                    (state,): 1 if state == UNREACHED else self._weight(compiled, variable.node, state)
                    for state in self._states(compiled)[variable.address]
                },
            )
            for variable in compiled.group.members
        ]

    def _weight(self, compiled: Compiled, node: Choice | Hyperparameter, state: State) -> float:
        if isinstance(node, Hyperparameter):
            return self.weights.cell(node, compiled.cells[node.address][state])
        if self.taken is not None:
            return 1
        owners = self.model.space.variables[node.address].owners
        inside = (*owners, (node.address, node.branches[state].name))
        return self.weights.branch(node, state) * self.total(inside)


def _is_small(compiled: Compiled) -> bool:
    """Whether dropping what limits nothing would save less than solving the group again for what is supported.

    Without a constraint nobody asks, and what limits nothing may tie together what nothing else does.
    """
    return len(compiled.group.constraints) > 0 and len(compiled.group.members) <= SMALL_GROUP
