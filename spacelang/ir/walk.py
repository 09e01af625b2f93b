"""Walking a space along a structure or a configuration: what is reached, what is active, what it is worth."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Missing
from spacelang.ir.expr import INACTIVE, Inactive, Worth, holds, scope
from spacelang.ir.space import Choice, Context, Hyperparameter, Space, Variable
from spacelang.ir.value import Value

Structure = Mapping[str, str]
"""Every reached decision's address with the branch that it takes."""


def reached(space: Space, branch_of: Callable[[Choice], str]) -> Iterator[tuple[Variable, str | None]]:
    """The variables that a walk reaches, owners first, each decision with the branch that `branch_of` takes."""
    waiting: list[Context] = [()]
    while waiting:
        for variable in space.by_context.get(waiting.pop(0), ()):
            if isinstance(variable.node, Choice):
                branch = branch_of(variable.node)
                yield variable, branch
                waiting.append((*variable.owners, (variable.address, branch)))
            else:
                yield variable, None


def depended(variables: Mapping[str, Variable], addresses: Iterable[str], most: int | None = None) -> dict[str, None]:
    """The addresses, and those on which it depends, through conditions, whether they are active; at most so many."""
    wanted: dict[str, None] = {}
    waiting = [*addresses]
    while waiting and len(wanted) != most:
        address = waiting.pop()
        if address not in wanted:
            wanted[address] = None
            condition = variables[address].condition
            waiting.extend(() if condition is None else scope(condition))
    return wanted


def default_structure(space: Space, taken: Structure | None = None) -> dict[str, str]:
    """The structure in which every decision that `taken` does not name takes its default."""
    known = taken or {}

    def branch_of(choice: Choice) -> str:
        return known.get(choice.address, choice.branches[choice.default].name)

    return {variable.address: branch for variable, branch in reached(space, branch_of) if branch is not None}


def structure_of(space: Space, configuration: Configuration) -> dict[str, str]:
    """The decisions of a member."""

    def branch_of(choice: Choice) -> str:
        branch = configuration[choice.key]
        assert isinstance(branch, str)
        return branch

    return {variable.address: branch for variable, branch in reached(space, branch_of) if branch is not None}


def hyperparameters_of(space: Space, configuration: Configuration) -> dict[str, Hyperparameter]:
    """The active hyperparameters of a member by their keys, in the order of the walk."""
    structure = structure_of(space, configuration)
    nodes = [variable.node for variable, _ in reached(space, lambda choice: structure[choice.address])]
    return {node.key: node for node in nodes if isinstance(node, Hyperparameter) and node.key in configuration}


def assemble(space: Space, structure: Structure, value_of: Callable[[Hyperparameter], Value]) -> Configuration:
    """The configuration of a structure in which every active hyperparameter has the value that `value_of` gives.

    Constraints are not looked at; `value_of` is asked once for each active hyperparameter and for no other.
    """
    assignment = Assignment(space, structure, value_of)
    values: dict[str, Value] = {}
    for variable, branch in reached(space, lambda choice: structure[choice.address]):
        value = branch if branch is not None else assignment(variable.address)
        if not isinstance(value, Inactive):
            values[variable.key] = value
    return Configuration(values)


class Assignment:
    """A structure with values, as expressions look it up: the worth of every address, INACTIVE included."""

    def __init__(self, space: Space, structure: Structure, value_of: Callable[[Hyperparameter], Value]) -> None:
        self._space = space
        self._structure = structure
        self._value_of = value_of
        self._worths: dict[str, Worth] = {}

    @classmethod
    def of(cls, space: Space, configuration: Configuration) -> "Assignment":
        """The assignment of a member."""

        def value_of(node: Hyperparameter) -> Value:
            found = node.domain.find(configuration[node.key])
            assert not isinstance(found, Missing)
            return found

        return cls(space, structure_of(space, configuration), value_of)

    def __call__(self, address: str) -> Worth:
        """The branch of a decision or the value of a hyperparameter; INACTIVE for what is not reached or active."""
        if address not in self._worths:
            self._worths[address] = self._find(self._space.variables[address])
        return self._worths[address]

    def _find(self, variable: Variable) -> Worth:
        if isinstance(variable.node, Choice):
            return self._structure.get(variable.address, INACTIVE)
        if any(self._structure.get(owner) != branch for owner, branch in variable.owners):
            return INACTIVE
        if variable.node.condition is not None and not holds(variable.node.condition, self):
            return INACTIVE
        return self._value_of(variable.node)
