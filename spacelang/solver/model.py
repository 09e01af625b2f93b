"""The solver of a space: its networks, made once, and what is asked of them under the weights that a question needs.

Branches that are taken fix decisions; everything else is as it was. So what a network leaves of its decisions is worked
out once, and serves whatever is taken of them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Final

from spacelang.grouping import grouped
from spacelang.ir.domain import Simple
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Variable
from spacelang.ir.walk import Structure
from spacelang.solver.compiling import networks_of
from spacelang.solver.elimination import (
    EXISTS,
    SUM,
    Elimination,
    Factor,
    FactorGraph,
    State,
    Table,
    draw,
    eliminate,
    supported,
)
from spacelang.solver.network import UNREACHED, Fixed, Network

KEPT: Final = 8_192
"""For so many sets of fixed members what was solved is kept."""
SMALL_GROUP: Final = 100
"""So many variables of a network are solved with all that is needed to tell what is supported."""


class Weights:
    """What the branches of decisions and the cells of hyperparameters weigh.

    As they are here, every structure weighs 1 if some values of its hyperparameters are admissible.
    """

    existential = True
    """Whether hyperparameters only have to exist: a structure then counts once, however many values it allows."""

    semiring = SUM
    """What adds weights up."""

    def branch(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        """The weight of taking a branch, on top of what lies inside it."""
        return 1

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:  # noqa: ARG002
        """The weight of a value in the cell."""
        return 1


class Model:
    """Variables and the constraints over them, in networks by their context; see `Solver` for what is asked of them."""

    def __init__(self, variables: Mapping[str, Variable], constraints: Sequence[Constraint]) -> None:
        """Raises UndecidableError for arithmetic that cannot be decided exactly."""
        self.variables = variables
        networks = networks_of(variables, constraints)
        self.by_context: dict[Context, list[Network]] = grouped((each.context, each) for each in networks)

    @cached_property
    def deciding(self) -> dict[Context, list[Network]]:
        """The networks with decisions among their members, by their context."""
        found = {
            context: [each for each in networks if any(isinstance(member.node, Choice) for member in each.members)]
            for context, networks in self.by_context.items()
        }
        return {context: networks for context, networks in found.items() if networks}

    @cached_property
    def network_of(self) -> dict[str, Network]:
        """The network of each decision, by its address."""
        deciding = (network for networks in self.deciding.values() for network in networks)
        return {member.address: network for network in deciding for member in network.members}

    @cached_property
    def only_existence(self) -> bool:
        """Whether some comparison of ranges was decided without its solutions being countable."""
        return any(network.ranges for networks in self.by_context.values() for network in networks)


class Solver:
    """A model under weights: what is below every context, computed on demand and once."""

    def __init__(self, model: Model, weights: Weights) -> None:
        """Nothing is solved before it is asked for."""
        self.model = model
        self.weights = weights
        self._whole: dict[Network, Elimination] = {}
        self._weighted: dict[str, Factor] = {}
        self._conditioned: dict[tuple[Network, Fixed, str], Elimination] = {}

    def given(self, taken: Structure) -> "ConditionedSolver":
        """The solver of what is left once decisions have taken branches.

        Where a decision is nested, those that lead to it are given too. `given({"model": "GaussianNB"}).exists` says
        whether some admissible structure ends in naive Bayes.
        """
        return ConditionedSolver(self, taken)

    def total(self, context: Context = ()) -> float:
        """The weight of everything below a context, its branches taken."""
        return prod(
            self.solve(network).total
            for network in self.model.by_context.get(context, ())
            if not (self.weights.existential and network.is_free)
        )

    def structure(self, choose: Callable[[Sequence[float]], int]) -> dict[str, str]:
        """The branches of one structure by the addresses of its decisions, drawn in proportion to the weights."""
        return self.given({}).structure(choose)

    def supported(self) -> dict[str, frozenset[State]]:
        """For every variable the states that some admissible configuration has, given that its context is reached."""
        return {
            address: states
            for networks in self.model.by_context.values()
            for network in networks
            for address, states in self._supported(network).items()
            if address not in network.truths
        }

    def supported_branches(self) -> dict[str, frozenset[int]]:
        """For every decision the places of the branches that some admissible configuration takes."""
        found: dict[str, frozenset[int]] = {}
        for networks in self.model.deciding.values():
            for network in networks:
                choices = {m.address: m for m in network.members if isinstance(m.node, Choice)}
                if network.constraints:
                    support = self._supported(network)
                    found |= {address: support[address] - {UNREACHED} for address in choices}
                else:
                    found |= {address: self._open_branches(variable) for address, variable in choices.items()}
        return found

    def _open_branches(self, variable: Variable) -> frozenset[int]:
        """The branches below which something is left, of a decision that nothing else limits."""
        return frozenset(place for place in range(len(variable.choice.branches)) if self.total(inside(variable, place)))

    def _supported(self, network: Network) -> dict[str, frozenset[State]]:
        kept = self.solve(network) if _is_small(network) else self._eliminated(network, keep_trivial=True)
        return supported(kept)

    def decisions(self, network: Network) -> FactorGraph:
        """The decisions of a network: what is possible of them, and what they weigh."""
        return self._weighed(network.decisions, network)

    def solve(self, network: Network, fixed: Fixed = (), last: str = "") -> Elimination:
        """One networks, its context taken, under weights that are existential where members are fixed.

        With `last`, only what is tied to this decision, which goes last: its bucket has its weights. Raises
        TooTangledError.
        """
        if not fixed and not last:
            if network not in self._whole:
                self._whole[network] = self._eliminated(network, keep_trivial=_is_small(network))
            return self._whole[network]
        key = (network, fixed, last)
        if key not in self._conditioned:
            if len(self._conditioned) == KEPT:
                self._conditioned.clear()
            left = network.decisions.given({address: (place,) for address, place in fixed})
            graph = self._weighed(left.around(last) if last else left, network)
            with network.blamed():
                self._conditioned[key] = eliminate(graph, (graph.states.keys() - {last}, self.weights.semiring))
        return self._conditioned[key]

    def _eliminated(self, network: Network, *, keep_trivial: bool) -> Elimination:
        graph = self._weighed(network, network)
        existential = network.existential if self.weights.existential else ()
        with network.blamed():
            turns = (existential, EXISTS), (graph.states, self.weights.semiring)
            return eliminate(graph, *turns, keep_trivial=keep_trivial)

    def _weighed(self, graph: FactorGraph, network: Network) -> FactorGraph:
        """A graph of some of a network's variables, times what those that are members weigh."""
        members = (member.address for member in network.members)
        return graph.times(self._weights_of(network, address) for address in members if address in graph.states)

    def _weights_of(self, network: Network, address: str) -> Factor:
        """What the states of a variable weigh; a branch, with all that is inside it."""
        if address not in self._weighted:
            node, states = self.model.variables[address].node, network.states[address]
            table: Table = {(s,): 1 if s == UNREACHED else self._weight(network, node, s) for s in states}
            self._weighted[address] = Factor((address,), table)
        return self._weighted[address]

    def _weight(self, network: Network, node: Choice | Hyperparameter, state: State) -> float:
        if isinstance(node, Hyperparameter):
            return self.weights.cell(node, network.cells[node.address][state])
        return self.weights.branch(node, state) * self.total(inside(self.model.variables[node.address], state))


