"""The solver of a space: how its networks are compiled, once, and queries on them under different weights.

Fixing branches only fixes decisions; everything else stays the same. A network is therefore reduced to its decisions
once, and this result is reused for all combinations of fixed branches.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain
from math import prod
from operator import is_
from typing import Final

from spacelang.grouping import group_by_key
from spacelang.ir.domain import SimpleDomain
from spacelang.ir.expr import Expr
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Variable
from spacelang.ir.value import to_fraction
from spacelang.ir.walk import Structure
from spacelang.solver.bucket_elimination import (
    EXISTS,
    MAX_TABLE_SIZE,
    SUM,
    Elimination,
    Factor,
    FactorGraph,
    State,
    Table,
    TooManyJointStatesError,
    VariableGroup,
    draw_states,
    eliminate,
    group_variables,
    supported_states,
)
from spacelang.solver.constraint_network import (
    UNREACHED,
    ConstraintNetwork,
    FixedDecisions,
    TooManyConnectedVariablesError,
    UndecidableError,
)
from spacelang.solver.constraint_network_compiler import ConstraintNetworkCompiler
from spacelang.solver.joint_counts import JointCounts


def compile_networks(
    variables: Mapping[str, Variable], constraints: Sequence[Constraint], known: Iterable[ConstraintNetwork] = ()
) -> Iterator[ConstraintNetwork]:
    """Yield the networks in the order of their first members. Raise TooManyConnectedVariablesError.

    What the solver cannot decide is left to the draws, which are tested with it (`ConstraintNetwork.tested`). Networks
    of the same variables and constraints are taken from the `known` ones.
    """
    found = {each.members[0].address: each for each in known if each.members}
    for group in group_variables(variables, constraints):
        same = found.get(group.members[0].address) if group.members else None
        yield same if same is not None and _has_same_content(same, group) else _compile_network(group)


def _has_same_content(one: ConstraintNetwork, group: VariableGroup) -> bool:
    return (
        len(one.members) == len(group.members)
        and all(map(is_, one.members, group.members))
        and one.constraints == group.constraints
    )


def _compile_network(tied: VariableGroup) -> ConstraintNetwork:
    """Return the network of connected variables, with as few expressions left to the draws as are found."""
    tested: dict[Expr, None] = {}
    while True:
        compiler = ConstraintNetworkCompiler(tied, tested)
        try:
            found = compiler.compile()
            if not compiler.tabulated or _can_eliminate(found, found.existential_variables):
                return found
        except UndecidableError as error:
            tested[error.atom] = None
            continue
        except TooManyConnectedVariablesError:
            if not compiler.tabulated:
                raise
        tested |= compiler.tabulated


def _can_eliminate(graph: FactorGraph, names: Collection[str]) -> bool:
    """Return True if the variables in `names` can be eliminated without too large tables.

    The elimination is tried only if an upper bound of the table sizes exceeds the limit.
    """
    if _largest_table_size(graph, names) <= MAX_TABLE_SIZE:
        return True
    try:
        graph.project_out(names)
    except TooManyJointStatesError:
        return False
    return True


def _largest_table_size(graph: FactorGraph, names: Collection[str]) -> int:
    """Return an upper bound of the joint states in a table if the variables in `names` are eliminated cheapest first.

    The bound ignores which joint states the factors exclude.
    """
    neighbours: dict[str, set[str]] = {name: {name} for name in graph.states}
    for factor in graph.factors:
        for name in factor.scope:
            neighbours[name].update(factor.scope)

    def cost(name: str) -> int:
        return prod(len(graph.states[each]) for each in neighbours[name])

    costs = {name: cost(name) for name in graph.states if name in names}
    queue = [(size, name) for name, size in costs.items()]
    heapify(queue)
    largest = 0
    while queue:
        size, variable = heappop(queue)
        if costs.get(variable) != size:
            continue  # outdated entry: the variable is eliminated or its cost has changed
        del costs[variable]
        largest = max(largest, size)
        if largest > MAX_TABLE_SIZE:
            return largest
        separator = neighbours.pop(variable) - {variable}
        for name in separator:
            neighbours[name] = (neighbours[name] | separator) - {variable}
            if name in costs:
                costs[name] = cost(name)
                heappush(queue, (costs[name], name))
    return largest


MAX_CACHED: Final = 8_192  # The maximum number of cached eliminations with fixed members
MAX_SMALL_NETWORK: Final = 100
"""The maximum number of variables of a network whose first elimination also serves `supported_states`."""


class SolverWeights:
    """The weights of branches and cells that a solver sums; by default, each admissible structure weighs 1."""

    existential = True
    """If true, values of hyperparameters only have to exist: a structure counts once, however many values it allows."""
    semiring = SUM

    def branch_weight(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        """Return the weight of taking a branch, in addition to the weights of its contents."""
        return 1

    def network_weight(self, network: ConstraintNetwork) -> float | None:  # noqa: ARG002
        """Return the total weight of a network if it is known without elimination, else None."""
        return None

    def joint_counts(self, network: ConstraintNetwork) -> JointCounts | None:  # noqa: ARG002
        """Return the weights of joint states of compared ranges, or None if each cell has a weight of its own."""
        return None

    def cell_weight(self, hyperparameter: Hyperparameter, cell: SimpleDomain) -> float:  # noqa: ARG002
        """Return the weight of a cell of a hyperparameter."""
        return 1


class DeclaredAlternativeWeights(SolverWeights):
    """Weights of structures as the space declares them by `@weight`: the product of those of their alternatives."""

    def __init__(
        self, factors: Mapping[tuple[str, int], Fraction] | None = None, *, with_annotations: bool = True
    ) -> None:
        """Create the weights; `factors` multiply those of alternatives, given by the address and the index.

        Unless `with_annotations`, `@weight` is ignored.
        """
        self._factors, self._with_annotations = factors or {}, with_annotations

    def with_even_repetition_counts(
        self, solver: "WeightedModelSolver", chains: Collection[str]
    ) -> "DeclaredAlternativeWeights":
        """Return weights that make all numbers of uses of a chain equally likely, if no constraint relates chains.

        The total weight of each chain remains the same.
        """
        factors = dict(self._factors)
        for address in chains:
            solved = solver.solve(solver.model.network_by_address[address], last=address)
            (sums,) = next(bucket.weights for bucket in solved.eliminated if bucket.variable == address).values()
            reached = {state: Fraction(weight) for state, weight in sums.items() if state != UNREACHED and weight}
            total = sum(reached.values())
            factors |= {(address, state): total / (len(reached) * weight) for state, weight in reached.items()}
        return DeclaredAlternativeWeights(factors, with_annotations=self._with_annotations)

    def branch_weight(self, choice: Choice, place: int) -> float:
        """Return the weight of an alternative as an exact number, since numbers of structures may exceed any float."""
        declared = to_fraction(choice.branches[place].weight) if self._with_annotations else Fraction(1)
        weight = declared * self._factors.get((choice.address, place), 1)
        return weight.numerator if weight.denominator == 1 else weight  # type: ignore[return-value]


class SolverModel:
    """Variables and their constraints, compiled to networks by context; `WeightedModelSolver` answers queries."""

    def __init__(
        self,
        variables: Mapping[str, Variable],
        constraints: Sequence[Constraint],
        similar: "SolverModel | None" = None,
    ) -> None:
        """Compile the networks, except those of a `similar` model with the same variables and constraints.

        Raises TooManyConnectedVariablesError.
        """
        self.variables = variables
        known = () if similar is None else chain.from_iterable(similar.by_context.values())
        networks = compile_networks(variables, constraints, known)
        self.by_context: dict[Context, list[ConstraintNetwork]] = group_by_key(
            (each.context, each) for each in networks
        )

    @cached_property
    def decision_networks(self) -> dict[Context, list[ConstraintNetwork]]:
        """The networks with at least one decision, by context."""
        found = {
            context: [each for each in networks if any(isinstance(member.node, Choice) for member in each.members)]
            for context, networks in self.by_context.items()
        }
        return {context: networks for context, networks in found.items() if networks}

    @cached_property
    def network_by_address(self) -> dict[str, ConstraintNetwork]:
        """The network of each decision, and of each hyperparameter in a network with decisions, by address."""
        deciding = (network for networks in self.decision_networks.values() for network in networks)
        return {member.address: network for network in deciding for member in network.members}

    @cached_property
    def can_number_values(self) -> bool:
        """True if eliminations count all joint values, which can then be numbered: no range is compared or tested."""
        networks = (network for several in self.by_context.values() for network in several)
        return not any(network.ranges or network.tested for network in networks)


class WeightedModelSolver:
    """A model with weights; the sums below each context are computed on demand and cached."""

    def __init__(self, model: SolverModel, weights: SolverWeights) -> None:
        """Store the model and the weights; nothing is solved yet."""
        self.model = model
        self.weights = weights
        self._solved: dict[ConstraintNetwork, Elimination] = {}
        self._weight_factors: dict[str, Factor] = {}
        self._conditioned: dict[tuple[ConstraintNetwork, FixedDecisions, str], Elimination] = {}

    def condition(self, taken: Structure) -> "ConditionedModelSolver":
        """Return a solver for the structures that take given branches; `taken` must include those that lead to them."""
        return ConditionedModelSolver(self, taken)

    def total_weight(self, context: Context = ()) -> float:
        """Return the total weight of everything below a context, assuming that its branches are taken."""
        return prod(
            self.solve(network).total if (known := self.weights.network_weight(network)) is None else known
            for network in self.model.by_context.get(context, ())
            if not (
                self.weights.existential and (network.has_only_unconstrained_hyperparameters or network.admits_defaults)
            )
        )

    def draw_structure(self, choose: Callable[[Sequence[float]], int]) -> dict[str, str]:
        """Return one structure, drawn in proportion to the weights, as branch names by address."""
        return self.condition({}).draw_structure(choose)

    def supported_states(self) -> dict[str, frozenset[State]]:
        """Return the states that each variable has in some configuration that reaches its context, by address."""
        every = (network for networks in self.model.by_context.values() for network in networks)
        return {a: states for each in every for a, states in self._supported(each).items() if a not in each.truths}

    def supported_branches(self) -> dict[str, frozenset[int]]:
        """Return the indices of the branches of each decision that some admissible configuration takes."""
        found: dict[str, frozenset[int]] = {}
        for networks in self.model.decision_networks.values():
            for network in networks:
                choices = {m.address: m for m in network.members if isinstance(m.node, Choice)}
                if network.constraints:
                    support = self._supported(network)
                    found |= {address: support[address] - {UNREACHED} for address in choices}
                else:
                    for address, variable in choices.items():
                        places = range(len(variable.choice.branches))
                        found[address] = frozenset(p for p in places if self.total_weight(context_below(variable, p)))
        return found

    def _supported(self, network: ConstraintNetwork) -> dict[str, frozenset[State]]:
        kept = self.solve(network) if _is_small(network) else self._eliminated(network, keep_trivial=True)
        return supported_states(kept)

    def weighted_decision_graph(self, network: ConstraintNetwork) -> FactorGraph:
        """Return the factor graph of the decisions of a network: the possible combinations of branches with weights."""
        return self._with_weights(network.decision_graph, network)

    def solve(self, network: ConstraintNetwork, fixed: FixedDecisions = (), last: str = "") -> Elimination:
        """Return the elimination of one network whose context is taken. Raise TooManyConnectedVariablesError.

        Decisions may be `fixed` only if the weights are existential. With `last`, the address of a decision, only the
        connected part of the graph with this decision is solved. It is eliminated last, so that the result has its
        weights.
        """
        if not fixed and not last:
            if network not in self._solved:
                self._solved[network] = self._eliminated(network, keep_trivial=_is_small(network))
            return self._solved[network]
        key = (network, fixed, last)
        if key not in self._conditioned:
            if len(self._conditioned) == MAX_CACHED:
                self._conditioned.clear()
            left = network.decision_graph.restrict({address: (place,) for address, place in fixed})
            graph = self._with_weights(left.connected_part(last) if last else left, network)
            with network.attribute_errors_to_constraints():
                self._conditioned[key] = eliminate(graph, (graph.states.keys() - {last}, self.weights.semiring))
        return self._conditioned[key]

    def _eliminated(self, network: ConstraintNetwork, *, keep_trivial: bool) -> Elimination:
        joint = self.weights.joint_counts(network)
        graph = self._with_weights(network, network) if joint is None else self._with_counts(joint, network)
        existential = network.existential_variables if self.weights.existential else ()
        with network.attribute_errors_to_constraints():
            turns = (existential, EXISTS), (graph.states, self.weights.semiring)
            return eliminate(graph, *turns, keep_trivial=keep_trivial)

    def _with_weights(self, graph: FactorGraph, network: ConstraintNetwork) -> FactorGraph:
        members = (member.address for member in network.members)
        return graph.with_factors(self._weight_factor(network, a) for a in members if a in graph.states)

    def _with_counts(self, joint: JointCounts, network: ConstraintNetwork) -> FactorGraph:
        members = [member.address for member in network.members if member.address not in joint.addresses]
        return joint.graph.with_factors(self._weight_factor(network, address) for address in members)

    def _weight_factor(self, network: ConstraintNetwork, address: str) -> Factor:
        """Return the weights of the states of a variable; the weight of a branch includes everything below it."""
        if address not in self._weight_factors:
            node, states = self.model.variables[address].node, network.states[address]
            table: Table = {(s,): 1 if s == UNREACHED else self._weight(network, node, s) for s in states}
            self._weight_factors[address] = Factor((address,), table)
        return self._weight_factors[address]

    def _weight(self, network: ConstraintNetwork, node: Choice | Hyperparameter, state: State) -> float:
        if isinstance(node, Hyperparameter):
            return self.weights.cell_weight(node, network.cells[node.address][state])
        inside = self.total_weight(context_below(self.model.variables[node.address], state))
        return self.weights.branch_weight(node, state) * inside


class ConditionedModelSolver:
    """A solver for the structures in which decisions take given branches; the original solver caches its results."""

    def __init__(self, solver: WeightedModelSolver, taken: Structure) -> None:
        self._solver = solver
        self._taken = taken

    @property
    def has_structures(self) -> bool:
        """True if some admissible structure takes the branches."""
        model = self._solver.model
        waiting: list[Context] = [()]
        while waiting:
            for network in model.by_context.get(waiting.pop(), ()):
                fixed = network.fixed_decisions(self._taken)
                if not self._solver.solve(network, fixed).total:
                    return False
                waiting.extend(context_below(model.variables[address], place) for address, place in fixed)
        return True

    def draw_structure(self, choose: Callable[[Sequence[float]], int]) -> dict[str, str]:
        """Return one of the structures with the given branches, drawn by weight. At least one must exist."""
        model = self._solver.model
        result: dict[str, str] = {}
        waiting: list[Context] = [()]
        while waiting:
            for network in model.decision_networks.get(waiting.pop(), ()):
                fixed = network.fixed_decisions(self._taken)
                drawn = draw_states(self._solver.solve(network, fixed), choose, network.existential_variables)
                for address, state in (*fixed, *drawn.items()):
                    if state != UNREACHED:
                        waiting.append(context_below(model.variables[address], state))
                        result[address] = waiting[-1][-1][1]
        return result

    def relative_branch_weights(self, choice: Choice) -> dict[str, int]:
        """Return the relative weights of the branches of a reached decision, without those of weight 0."""
        network = self._solver.model.network_by_address[choice.address]
        buckets = self._solver.solve(network, network.fixed_decisions(self._taken), choice.address).eliminated
        return {choice.branches[place].name: int(share) for place, share in buckets[-1].weights[()].items()}


def context_below(variable: Variable, state: State) -> Context:
    """Return the context below a branch of a decision; `state` is the index of the branch."""
    return (*variable.owners, (variable.address, variable.choice.branches[state].name))


def _is_small(network: ConstraintNetwork) -> bool:
    """Return True if keeping trivial factors is cheaper than a second elimination for `supported_states`.

    Networks without constraints return False: trivial factors may connect variables that nothing else connects.
    """
    return len(network.constraints) > 0 and len(network.members) <= MAX_SMALL_NETWORK
