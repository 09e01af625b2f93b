"""Parameters of the operators of a configuration: fixed, searched and computed values, and whole tuples."""

from collections.abc import Callable, Iterator
from itertools import chain, count

from spacelang.ir import space as ir
from spacelang.ir.computed_parameters import computed_value
from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import ExpressionValue, InactiveValue
from spacelang.ir.tuple_parameters import tuple_value
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, join_address

IntegerTest = Callable[[ir.Operator, str], bool]
"""A function that returns True if a parameter of an operator takes integers, but no floats."""


def parameters_of_operators(
    space: ir.Space, configuration: Configuration, takes_only_integers: IntegerTest
) -> dict[str, dict[str, Value]]:
    """Return the parameters of each operator that a configuration of the space contains, by name.

    The key of an operator is what comes before its hyperparameters in configurations: the key of its decision, or the
    name of the operator. Where a parameter takes an operator, its value is the name of the alternative, and the
    parameters of the inner operator have their own key. Values that are not active or not defined are left out.
    """
    walk = _Walk(space, Assignment.from_configuration(space, configuration), takes_only_integers)
    walk.visit(space.root, "")
    return walk.found


class _Walk:
    """A walk over the operators of a configuration that collects their parameters."""

    def __init__(self, space: ir.Space, lookup: Assignment, takes_only_integers: IntegerTest) -> None:
        self.found: dict[str, dict[str, Value]] = {}
        self._space = space
        self._lookup = lookup
        self._takes_only_integers = takes_only_integers

    def visit(self, node: ir.Node, prefix: str) -> None:
        """Collect the parameters of the operators of a node; `prefix` is the key of the decision around it, if any."""
        match node:
            case ir.Choice():
                self._visit_alternative(self._branch(node).node, node.key)
            case ir.Product():
                for step in node.children:
                    self.visit(step, prefix)
            case ir.Operator():
                self._add(node, join_address(prefix, node.name))
            case ir.Hyperparameter():
                return

    def _visit_alternative(self, node: ir.Node, key: str) -> None:
        if isinstance(node, ir.Operator):
            self._add(node, key)
        else:
            self.visit(node, key)

    def _branch(self, decision: ir.Choice) -> ir.Branch:
        name = self._lookup(decision.address)
        assert isinstance(name, str)
        return decision.branches[decision.branch_indices[name]]

    def _add(self, operator: ir.Operator, usual_key: str) -> None:
        key = _key_of_children(operator) or self._unused_key(usual_key)
        self.found[key] = {
            name: value for name, value in self._values(operator) if not isinstance(value, InactiveValue)
        }
        for name, fixed in operator.fixed:
            if isinstance(fixed, ir.Operator):
                self._add(fixed, join_address(key, name))
        for child in operator.children:
            self.visit(child, key)

    def _unused_key(self, key: str) -> str:
        numbered = (f"{key}_{number}" for number in count(2))
        return next(each for each in chain((key,), numbered) if each not in self.found)

    def _values(self, operator: ir.Operator) -> Iterator[tuple[str, ExpressionValue]]:
        members = {address for each in operator.tuples for address in each.members}
        for name, fixed in operator.fixed:
            yield name, fixed.name if isinstance(fixed, ir.Operator | ir.CatalogueObject) else fixed
        for child in operator.children:
            if isinstance(child, ir.Choice):
                yield child.name, self._alternative_value(self._branch(child))
            elif not child.is_var and child.address not in members:
                yield child.name, self._lookup(child.address)
        for parameter in operator.tuples:
            yield parameter.name, tuple_value(parameter, self._lookup)
        for computed in operator.computed:
            takes_only_integers = self._takes_only_integers(operator, computed.name)
            variables = self._space.variables
            yield computed.name, computed_value(computed.expression, self._lookup, variables, takes_only_integers)

    def _alternative_value(self, branch: ir.Branch) -> ExpressionValue:
        if isinstance(branch.node, ir.Hyperparameter):
            return self._lookup(branch.node.address)
        return branch.value if branch.node == ir.SKIPPED_STEP else branch.name


def _key_of_children(operator: ir.Operator) -> str:
    """Return the part that the keys of the hyperparameters and decisions of an operator share; empty without any."""
    return next((each.key.removesuffix(f".{each.name}") for each in operator.children), "")