class ConditionedSolver:
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
            for network in model.by_context.get(waiting.pop(), ()):
                fixed = network.fixed(self._taken)
                if not self._solver.solve(network, fixed).total:
                    return False
                waiting.extend(inside(model.variables[address], place) for address, place in fixed)
        return True

    def structure(self, choose: Callable[[Sequence[float]], int]) -> dict[str, str]:
        """One structure with the branches that are taken, drawn in proportion to the weights; one must exist."""
        model = self._solver.model
        result: dict[str, str] = {}
        waiting: list[Context] = [()]
        while waiting:
            for network in model.deciding.get(waiting.pop(), ()):
                fixed = network.fixed(self._taken)
                drawn = draw(self._solver.solve(network, fixed), choose, network.existential)
                for address, state in (*fixed, *drawn.items()):
                    if state != UNREACHED:
                        waiting.append(inside(model.variables[address], state))
                        result[address] = waiting[-1][-1][1]
        return result

    def shares(self, choice: Choice) -> dict[str, int]:
        """The proportions of the structures that take each branch that some take of a decision that is reached."""
        network = self._solver.model.network_of[choice.address]
        buckets = self._solver.solve(network, network.fixed(self._taken), choice.address).buckets
        return {choice.branches[place].name: int(share) for place, share in buckets[-1].weights[()].items()}


def inside(variable: Variable, state: State) -> Context:
    """The context of what a branch of a decision leads to."""
    return (*variable.owners, (variable.address, variable.choice.branches[state].name))


def _is_small(network: Network) -> bool:
    """Whether dropping what limits nothing would save less than solving the network again for what is supported.

    Without a constraint nobody asks, and what limits nothing may tie together what nothing else does.
    """
    return len(network.constraints) > 0 and len(network.members) <= SMALL_GROUP
