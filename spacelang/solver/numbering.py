"""Numbers of structures and configurations: map an index to a structure or configuration and back.

Nothing is enumerated. The order follows the tree like nested loops: what comes first in the text is most significant.
Branches and values come in their order. Variables that conditions and constraints connect are taken in the order of
elimination, which depends on the space alone. The values of a set are then ordered by the cells into which the set is
split. All numbers are exact and of any size.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import SimpleDomain
from spacelang.ir.domain_properties import index_of_containing_domain
from spacelang.ir.expr import ExpressionValue, InactiveValue
from spacelang.ir.space import Choice, Context, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, Structure, assemble_configuration, structure_of
from spacelang.solver.bucket_elimination import EliminatedVariable, State
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork, TooManyConnectedVariablesError
from spacelang.solver.counting import CountWeights, Structures
from spacelang.solver.model import WeightedModelSolver, context_below


def structure_at(structures: Structures, number: int) -> dict[str, str]:
    """Return the structure with a number from 0 to count - 1; raise IndexError for any other number."""
    _check_number(number, structures.count, "structures")
    return _Numbering(structures.space, structures.existence_solver).unrank(number)[0]


def number_of_structure(structures: Structures, structure: Structure) -> int:
    """Return the number of an admissible structure; the inverse of `structure_at`."""
    return _Numbering(structures.space, structures.existence_solver).rank(structure, {})


class ConfigurationNumbers:
    """A bijection between the configurations of a finite space and the numbers from 0 to count - 1."""

    def __init__(self, structures: Structures) -> None:
        """Prepare the numbering; raise ValueError, with the reason, if the configurations cannot be numbered."""
        self._space = structures.space
        solver = WeightedModelSolver(structures.model, CountWeights())
        endless = [node.key for node in self._space.hyperparameters if node.domain.size is None]
        if endless:
            raise ValueError(f"the configurations cannot be numbered: `{endless[0]}` is continuous")
        if not structures.model.can_number_values:
            reason = "a constraint relates large ranges or is too complex to be counted, so draw random ones instead"
            raise ValueError(f"the configurations cannot be numbered: {reason}")
        try:
            self.count = int(solver.total_weight())
        except TooManyConnectedVariablesError as error:
            raise ValueError(f"the configurations cannot be numbered: {error}") from error
        self._numbering = _Numbering(self._space, solver)

    def configuration_at(self, number: int) -> Configuration:
        """Return the configuration with a number from 0 to count - 1; raise IndexError for any other number."""
        _check_number(number, self.count, "configurations")
        structure, values = self._numbering.unrank(number)
        return assemble_configuration(self._space, structure, lambda node: values[node.address])

    def number_of(self, configuration: Configuration) -> int:
        """Return the number of a configuration of the space; the inverse of `configuration_at`."""
        assignment = Assignment.from_configuration(self._space, configuration)
        worths = {node.address: assignment(node.address) for node in self._space.hyperparameters}
        return self._numbering.rank(structure_of(self._space, configuration), worths)


def _check_number(number: int, count: int, items: str) -> None:
    if not 0 <= number < count:
        raise IndexError(f"the {items} are numbered from 0 to {count - 1:,}" if count else "the space is empty")


class _Numbering:
    """A bijection between integers and structures, or configurations if the solver counts values.

    A number has one digit per network, which has one digit per variable (mixed radix).
    """

    def __init__(self, space: Space, solver: WeightedModelSolver) -> None:
        self._space = space
        self._solver = solver
        self._forests: dict[ConstraintNetwork, _EliminationForest] = {}

    def unrank(self, number: int) -> tuple[dict[str, str], dict[str, Value]]:
        structure: dict[str, str] = {}
        values: dict[str, Value] = {}
        waiting: list[tuple[Context, int]] = [((), number)]
        while waiting:
            context, left = waiting.pop()
            networks = self._networks(context)
            totals = [self._total(network) for network in networks]
            for network, digit in zip(networks, _digits(left, totals), strict=True):
                for address, state, own in self._unrank_network(network, digit):
                    variable = self._space.variables[address]
                    if isinstance(variable.node, Choice):
                        structure[address] = variable.node.branches[state].name
                        waiting.append(((*variable.owners, (address, structure[address])), own))
                    else:
                        values[address] = network.cells[address][state].value_at(own)
        return structure, values

    def rank(self, structure: Structure, values: Mapping[str, ExpressionValue], context: Context = ()) -> int:
        networks = self._networks(context)
        digits = [self._rank_network(network, structure, values) for network in networks]
        return _from_digits(digits, [self._total(network) for network in networks])

    def _networks(self, context: Context) -> Sequence[ConstraintNetwork]:
        model = self._solver.model
        return (model.decision_networks if self._solver.weights.existential else model.by_context).get(context, [])

    def _total(self, network: ConstraintNetwork) -> int:
        return int(self._solver.solve(network).total)

    def _forest(self, network: ConstraintNetwork) -> "_EliminationForest":
        if network not in self._forests:
            skipped = network.existential_variables if self._solver.weights.existential else frozenset()
            buckets = self._solver.solve(network).eliminated
            self._forests[network] = _EliminationForest(bucket for bucket in buckets if bucket.variable not in skipped)
        return self._forests[network]

    def _unrank_network(self, network: ConstraintNetwork, number: int) -> Iterator[tuple[str, State, int]]:
        """Yield the reached members of a network, their states, and the number left for what is inside each state."""
        tree = self._forest(network)
        states: dict[str, State] = {}
        digits = dict(zip(tree.roots, _digits(number, [tree.total(root, states) for root in tree.roots]), strict=True))
        for variable in reversed(tree.eliminated):
            states[variable], left = tree.state_at(variable, states, digits[variable])
            children = tree.children[variable]
            own = self._inner_total(network, variable, states[variable])
            totals = [own, *(tree.total(child, states) for child in children)]
            mine, *others = _digits(left, totals)
            digits.update(zip(children, others, strict=True))
            if variable not in network.truths and states[variable] != UNREACHED:
                yield variable, states[variable], mine

    def _rank_network(
        self, network: ConstraintNetwork, structure: Structure, values: Mapping[str, ExpressionValue]
    ) -> int:
        tree, states = self._forest(network), _states(network, structure, values)
        digits: dict[str, int] = {}
        for variable in tree.eliminated:
            children = tree.children[variable]
            own = self._inner_total(network, variable, states[variable])
            mine = self._inner_number(network, variable, states[variable], structure, values)
            totals = [own, *(tree.total(child, states) for child in children)]
            left = _from_digits([mine, *(digits[child] for child in children)], totals)
            digits[variable] = tree.first_number_of(variable, states) + left
        return _from_digits([digits[root] for root in tree.roots], [tree.total(root, states) for root in tree.roots])

    def _inner_total(self, network: ConstraintNetwork, variable: str, state: State) -> int:
        if state == UNREACHED or variable in network.truths:
            return 1
        if variable in network.cells:
            return network.cells[variable][state].size or 0
        return int(self._solver.total_weight(context_below(self._space.variables[variable], state)))

    def _inner_number(
        self,
        network: ConstraintNetwork,
        variable: str,
        state: State,
        structure: Structure,
        values: Mapping[str, ExpressionValue],
    ) -> int:
        if state == UNREACHED or variable in network.truths:
            return 0
        if variable in network.cells:
            value = values[variable]
            assert not isinstance(value, InactiveValue)
            return network.cells[variable][state].index_of(value)
        return self.rank(structure, values, context_below(self._space.variables[variable], state))


class _EliminationForest:
    """The eliminated variables as a forest: the parent of one is the variable of its separator eliminated first."""

    def __init__(self, buckets: Iterable[EliminatedVariable]) -> None:
        self.eliminated = {bucket.variable: bucket for bucket in buckets}
        order = {variable: place for place, variable in enumerate(self.eliminated)}
        self.children: dict[str, list[str]] = {variable: [] for variable in self.eliminated}
        self.roots: list[str] = []
        for variable, bucket in self.eliminated.items():
            told = self.children[min(bucket.separator, key=order.__getitem__)] if bucket.separator else self.roots
            told.append(variable)

    def state_at(self, variable: str, states: Mapping[str, State], number: int) -> tuple[State, int]:
        """Return the state whose block of numbers contains `number`, and the offset in the block.

        A block is as long as the weight of its state; the blocks are in the order of the states.
        """
        for state, weight in sorted(self._weights(variable, states).items()):
            if number < weight:
                return state, number
            number -= int(weight)
        raise IndexError(variable)

    def first_number_of(self, variable: str, states: Mapping[str, State]) -> int:
        weights = self._weights(variable, states)
        return int(sum(weight for state, weight in weights.items() if state < states[variable]))

    def total(self, variable: str, states: Mapping[str, State]) -> int:
        return int(sum(self._weights(variable, states).values()))

    def _weights(self, variable: str, states: Mapping[str, State]) -> Mapping[State, float]:
        bucket = self.eliminated[variable]
        return bucket.weights[tuple([states[name] for name in bucket.separator])]


def _digits(number: int, totals: Sequence[int]) -> list[int]:
    """Return the digits of a number in a mixed radix system, most significant first."""
    found = []
    for total in reversed(totals):
        number, digit = divmod(number, total)
        found.append(digit)
    return found[::-1]


def _from_digits(digits: Sequence[int], totals: Sequence[int]) -> int:
    number = 0
    for digit, total in zip(digits, totals, strict=True):
        number = number * total + digit
    return number


def _states(
    network: ConstraintNetwork, structure: Structure, values: Mapping[str, ExpressionValue]
) -> dict[str, State]:
    """Return the states of all variables of a network in a structure with the given values.

    The states of truth variables follow from the factors that define them.
    """
    states: dict[str, State] = {}
    for member in network.members:
        if isinstance(member.node, Choice):
            branch = structure.get(member.address)
            states[member.address] = UNREACHED if branch is None else member.node.branch_indices[branch]
        elif member.address in network.cells and member.address in values:
            states[member.address] = _cell_of(network.cells[member.address], values[member.address])
    for factor in network.factors:
        if factor.scope and factor.scope[-1] in network.truths and factor.scope[-1] not in states:
            *others, truth = factor.scope
            if all(name in states for name in others):
                known = tuple(states[name] for name in others)
                states[truth] = next(state for state in (0, 1) if factor.table.get((*known, state)))
    return states


def _cell_of(cells: Sequence[SimpleDomain], value: ExpressionValue) -> State:
    return UNREACHED if isinstance(value, InactiveValue) else index_of_containing_domain(cells, value)
