"""Write the expressions of computed parameters as Python code, which calls the functions of `standalone_arithmetic`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from spacelang.ir import expr, standalone_arithmetic
from spacelang.ir.computed_parameters import gives_float
from spacelang.ir.domain import Grid, Real
from spacelang.ir.space import ComputedParameter, Context, Space, Variable
from spacelang.ir.walk import computed_parameters
from spacelang.targets._exports.python_expression_tree import literal_source

FUNCTIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "min": "min({})".format,
    "max": "max({})".format,
    "ceil": "to_exact_decimal(math.ceil({}))".format,
    "floor": "to_exact_decimal(math.floor({}))".format,
    "sqrt": f"{standalone_arithmetic.square_root.__name__}({{}})".format,
    "log2": f"{standalone_arithmetic.binary_logarithm.__name__}({{}})".format,
}


@dataclass(frozen=True, slots=True)
class ComputedParameterCodeWriter:
    """A writer of code for the computed parameters of one operator.

    `owners` are the branches that must be chosen to reach the operator.
    """

    space: Space
    owners: Context

    @classmethod
    def writers_by_address(cls, space: Space) -> dict[str, "ComputedParameterCodeWriter"]:
        """Return the writer of each computed parameter of a space by its address."""
        return {computed.address: cls(space, owners) for computed, owners in computed_parameters(space.root)}

    def is_always_defined(self, computed: ComputedParameter) -> bool:
        """Return True if the value exists in every configuration that has the operator.

        That is so for comparisons, and for a single hyperparameter that is active wherever the operator is chosen.
        Arithmetic and calls never count as always defined.
        """
        match computed.expression:
            case expr.Reference(address=address):
                variable = self._variable(address)
                return variable.condition is None and not self._further_owners(variable)
            case expression:
                return not isinstance(expression, expr.Arithmetic | expr.Call)

    def value_code(self, expression: expr.Expr, *, takes_only_integers: bool = False) -> str:
        """Return the code of the value of an expression; it raises an error if the value does not exist.

        The result of arithmetic that is a whole number is an integer if the parameter `takes_only_integers`.
        """
        match expression:
            case expr.Constant(value=value):
                return literal_source(value)
            case expr.Reference():
                return self._reference(expression)
            case expr.Arithmetic() | expr.Call():
                is_float = not takes_only_integers and gives_float(expression, self.space.variables)
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
                return f"to_exact_decimal(sum([{', '.join(map(self._truth, expression.arguments))}]))"
            case expr.Call():
                return FUNCTIONS[expression.function](", ".join(map(self._number, expression.arguments)))
            case _:
                return f"to_exact_decimal({self.value_code(expression)})"

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
                return f"is_branch_taken(given, {key}, {branches!r}, {self._further_owners(variable)!r})"
            case expr.Compare():
                is_order = expression.relation not in ("==", "!=")
                side = self._number if is_order else self._comparison_key
                left, right = side(expression.left), side(expression.right)
                return f"is_true_if_defined(lambda: {left} {expression.relation} {right})"
            case expr.In():
                values = ", ".join(f"comparison_key({literal_source(value)})" for value in expression.values)
                return f"is_true_if_defined(lambda: {self._comparison_key(expression.item)} in [{values}])"
            case expr.Constant():
                return repr(expression.value is True)
            case _:
                return f"is_true_if_defined(lambda: {self.value_code(expression)} is True)"

    def _comparison_key(self, expression: expr.Expr) -> str:
        is_number = isinstance(expression, expr.Arithmetic | expr.Call)
        return self._number(expression) if is_number else f"comparison_key({self.value_code(expression)})"

    def _reference(self, expression: expr.Reference) -> str:
        variable = self._variable(expression.address)
        further, key = self._further_owners(variable), literal_source(variable.key)
        found = f"active_value(given, {key}, {further!r})" if further else f"given[{key}]"
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
        """Return the branches that must be chosen to reach a variable: their names by the key of the decision.

        Branches that the operator needs as well are left out.
        """
        owners = (owner for owner in variable.owners if owner not in self.owners)
        return {self._variable(decision).key: branch for decision, branch in owners}
