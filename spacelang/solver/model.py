"""The solver of a space: its groups, compiled once, and what is asked of them under the weights that a question needs.

Branches that are taken fix members of groups; everything else is as it was. So what a group leaves of its decisions is
worked out once, and serves whatever is taken of them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Final, Protocol

from spacelang.ir.domain import Simple
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Variable
from spacelang.ir.walk import Structure
from spacelang.solver.compiled import UNREACHED, Compiled, Fixed, compile_group
from spacelang.solver.elimination import (
    EXISTS,
    Elimination,
    Factor,
    FactorGraph,
    Semiring,
    State,
    Table,
    draw,
    eliminate,
    supported,
)
from spacelang.solver.groups import Context, groups_of

KEPT: Final = 8_192
"""For so many sets of fixed members what was solved is kept."""
SMALL_GROUP: Final = 100
"""So many variables of a group are solved with all that is needed to tell what is supported."""


class Weights(Protocol):
    """What the branches of decisions and the cells of hyperparameters weigh."""

    existential: bool
    """Whether hyperparameters only have to exist: a structure then counts once, however many values it allows."""

    semiring: Semiring
    """What adds weights up."""

    def branch(self, choice: Choice, place: int) -> float:
        """The weight of taking a branch, on top of what lies inside it."""
        ...

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:
        """The weight of a value in the cell."""
        ...


class Model:
    """Variables and the constraints over them, in groups by their context; see `Solver` for what is asked of them."""

    def __init__(self, variables: Mapping[str, Variable], constraints: Sequence[Constraint]) -> None:
        """Compile all groups; raises UndecidableError for arithmetic that cannot be decided exactly."""
        self.variables = variables
        self.by_context: dict[Context, list[Compiled]] = {}
        for group in groups_of(variables, constraints):
            self.by_context.setdefault(group.context, []).append(compile_group(group))
        self._decisions: dict[Compiled, FactorGraph] = {}

    def decisions(self, compiled: Compiled) -> FactorGraph:
        """The decisions of a group alone: positive where its hyperparameters have values; raises TooTangledError."""
        if compiled not in self._decisions:
            with compiled.blamed():
                self._decisions[compiled] = compiled.graph.without(compiled.existential)
        return self._decisions[compiled]

    @cached_property
    def deciding(self) -> dict[Context, list[Compiled]]:
        """The groups with decisions among their members, by their context."""
        found = {
            context: [c for c in group if any(isinstance(member.node, Choice) for member in c.group.members)]
            for context, group in self.by_context.items()
        }
        return {context: group for context, group in found.items() if group}

    @cached_property
    def group_of(self) -> dict[str, Compiled]:
        """The group of each decision, by its address."""
        groups = (compiled for group in self.deciding.values() for compiled in group)
        return {member.address: compiled for compiled in groups for member in compiled.group.members}

    @cached_property
    def only_existence(self) -> bool:
        """Whether some comparison of ranges was decided without its solutions being countable."""
        return any(compiled.ranges for group in self.by_context.values() for compiled in group)


class Solver:
    """A model under weights: what is below every context, computed on demand and once."""

    def __init__(self, model: Model, weights: Weights) -> None:
        """Nothing is solved before it is asked for."""
        self.model = model
        self.weights = weights
        self._whole: dict[Compiled, Elimination] = {}
        self._weighted: dict[str, Factor] = {}
        self._conditioned: dict[tuple[Compiled, Fixed, str], Elimination] = {}

    def given(self, taken: Structure) -> "Given":
        """The solver of what is left once decisions have taken branches.

        Where a decision is nested, those that lead to it are given too. `given({"model": "GaussianNB"}).exists` says
        whether some admissible structure ends in naive Bayes.
        """
        return Given(self, taken)

    def total(self, context: Context = ()) -> float:
        """The weight of everything below a context, its branches taken."""
        return prod(
            self.solve(compiled).total
            for compiled in self.model.by_context.get(context, ())
            if not (self.weights.existential and compiled.is_free)
        )

    def structure(self, choose: Callable[[Sequence[float]], int]) -> dict[str, str]:
        """The branches of one structure by the addresses of its decisions, drawn in proportion to the weights."""
        return self.given({}).structure(choose)

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
        return frozenset(place for place in range(len(variable.node.branches)) if self.total(inside(variable, place)))

    def _supported(self, compiled: Compiled) -> dict[str, frozenset[State]]:
        kept = self.solve(compiled) if _is_small(compiled) else self._eliminated(compiled, keep_trivial=True)
        return supported(kept)

    def decisions(self, compiled: Compiled) -> FactorGraph:
        """The decisions of a group: what is possible of them, and what they weigh."""
        return self._weighed(self.model.decisions(compiled), compiled)

    def solve(self, compiled: Compiled, fixed: Fixed = (), last: str = "") -> Elimination:
        """One group, its context taken, under weights that are existential where members are fixed.

        With `last`, only what is tied to this decision, which goes last: its bucket has its weights. Raises
        TooTangledError.
        """
        if not fixed and not last:
            if compiled not in self._whole:
                self._whole[compiled] = self._eliminated(compiled, keep_trivial=_is_small(compiled))
            return self._whole[compiled]
        key = (compiled, fixed, last)
        if key not in self._conditioned:
            if len(self._conditioned) == KEPT:
                self._conditioned.clear()
            left = self.model.decisions(compiled).given({address: (place,) for address, place in fixed})
            graph = self._weighed(left.around(last) if last else left, compiled)
            with compiled.blamed():
                self._conditioned[key] = eliminate(graph, (graph.states.keys() - {last}, self.weights.semiring))
        return self._conditioned[key]

    def _eliminated(self, compiled: Compiled, *, keep_trivial: bool) -> Elimination:
        graph = self._weighed(compiled.graph, compiled)
        existential = compiled.existential if self.weights.existential else ()
        with compiled.blamed():
            turns = (existential, EXISTS), (graph.states, self.weights.semiring)
            return eliminate(graph, *turns, keep_trivial=keep_trivial)

    def _weighed(self, graph: FactorGraph, compiled: Compiled) -> FactorGraph:
        """A graph of some of a group's variables, times what those that are members weigh."""
        members = (member.address for member in compiled.group.members)
        return graph.times(self._weights_of(compiled, address) for address in members if address in graph.states)

    def _weights_of(self, compiled: Compiled, address: str) -> Factor:
        """What the states of a variable weigh; a branch, with all that is inside it."""
        if address not in self._weighted:
            node, states = self.model.variables[address].node, compiled.graph.states[address]
            table: Table = {(s,): 1 if s == UNREACHED else self._weight(compiled, node, s) for s in states}
            self._weighted[address] = Factor((address,), table)
        return self._weighted[address]

    def _weight(self, compiled: Compiled, node: Choice | Hyperparameter, state: State) -> float:
        if isinstance(node, Hyperparameter):
            return self.weights.cell(node, compiled.cells[node.address][state])
        return self.weights.branch(node, state) * self.total(inside(self.model.variables[node.address], state))


