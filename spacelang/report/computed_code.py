"""Write the expressions of computed parameters as Python code, which calls the functions of `computed_numbers`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from spacelang.ir import computed_numbers, expr
from spacelang.ir.computed import has_float
from spacelang.ir.domain import Grid, Real
from spacelang.ir.space import ComputedParameter, Context, Space, Variable
from spacelang.ir.walk import computed_parameters
from spacelang.targets._exports.python_nodes import literal_source

FUNCTIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "min": "min({})".format,
    "max": "max({})".format,
    "ceil": "exact(math.ceil({}))".format,
    "floor": "exact(math.floor({}))".format,
    "sqrt": f"{computed_numbers.square_root.__name__}({{}})".format,
    "log2": f"{computed_numbers.binary_logarithm.__name__}({{}})".format,
}


@dataclass(frozen=True, slots=True)
class ComputedParameterCode:
    """A writer of code for the computed parameters of one operator.

    `owners` are the branches that must be chosen to reach the operator.
    """

    space: Space
    owners: Context

    @classmethod
    def by_address(cls, space: Space) -> dict[str, "ComputedParameterCode"]:
        """Return the writer of each computed parameter of a space by its address."""
        return {computed.address: cls(space, owners) for computed, owners in computed_parameters(space.root)}

    def is_always_defined(self, computed: ComputedParameter) -> bool:
        """Return True if the value is a truth value, or one hyperparameter that is active wherever the operator is."""
        match computed.expression:
            case expr.Reference(address=address):
                variable = self._variable(address)
                return variable.condition is None and not self._further_owners(variable)
            case expression:
                return not isinstance(expression, expr.Arithmetic | expr.Call)

    def value(self, expression: expr.Expr) -> str:
        """Return the code of the value of an expression; it raises an error if the value does not exist."""
        match expression:
            case expr.Constant(value=value):
                return literal_source(value)
            case expr.Reference():
                return self._reference(expression)
            case expr.Arithmetic() | expr.Call():
                is_float = has_float(expression, self.space.variables)
                return f"to_value({self._number(expression)}, {is_float})"
            case _:
                return self._truth(expression)

    def _number(self, expression: expr.Expr) -> str:
        match expression:
            case expr.Arithmetic(operation="**"):
                return f"power({self._number(expression.left)}, {self._number(expression.right)})"
            case expr.Arithmetic():
                return f"({self._number(expression.left)} {expression.operation} {self._number(expression.right)})"
            case expr.Call(function="count"):
                return f"exact(sum([{', '.join(map(self._truth, expression.arguments))}]))"
            case expr.Call():
                return FUNCTIONS[expression.function](", ".join(map(self._number, expression.arguments)))
            case _:
                return f"exact({self.value(expression)})"

    def _truth(self, expression: expr.Expr) -> str:
        match expression:
            case expr.And(terms=terms):
                return f"({' and '.join(map(self._truth, terms))})" if terms else "True"
            case expr.Or(terms=terms):
                return f"({' or '.join(map(self._truth, terms))})" if terms else "False"
            case expr.Not(term=term):
                return f"(not {self._truth(term)})"
            case expr.BranchTest():
                variable = self._variable(expression.address)
                key, branches = literal_source(variable.key), tuple(expression.branches)
                return f"takes(given, {key}, {branches!r}, {self._further_owners(variable)!r})"
            case expr.Compare():
                is_order = expression.relation not in ("==", "!=")
                side = self._number if is_order else self._comparable
                left, right = side(expression.left), side(expression.right)
                return f"holds(lambda: {left} {expression.relation} {right})"
            case expr.In():
                values = ", ".join(f"comparable({literal_source(value)})" for value in expression.values)
                return f"holds(lambda: {self._comparable(expression.item)} in [{values}])"
            case expr.Constant():
                return repr(expression.value is True)
            case _:
                return f"holds(lambda: {self.value(expression)} is True)"

    def _comparable(self, expression: expr.Expr) -> str:
        is_number = isinstance(expression, expr.Arithmetic | expr.Call)
        return self._number(expression) if is_number else f"comparable({self.value(expression)})"

    def _reference(self, expression: expr.Reference) -> str:
        variable = self._variable(expression.address)
        further, key = self._further_owners(variable), literal_source(variable.key)
        found = f"item(given, {key}, {further!r})" if further else f"given[{key}]"
        match variable.hyperparameter.domain:
            case Real() | Grid(is_integral=False):
                return f"float({found})"
            case Grid():
                return f"int({found})"
            case _:
                return found

    def _variable(self, address: str) -> Variable:
        return self.space.variables[address]

    def _further_owners(self, variable: Variable) -> dict[str, str]:
        """Return the branches, by configuration key, that must be taken to reach a variable.

        Branches that lead to the operator are left out.
        """
        owners = (owner for owner in variable.owners if owner not in self.owners)
        return {self._variable(decision).key: branch for decision, branch in owners}
