"""Convert foreign conditions and clauses to expressions of the `.space` language."""

from collections.abc import Sequence
from typing import assert_never

from spacelang.importers._consistency import is_satisfied
from spacelang.importers._foreign_space import (
    AllOf,
    AnyOf,
    Condition,
    ForeignParameter,
    ForeignRange,
    ForeignValues,
    ValueTest,
)
from spacelang.importers._name_assignment import NameAssignment
from spacelang.importers._tree_builder import ROOT, Path, SpaceTree, are_compatible
from spacelang.ir.value import Value
from spacelang.syntax import ast
from spacelang.syntax.synthetic_nodes import make_choice_test, make_dotted_name, make_value
from spacelang.text import NO_SPAN


class ExpressionWriter:
    """A writer of conditions as expressions inside a body."""

    def __init__(self, shape: SpaceTree, naming: NameAssignment) -> None:
        self._shape = shape
        self._naming = naming
        self.loose_tests: list[ValueTest] = []
        """The `!=` comparisons that also hold while their hyperparameter is not active."""

        self.inactive: set[tuple[str, Path]] = set()
        """The hyperparameters that are never active in a body and therefore left out, with that body."""

    def convert_condition(self, convert_condition: Condition, path: Path) -> ast.Expression | bool:
        """Return a condition as an expression in a body; True or False if the path to the body decides it."""
        match convert_condition:
            case ValueTest():
                return self.convert_test(convert_condition, path)
            case AllOf(terms=terms):
                return _joined("and", [self.convert_condition(term, path) for term in terms])
            case AnyOf(terms=terms):
                return _joined("or", [self.convert_condition(term, path) for term in terms])
            case _:
                assert_never(convert_condition)

    def convert_test(self, convert_test: ValueTest, path: Path) -> ast.Expression | bool:
        """Return a comparison as an expression in a body; True or False if the path to the body decides it."""
        if convert_test.operator == "!=":
            return self._not_equal(convert_test, path)
        if convert_test.parameter in self._shape.decisions:
            return self._convert_decision_test(convert_test, path)
        bodies = [body for body in self.bodies_of(convert_test.parameter) if are_compatible(body, path)]
        return _joined(
            "or",
            [self.compare(convert_test, self._name_seen_from(convert_test.parameter, body, path)) for body in bodies],
        )

    def bodies_of(self, name: str) -> tuple[Path, ...]:
        """Return the bodies that contain a hyperparameter."""
        return tuple(path for path in self._shape.paths[name] if (name, path) not in self.inactive)

    def compare(self, test: ValueTest, name: ast.Expression) -> ast.Expression:
        """Return a comparison as an expression, with `name` for the hyperparameter."""
        parameter = self._shape.space.parameters[test.parameter]
        domain = parameter.domain
        if test.operator == "in":
            values = test.values
        elif isinstance(domain, ForeignRange):
            return ast.Binary(test.operator, name, number_node(test.values[0]), NO_SPAN)
        else:
            values = tuple(given for given in domain.values if is_satisfied(test, parameter, given))
        written = [value_node(parameter, given) for given in values]
        if len(written) != 1 or isinstance(written[0], ast.Tuple):
            return ast.Membership(name, tuple(written), NO_SPAN)
        if is_boolean(domain) and written[0] == ast.NamedConstant(True, NO_SPAN):
            return name
        return ast.Binary("==", name, written[0], NO_SPAN)

    def _not_equal(self, test: ValueTest, path: Path) -> ast.Expression | bool:
        """Return a `!=` comparison as an expression; record in `loose_tests` if it holds for an inactive parameter."""
        name = test.parameter
        same = self.convert_test(ValueTest(name, "in", test.values, test.span), path)
        bodies = self._shape.paths[name]
        is_plain = name not in self._shape.conditions
        always = is_plain and any(set(body) <= set(path) or not body[0][0] for body in bodies)
        if not always:
            self.loose_tests.append(test)
        if isinstance(same, bool):
            return not same
        if always and isinstance(same, ast.Binary) and same.operator == "==":
            return ast.Binary("!=", same.left, same.right, NO_SPAN)
        return ast.Unary("not", same, NO_SPAN)

    def _convert_decision_test(self, test: ValueTest, path: Path) -> ast.Expression | bool:
        name = test.parameter
        domain = self._shape.space.parameters[name].domain
        assert isinstance(domain, ForeignValues)
        places = [domain.index(value) for value in test.values]
        taken = dict(path).get(name)
        if taken is not None:
            return taken in places
        bodies = [body for body in self._shape.paths[name] if are_compatible(body, path)]
        return _joined("or", [self.decision_test(name, body, places, path) for body in bodies])

    def decision_test(self, name: str, body: Path, places: Sequence[int], path: Path = ROOT) -> ast.Expression:
        """Return the test that a decision takes one of some alternatives, given by the indices of their values."""
        called = self._name_seen_from(name, body, path)
        words = [self._naming.alternatives[name, place] for place in dict.fromkeys(places)]
        return make_choice_test(called, words)

    def _name_seen_from(self, name: str, body: Path, path: Path) -> ast.DottedName:
        """Return the name of a hyperparameter or decision of one body as seen from another body."""
        return self.name_of(name, body, is_sibling=body == path)

    def name_of(self, name_of: str, body: Path, *, is_sibling: bool = False) -> ast.DottedName:
        """Return the name of a hyperparameter or decision of a body; the short name if `is_sibling`."""
        called = self._naming.members[name_of, body]
        return make_dotted_name(called if is_sibling or body == ROOT else f"{self._naming.address(body)}.{called}")


def _joined(operator: str, terms: list[ast.Expression | bool]) -> ast.Expression | bool:
    deciding = operator == "or"
    if any(term is deciding for term in terms):
        return deciding
    open_terms = tuple(dict.fromkeys(term for term in terms if not isinstance(term, bool)))
    if not open_terms:
        return not deciding
    return open_terms[0] if len(open_terms) == 1 else ast.Logical("or" if deciding else "and", open_terms, NO_SPAN)


def is_boolean(domain: ForeignRange | ForeignValues) -> bool:
    """Return True if a domain consists of booleans only."""
    return isinstance(domain, ForeignValues) and all(isinstance(one, bool) for one in domain.space_values)


def value_node(
    parameter: ForeignParameter, given: Value
) -> ast.Number | ast.Text | ast.NamedConstant | ast.Tuple | ast.DottedName:
    """Return the syntax node of a value of a hyperparameter."""
    domain = parameter.domain
    return (
        number_node(given) if isinstance(domain, ForeignRange) else make_value(domain.space_values[domain.index(given)])
    )


def number_node(given: Value) -> ast.Number:
    """Return the syntax node of a number; whole floats below 1e6 become integers."""
    assert isinstance(given, int | float)
    whole = isinstance(given, float) and given.is_integer() and abs(given) < 1e6
    return ast.Number(int(given) if whole else given, NO_SPAN)
