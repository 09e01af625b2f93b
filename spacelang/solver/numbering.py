"""Numbers for structures and configurations: which one has number k, and which number it has, without listing any.

Numbers follow the tree: what comes first in the text counts most, the branches of a decision and the values of a
hyperparameter come in their order, and where nothing is tied the order is that of nested loops. Variables that
conditions and constraints tie together are taken in the order in which they are summed, which depends on the space
alone, and the values of a set in the order of the cells that these cut it into. All numbers are exact, of any size.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Simple, part_of
from spacelang.ir.expr import Inactive, Worth
from spacelang.ir.space import Choice, Context, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, Structure, assemble, structure_of
from spacelang.solver.counting import Sizes, Structures
from spacelang.solver.elimination import Bucket, State
from spacelang.solver.model import Solver, inside
from spacelang.solver.network import UNREACHED, Network, TooTangledError


def structure_at(structures: Structures, number: int) -> dict[str, str]:
    """The structure with a number from 0 to the count less 1; raises IndexError for another number."""
    _check_number(number, structures.count, "structures")
    return _Numbering(structures.space, structures.existence).unrank(number)[0]


def number_of_structure(structures: Structures, structure: Structure) -> int:
    """The number of an admissible structure."""
    return _Numbering(structures.space, structures.existence).rank(structure, {})


class ConfigurationNumbers:
    """The numbers of the configurations of a finite space."""

    def __init__(self, structures: Structures) -> None:
        """Raises ValueError, with the reason, where the configurations cannot be counted."""
        self._space = structures.space
        solver = Solver(structures.model, Sizes())
        endless = [node.key for node in self._space.hyperparameters if node.domain.size is None]
        if endless:
            raise ValueError(f"the configurations have no numbers: `{endless[0]}` is continuous")
        if structures.model.only_existence:
            raise ValueError("the configurations have no numbers: a constraint compares large ranges with each other")
        try:
            self.count = int(solver.total())
        except TooTangledError as error:
            raise ValueError(f"the configurations have no numbers: {error}") from error
        self._numbering = _Numbering(self._space, solver)

    def at(self, number: int) -> Configuration:
        """The configuration with a number from 0 to the count less 1; raises IndexError for another number."""
        _check_number(number, self.count, "configurations")
        structure, values = self._numbering.unrank(number)
        return assemble(self._space, structure, lambda node: values[node.address])

    def of(self, configuration: Configuration) -> int:
        """The number of a member."""
        assignment = Assignment.of(self._space, configuration)
        worths = {node.address: assignment(node.address) for node in self._space.hyperparameters}
        return self._numbering.rank(structure_of(self._space, configuration), worths)


def _check_number(number: int, count: int, what: str) -> None:
    if not 0 <= number < count:
        raise IndexError(f"the {what} have the numbers from 0 to {count - 1:,}" if count else "the space is empty")


class _Numbering:
    """The sums of a solver read as digits: a network below a context is one, and so is each of its variables."""

    def __init__(self, space: Space, solver: Solver) -> None:
        self._space = space
        self._solver = solver
        self._trees: dict[Network, _Tree] = {}

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
                        values[address] = network.cells[address][state].at(own)
        return structure, values

    def rank(self, structure: Structure, values: Mapping[str, Worth], context: Context = ()) -> int:
        networks = self._networks(context)
        digits = [self._rank_network(network, structure, values) for network in networks]
        return _number(digits, [self._total(network) for network in networks])

    def _networks(self, context: Context) -> Sequence[Network]:
        model = self._solver.model
        return (model.deciding if self._solver.weights.existential else model.by_context).get(context, [])

    def _total(self, network: Network) -> int:
        return int(self._solver.solve(network).total)

    def _tree(self, network: Network) -> "_Tree":
        if network not in self._trees:
            skipped = network.existential if self._solver.weights.existential else frozenset()
            buckets = self._solver.solve(network).buckets
            self._trees[network] = _Tree(bucket for bucket in buckets if bucket.variable not in skipped)
        return self._trees[network]

    def _unrank_network(self, network: Network, number: int) -> Iterator[tuple[str, State, int]]:
        """The reached members of a network with their states, and what is left to be told about each."""
        tree = self._tree(network)
        states: dict[str, State] = {}
        digits = dict(zip(tree.roots, _digits(number, [tree.total(root, states) for root in tree.roots]), strict=True))
        for variable in reversed(tree.buckets):
            states[variable], left = tree.state_at(variable, states, digits[variable])
            children = tree.children[variable]
            own = self._own_total(network, variable, states[variable])
            totals = [own, *(tree.total(child, states) for child in children)]
            mine, *others = _digits(left, totals)
            digits.update(zip(children, others, strict=True))
            if variable not in network.truths and states[variable] != UNREACHED:
                yield variable, states[variable], mine

    def _rank_network(self, network: Network, structure: Structure, values: Mapping[str, Worth]) -> int:
        tree, states = self._tree(network), _states(network, structure, values)
        digits: dict[str, int] = {}
        for variable in tree.buckets:
            children = tree.children[variable]
            own = self._own_total(network, variable, states[variable])
            mine = self._own_number(network, variable, states[variable], structure, values)
            totals = [own, *(tree.total(child, states) for child in children)]
            left = _number([mine, *(digits[child] for child in children)], totals)
            digits[variable] = tree.start_of(variable, states) + left
        return _number([digits[root] for root in tree.roots], [tree.total(root, states) for root in tree.roots])

    def _own_total(self, network: Network, variable: str, state: State) -> int:
        """How much a state of a variable leaves to be told: what lies inside a branch, the values in a cell."""
        if state == UNREACHED or variable in network.truths:
            return 1
        if variable in network.cells:
            return network.cells[variable][state].size or 0
        return int(self._solver.total(inside(self._space.variables[variable], state)))

    def _own_number(
        self, network: Network, variable: str, state: State, structure: Structure, values: Mapping[str, Worth]
    ) -> int:
        if state == UNREACHED or variable in network.truths:
            return 0
        if variable in network.cells:
            return _place(network.cells[variable][state], values[variable])
        return self.rank(structure, values, inside(self._space.variables[variable], state))


class _Tree:
    """The buckets of an elimination as a tree: each tells the first of those that it depends on."""

    def __init__(self, buckets: Iterable[Bucket]) -> None:
        self.buckets = {bucket.variable: bucket for bucket in buckets}
        order = {variable: place for place, variable in enumerate(self.buckets)}
        self.children: dict[str, list[str]] = {variable: [] for variable in self.buckets}
        self.roots: list[str] = []
        for variable, bucket in self.buckets.items():
            told = self.children[min(bucket.separator, key=order.__getitem__)] if bucket.separator else self.roots
            told.append(variable)

    def state_at(self, variable: str, states: Mapping[str, State], number: int) -> tuple[State, int]:
        """The state that a number falls into, and the number within."""
        for state, weight in sorted(self._weights(variable, states).items()):
            if number < weight:
                return state, number
            number -= int(weight)
        raise IndexError(variable)

    def start_of(self, variable: str, states: Mapping[str, State]) -> int:
        """The first number that falls into the variable's state."""
        weights = self._weights(variable, states)
        return int(sum(weight for state, weight in weights.items() if state < states[variable]))

    def total(self, variable: str, states: Mapping[str, State]) -> int:
        """How many numbers there are for the states of the variables that this one depends on."""
        return int(sum(self._weights(variable, states).values()))

    def _weights(self, variable: str, states: Mapping[str, State]) -> Mapping[State, float]:
        bucket = self.buckets[variable]
        return bucket.weights[tuple([states[name] for name in bucket.separator])]