class Given:
    """A solver once decisions have taken branches; whatever is solved stays with the solver."""

    def __init__(self, solver: Solver, taken: Structure) -> None:
        self._solver = solver
        self._taken = taken

    @property
    def exists(self) -> bool:
        """Whether some admissible structure takes the branches."""
        model = self._solver.model
        waiting: list[Context] = [()]
        while waiting:
            for compiled in model.by_context.get(waiting.pop(), ()):
                fixed = compiled.fixed(self._taken)
                if not self._solver.solve(compiled, fixed).total:
                    return False
                waiting.extend(inside(model.variables[address], place) for address, place in fixed)
        return True

    def structure(self, choose: Callable[[Sequence[float]], int]) -> dict[str, str]:
        """One structure with the branches that are taken, drawn in proportion to the weights; one must exist."""
        model = self._solver.model
        result: dict[str, str] = {}
        waiting: list[Context] = [()]
        while waiting:
            for compiled in model.deciding.get(waiting.pop(), ()):
                fixed = compiled.fixed(self._taken)
                drawn = draw(self._solver.solve(compiled, fixed), choose, compiled.existential)
                for address, state in (*fixed, *drawn.items()):
                    if state != UNREACHED:
                        waiting.append(inside(model.variables[address], state))
                        result[address] = waiting[-1][-1][1]
        return result

    def shares(self, choice: Choice) -> dict[str, int]:
        """The proportions of the structures that take each branch that some take of a decision that is reached."""
        compiled = self._solver.model.group_of[choice.address]
        buckets = self._solver.solve(compiled, compiled.fixed(self._taken), choice.address).buckets
        return {choice.branches[place].name: int(share) for place, share in buckets[-1].weights[()].items()}


def inside(variable: Variable, state: State) -> Context:
    """The context of what a branch of a decision leads to."""
    assert isinstance(variable.node, Choice)
    return (*variable.owners, (variable.address, variable.node.branches[state].name))


def _is_small(compiled: Compiled) -> bool:
    """Whether dropping what limits nothing would save less than solving the group again for what is supported.

    Without a constraint nobody asks, and what limits nothing may tie together what nothing else does.
    """
    return len(compiled.group.constraints) > 0 and len(compiled.group.members) <= SMALL_GROUP
