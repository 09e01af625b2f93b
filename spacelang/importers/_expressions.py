"""Convert foreign conditions and clauses to expressions of the `.space` language."""

from collections.abc import Sequence
from typing import assert_never

from spacelang.importers._checking import holds
from spacelang.importers._foreign import Condition, Every, ForeignParameter, ForeignRange, ForeignValues, Some, Test
from spacelang.importers._naming import Naming
from spacelang.importers._shape import ROOT, Path, Shape, agree
from spacelang.ir.value import Value
from spacelang.syntax import ast
from spacelang.syntax.making import dotted, takes, value
from spacelang.text import NOWHERE


class Expressions:
    """A writer of conditions as expressions inside a body."""

    def __init__(self, shape: Shape, naming: Naming) -> None:
        self._shape = shape
        self._naming = naming
        self.loose: list[Test] = []
        """The `!=` comparisons that also hold while their hyperparameter is not active."""

        self.dead: set[tuple[str, Path]] = set()
        """The hyperparameters that are never active in a body and therefore left out, with that body."""

    def condition(self, condition: Condition, path: Path) -> ast.Expression | bool:
        """Return a condition as an expression in a body; True or False if the path to the body decides it."""
        match condition:
            case Test():
                return self.test(condition, path)
            case Every(terms=terms):
                return _joined("and", [self.condition(term, path) for term in terms])
            case Some(terms=terms):
                return _joined("or", [self.condition(term, path) for term in terms])
            case _:
                assert_never(condition)

    def test(self, test: Test, path: Path) -> ast.Expression | bool:
        """Return a comparison as an expression in a body; True or False if the path to the body decides it."""
        if test.operator == "!=":
            return self._differs(test, path)
        if test.parameter in self._shape.decisions:
            return self._takes(test, path)
        bodies = [body for body in self.bodies(test.parameter) if agree(body, path)]
        return _joined("or", [self.compare(test, self._name(test.parameter, body, path)) for body in bodies])

    def bodies(self, name: str) -> tuple[Path, ...]:
        """Return the bodies that contain a hyperparameter."""
        return tuple(path for path in self._shape.paths[name] if (name, path) not in self.dead)

    def compare(self, test: Test, name: ast.Expression) -> ast.Expression:
        """Return a comparison as an expression, with `name` for the hyperparameter."""
        parameter = self._shape.space.parameters[test.parameter]
        domain = parameter.domain
        if test.operator == "in":
            values = test.values
        elif isinstance(domain, ForeignRange):
            return ast.Binary(test.operator, name, number(test.values[0]), NOWHERE)
        else:
            values = tuple(given for given in domain.values if holds(test, parameter, given))
        written = [written_value(parameter, given) for given in values]
        if len(written) != 1 or isinstance(written[0], ast.Tuple):
            return ast.Membership(name, tuple(written), NOWHERE)
        if is_boolean(domain) and written[0] == ast.Keyword(True, NOWHERE):
            return name
        return ast.Binary("==", name, written[0], NOWHERE)

    def _differs(self, test: Test, path: Path) -> ast.Expression | bool:
        """Return a `!=` comparison as an expression; record it in `loose` if it holds for an inactive parameter."""
        name = test.parameter
        same = self.test(Test(name, "in", test.values, test.span), path)
        bodies = self._shape.paths[name]
        is_plain = name not in self._shape.conditions
        always = is_plain and any(set(body) <= set(path) or not body[0][0] for body in bodies)
        if not always:
            self.loose.append(test)
        if isinstance(same, bool):
            return not same
        if always and isinstance(same, ast.Binary) and same.operator == "==":
            return ast.Binary("!=", same.left, same.right, NOWHERE)
        return ast.Unary("not", same, NOWHERE)

    def _takes(self, test: Test, path: Path) -> ast.Expression | bool:
        name = test.parameter
        domain = self._shape.space.parameters[name].domain
        assert isinstance(domain, ForeignValues)
        places = [domain.place(value) for value in test.values]
        taken = dict(path).get(name)
        if taken is not None:
            return taken in places
        bodies = [body for body in self._shape.paths[name] if agree(body, path)]
        return _joined("or", [self.takes(name, body, places, path) for body in bodies])

    def takes(self, name: str, body: Path, places: Sequence[int], path: Path = ROOT) -> ast.Expression:
        """Return the test that a decision takes one of some alternatives, given by the indices of their values."""
        called = self._name(name, body, path)
        words = [self._naming.alternatives[name, place] for place in dict.fromkeys(places)]
        return takes(called, words)

    def _name(self, name: str, body: Path, path: Path) -> ast.Dotted:
        """Return the name of a hyperparameter or decision of one body as seen from another body."""
        return self.name(name, body, is_sibling=body == path)

    def name(self, name: str, body: Path, *, is_sibling: bool = False) -> ast.Dotted:
        """Return the name of a hyperparameter or decision of a body; the short name if `is_sibling`."""
        called = self._naming.members[name, body]
        return dotted(called if is_sibling or body == ROOT else f"{self._naming.address(body)}.{called}")


def _joined(operator: str, terms: list[ast.Expression | bool]) -> ast.Expression | bool:
    deciding = operator == "or"
    if any(term is deciding for term in terms):
        return deciding
    open_terms = tuple(dict.fromkeys(term for term in terms if not isinstance(term, bool)))
    if not open_terms:
        return not deciding
    return open_terms[0] if len(open_terms) == 1 else ast.Logical("or" if deciding else "and", open_terms, NOWHERE)


def is_boolean(domain: ForeignRange | ForeignValues) -> bool:
    """Return True if a domain consists of booleans only."""
    return isinstance(domain, ForeignValues) and all(isinstance(one, bool) for one in domain.readings)


def written_value(
    parameter: ForeignParameter, given: Value
) -> ast.Number | ast.Text | ast.Keyword | ast.Tuple | ast.Dotted:
    """Return the syntax node of a value of a hyperparameter."""
    domain = parameter.domain
    return number(given) if isinstance(domain, ForeignRange) else value(domain.readings[domain.place(given)])


def number(given: Value) -> ast.Number:
    """Return the syntax node of a number; whole floats below 1e6 become integers."""
    assert isinstance(given, int | float)
    whole = isinstance(given, float) and given.is_integer() and abs(given) < 1e6
    return ast.Number(int(given) if whole else given, NOWHERE)