def _digits(number: int, totals: Sequence[int]) -> list[int]:
    """The digits of a number in a mixed base, the first of which counts most."""
    found = []
    for total in reversed(totals):
        number, digit = divmod(number, total)
        found.append(digit)
    return found[::-1]


def _number(digits: Sequence[int], totals: Sequence[int]) -> int:
    number = 0
    for digit, total in zip(digits, totals, strict=True):
        number = number * total + digit
    return number


def _states(network: Network, structure: Structure, values: Mapping[str, Worth]) -> dict[str, State]:
    """The states of all variables of a network; those of truths follow by the factors that define them."""
    states: dict[str, State] = {}
    for member in network.members:
        if isinstance(member.node, Choice):
            branch = structure.get(member.address)
            states[member.address] = UNREACHED if branch is None else member.node.places[branch]
        elif member.address in network.cells and member.address in values:
            states[member.address] = _cell_of(network.cells[member.address], values[member.address])
    for factor in network.factors:
        if factor.scope and factor.scope[-1] in network.truths and factor.scope[-1] not in states:
            *others, truth = factor.scope
            if all(name in states for name in others):
                known = tuple(states[name] for name in others)
                states[truth] = next(state for state in (0, 1) if factor.table.get((*known, state)))
    return states


def _cell_of(cells: Sequence[Simple], value: Worth) -> State:
    if isinstance(value, Inactive):
        return UNREACHED
    return part_of(cells, value)


def _place(cell: Simple, value: Worth) -> int:
    assert not isinstance(value, Inactive)
    return cell.index_of(value)
