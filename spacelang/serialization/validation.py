"""Validate a space read from JSON as a whole: distinct keys, existing references and no cycle of conditions.

For text, the analysis of the language checks the same things.
"""

from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from spacelang.ir.expr import Active, Expr, Is, Reference, nodes, scope
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, Space, children_of, subtree
from spacelang.serialization.json_fields import DefinitionError
from spacelang.suggest import suggestion


@dataclass(slots=True)
class DocumentPaths:
    """The paths in a document of decisions and hyperparameters (by address) and of expressions."""

    nodes: dict[str, str] = field(default_factory=dict)
    expressions: list[tuple[str, Expr]] = field(default_factory=list)
    order_count: int = 0
    """The number of orders of all permutations together."""

    def add(self, address: str, path: str) -> None:
        """Record the path of an address; raise DefinitionError if the address is already in use."""
        if address in self.nodes:
            raise DefinitionError(f"{path}.address", f"is `{address}`, which `{self.nodes[address]}` already uses")
        self.nodes[address] = path


def validate(space: Space, paths: DocumentPaths) -> None:
    """Raise DefinitionError, with the path of the first error, if the space is invalid."""
    _collect_keys(space.root, paths)
    for path, expression in paths.expressions:
        for node in nodes(expression):
            _check_reference(node, path, space)
    _check_conditions(space, paths)


def _collect_keys(node: Node, paths: DocumentPaths) -> set[str]:
    """Return the keys of a node and all nodes below it; only the alternatives of one decision may share keys."""
    match node:
        case Hyperparameter():
            return {node.key}
        case Choice():
            inner: set[str] = set()
            for branch in node.branches:
                inner = _merge_into_larger(inner, _collect_keys(branch.node, paths))
            return _join_keys(inner, {node.key}, node, paths)
        case Operator() | Product():
            found: set[str] = set()
            for child in children_of(node):
                found = _join_keys(found, _collect_keys(child, paths), child, paths)
            return found


def _join_keys(before: set[str], more: set[str], node: Node, paths: DocumentPaths) -> set[str]:
    """Return both sets of keys as one; raise DefinitionError for a common key, at its path below `node`."""
    if not before.isdisjoint(more):
        key = min(before & more)
        named = (each for each in subtree(node) if isinstance(each, Hyperparameter | Choice) and each.key == key)
        where = next((paths.nodes[each.address] for each in named), "definition.root")
        problem = f"is `{key}`, the key of another decision or hyperparameter that can be active at the same time"
        raise DefinitionError(f"{where}.key", problem, "choose another key")
    return _merge_into_larger(before, more)


def _merge_into_larger(one: set[str], other: set[str]) -> set[str]:
    """Return the union of two sets, modifying the larger one, so that deep trees do not copy names repeatedly."""
    small, large = sorted((one, other), key=len)
    large |= small
    return large


def _check_reference(node: Expr, path: str, space: Space) -> None:
    match node:
        case Reference(address) | Active(address):
            _find_node(address, Hyperparameter, path, space)
        case Is(address, branches):
            choice = _find_node(address, Choice, path, space)
            assert isinstance(choice, Choice)
            wrong = next((branch for branch in branches if branch not in choice.branch_indices), None)
            if wrong is not None:
                remedy = suggestion(wrong, choice.branch_indices) or f"use one of the alternatives of `{address}`"
                raise DefinitionError(path, f"refers to `{wrong}`, which is not an alternative of `{address}`", remedy)
        case _:
            return


def _find_node(address: str, kind: type[Choice | Hyperparameter], path: str, space: Space) -> Choice | Hyperparameter:
    variable = space.variables.get(address)
    if variable is not None and isinstance(variable.node, kind):
        return variable.node
    what = "decision" if kind is Choice else "hyperparameter"
    known = [each.address for each in space.variables.values() if isinstance(each.node, kind)]
    problem = f"refers to the unknown {what} `{address}`"
    raise DefinitionError(path, problem, suggestion(address, known) or f"use the address of an existing {what}")


def _check_conditions(space: Space, paths: DocumentPaths) -> None:
    after = {address: set(scope(each)) & space.conditions.keys() for address, each in space.conditions.items()}
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        names = " on ".join(f"`{address}`" for address in circle)
        problem = f"creates a cycle of conditions: {names}"
        raise DefinitionError(f"{paths.nodes[circle[0]]}.condition", problem) from None
