"""What holds of a space as a whole: names that are told apart, references to what there is, no circle of conditions.

Analysis sees to it for texts; for a space that comes from elsewhere it is checked here.
"""

from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from spacelang.forms.json_fields import DefinitionError
from spacelang.ir.expr import Active, Expr, Is, Reference, nodes, scope
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, Space, children_of, subtree
from spacelang.suggest import suggestion


@dataclass(slots=True)
class Paths:
    """Where a document has the decisions and hyperparameters of a space, by address, and its expressions."""

    nodes: dict[str, str] = field(default_factory=dict)
    expressions: list[tuple[str, Expr]] = field(default_factory=list)
    orders: int = 0
    """Of all permutations together."""

    def add(self, address: str, path: str) -> None:
        """Note the path of an address; raises DefinitionError for one that is there already."""
        if address in self.nodes:
            raise DefinitionError(f"{path}.address", f"is `{address}`, as that of `{self.nodes[address]}`")
        self.nodes[address] = path


def check(space: Space, paths: Paths) -> None:
    """Raise DefinitionError, with the path of the first thing that is wrong."""
    _keys(space.root, paths)
    for path, expression in paths.expressions:
        for node in nodes(expression):
            _check_reference(node, path, space)
    _check_conditions(space, paths)


def _keys(node: Node, paths: Paths) -> set[str]:
    """The keys of a node and all below it: only the alternatives of one decision may share some."""
    match node:
        case Hyperparameter():
            return {node.key}
        case Choice():
            inner: set[str] = set()
            for branch in node.branches:
                inner = _union(inner, _keys(branch.node, paths))
            return _joined(inner, {node.key}, node, paths)
        case Operator() | Product():
            found: set[str] = set()
            for child in children_of(node):
                found = _joined(found, _keys(child, paths), child, paths)
            return found


def _joined(before: set[str], more: set[str], node: Node, paths: Paths) -> set[str]:
    if not before.isdisjoint(more):
        key = min(before & more)
        named = (each for each in subtree(node) if isinstance(each, Hyperparameter | Choice) and each.key == key)
        where = next((paths.nodes[each.address] for each in named), "definition.root")
        problem = f"is `{key}`, which something else is called that can be active together with it"
        raise DefinitionError(f"{where}.key", problem, "give it another key")
    return _union(before, more)


def _union(one: set[str], other: set[str]) -> set[str]:
    """Both together: the larger set grows, so that deep trees do not copy the same names again and again."""
    small, large = sorted((one, other), key=len)
    large |= small
    return large


def _check_reference(node: Expr, path: str, space: Space) -> None:
    match node:
        case Reference(address) | Active(address):
            _find(address, Hyperparameter, path, space)
        case Is(address, branches):
            choice = _find(address, Choice, path, space)
            assert isinstance(choice, Choice)
            wrong = next((branch for branch in branches if branch not in choice.places), None)
            if wrong is not None:
                remedy = suggestion(wrong, choice.places) or "name one of its alternatives"
                raise DefinitionError(path, f"names `{wrong}`, which is no alternative of `{address}`", remedy)
        case _:
            return


def _find(address: str, kind: type[Choice | Hyperparameter], path: str, space: Space) -> Choice | Hyperparameter:
    variable = space.variables.get(address)
    if variable is not None and isinstance(variable.node, kind):
        return variable.node
    what = "decision" if kind is Choice else "hyperparameter"
    known = [each.address for each in space.variables.values() if isinstance(each.node, kind)]
    problem = f"names a {what} `{address}`, which there is not"
    raise DefinitionError(path, problem, suggestion(address, known) or "give the address of one that there is")


def _check_conditions(space: Space, paths: Paths) -> None:
    after = {address: set(scope(each)) & space.conditions.keys() for address, each in space.conditions.items()}
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        names = " on ".join(f"`{address}`" for address in circle)
        problem = f"closes a circle of conditions: {names}"
        raise DefinitionError(f"{paths.nodes[circle[0]]}.condition", problem) from None
