"""Convert foreign conditions and forbidden clauses to expressions and constraints of the `.space` language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Final, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.other_tools import ImportNotExpressible, IneffectiveImportedDeclaration
from spacelang.grouping import group_by_key
from spacelang.importers import _foreign_space as foreign
from spacelang.importers._consistency import is_satisfied
from spacelang.importers._tree_builder import ROOT, NameAssignment, Path, SpaceTree, can_be_reached_together
from spacelang.ir.value import Value
from spacelang.serialization.syntax_nodes import make_choice_test, make_dotted_name, make_value_node
from spacelang.syntax import ast
from spacelang.text import NO_SPAN, Span


class ExpressionWriter:
    """A writer of conditions as expressions inside a body."""

    def __init__(self, tree: SpaceTree, naming: NameAssignment) -> None:
        self._tree, self._naming = tree, naming
        self.loose_tests: list[foreign.ValueTest] = []
        """The `!=` comparisons that also hold while their hyperparameter is not active."""

        self.inactive: set[tuple[str, Path]] = set()
        """The hyperparameters that are never active in a body and therefore left out, with that body."""

    def convert_condition(self, condition: foreign.Condition, path: Path) -> ast.Expression | bool:
        """Return a condition as an expression in a body; True or False if the path to the body decides it."""
        match condition:
            case foreign.ValueTest():
                return self.convert_test(condition, path)
            case foreign.AllOf(terms=terms):
                return _joined("and", [self.convert_condition(term, path) for term in terms])
            case foreign.AnyOf(terms=terms):
                return _joined("or", [self.convert_condition(term, path) for term in terms])
            case _:
                assert_never(condition)

    def convert_test(self, test: foreign.ValueTest, path: Path) -> ast.Expression | bool:
        """Return a comparison as an expression in a body; True or False if the path to the body decides it."""
        if test.operator == "!=":
            return self._not_equal(test, path)
        if test.parameter in self._tree.decisions:
            return self._convert_decision_test(test, path)
        bodies = [body for body in self.bodies_that_contain(test.parameter) if can_be_reached_together(body, path)]
        return _joined(
            "or", [self.make_comparison(test, self.qualified_name(test.parameter, body, path)) for body in bodies]
        )

    def bodies_that_contain(self, name: str) -> tuple[Path, ...]:
        """Return the paths of the bodies that contain a hyperparameter, without those where it is never active."""
        return tuple(path for path in self._tree.paths[name] if (name, path) not in self.inactive)

    def make_comparison(self, test: foreign.ValueTest, name: ast.Expression) -> ast.Expression:
        """Return a comparison of values as an expression, given the expression `name` for the hyperparameter."""
        parameter = self._tree.space.parameters[test.parameter]
        domain = parameter.domain
        if test.operator == "in":
            values = test.values
        elif isinstance(domain, foreign.ForeignRange):
            return ast.BinaryOperation(test.operator, name, number_node(test.values[0]), NO_SPAN)
        else:
            values = tuple(given for given in domain.values if is_satisfied(test, parameter, given))
        written = [value_node(parameter, given) for given in values]
        if len(written) != 1 or isinstance(written[0], ast.TupleLiteral):
            return ast.Membership(name, tuple(written), NO_SPAN)
        if is_boolean(domain) and written[0] == ast.NamedConstant(True, NO_SPAN):
            return name
        return ast.BinaryOperation("==", name, written[0], NO_SPAN)

    def _not_equal(self, test: foreign.ValueTest, path: Path) -> ast.Expression | bool:
        """Return a `!=` comparison as an expression; record in `loose_tests` if it holds for an inactive parameter."""
        name = test.parameter
        same = self.convert_test(foreign.ValueTest(name, "in", test.values, test.span), path)
        bodies = self._tree.paths[name]
        is_plain = name not in self._tree.conditions
        always = is_plain and any(set(body) <= set(path) or not body[0][0] for body in bodies)
        if not always:
            self.loose_tests.append(test)
        if isinstance(same, bool):
            return not same
        if always and isinstance(same, ast.BinaryOperation) and same.operator == "==":
            return ast.BinaryOperation("!=", same.left, same.right, NO_SPAN)
        return ast.UnaryOperation("not", same, NO_SPAN)

    def _convert_decision_test(self, test: foreign.ValueTest, path: Path) -> ast.Expression | bool:
        name = test.parameter
        domain = self._tree.space.parameters[name].domain
        assert isinstance(domain, foreign.ForeignValues)
        places = [domain.index(value) for value in test.values]
        taken = dict(path).get(name)
        if taken is not None:
            return taken in places
        bodies = [body for body in self._tree.paths[name] if can_be_reached_together(body, path)]
        return _joined("or", [self.decision_test(name, body, places, path) for body in bodies])

    def decision_test(self, name: str, body: Path, places: Sequence[int], path: Path = ROOT) -> ast.Expression:
        """Return the test that a decision in `body` takes one of some alternatives, as written in the body `path`.

        `places` are the indices of the alternatives.
        """
        words = [self._naming.alternatives[name, place] for place in dict.fromkeys(places)]
        return make_choice_test(self.qualified_name(name, body, path), words)

    def qualified_name(self, name: str, body: Path, path: Path) -> ast.DottedName:
        """Return the name of a hyperparameter or decision of the body `body`, as written in the body `path`."""
        called = self._naming.members[name, body]
        return make_dotted_name(
            called if body in (path, ROOT) else f"{self._naming.body_name_in_expressions(body)}.{called}"
        )


def _joined(operator: str, terms: list[ast.Expression | bool]) -> ast.Expression | bool:
    deciding = operator == "or"
    if any(term is deciding for term in terms):
        return deciding
    open_terms = tuple(dict.fromkeys(term for term in terms if not isinstance(term, bool)))
    if not open_terms:
        return not deciding
    return (
        open_terms[0]
        if len(open_terms) == 1
        else ast.LogicalOperation("or" if deciding else "and", open_terms, NO_SPAN)
    )


def is_boolean(domain: foreign.ForeignRange | foreign.ForeignValues) -> bool:
    """Return True if a domain consists of booleans only."""
    return isinstance(domain, foreign.ForeignValues) and all(isinstance(one, bool) for one in domain.space_values)


def value_node(
    parameter: foreign.ForeignParameter, given: Value
) -> ast.Number | ast.QuotedString | ast.NamedConstant | ast.TupleLiteral | ast.DottedName:
    """Return the syntax node of a value of a hyperparameter."""
    domain = parameter.domain
    if isinstance(domain, foreign.ForeignRange):
        return number_node(given)
    return make_value_node(domain.space_values[domain.index(given)])


def number_node(given: Value) -> ast.Number:
    """Return the syntax node of a number; whole floats below 1e6 become integers."""
    assert isinstance(given, int | float)
    whole = isinstance(given, float) and given.is_integer() and abs(given) < 1e6
    return ast.Number(int(given) if whole else given, NO_SPAN)


MAX_CONSTRAINTS: Final = 5_000
"""The maximal number of constraints. A clause is written once for every combination of bodies to which it applies."""


@dataclass(frozen=True, slots=True)
class _ClauseTable:
    """A forbidden clause: by hyperparameter, the indices of forbidden values (`sets`).

    `others` are its other literals.
    """

    sets: dict[str, frozenset[int]]
    others: tuple[foreign.ValueTest | foreign.ParameterComparison, ...]
    span: Span


class ConstraintWriter:
    """A writer of the constraints of a space."""

    def __init__(self, tree: SpaceTree, naming: NameAssignment, expressions: ExpressionWriter) -> None:
        self._tree, self._naming, self._expressions = tree, naming, expressions
        self.diagnostics: list[Diagnostic] = []
        self._left = MAX_CONSTRAINTS

    def constraints_by_body(self) -> dict[Path, list[ast.ConstraintStatement]]:
        """Return the constraints by the path of the body that contains them.

        The path `ROOT` has the constraints at the top level of the file.
        """
        found: dict[Path, list[ast.ConstraintStatement]] = {}
        for table in _merge([self._table(clause) for clause in self._tree.space.clauses]):
            rules = list(islice(self._rules(table), self._left + 1))
            self._left -= len(rules)
            if self._left < 0:
                too_many = f"more than {MAX_CONSTRAINTS:,} constraints"
                self.diagnostics.append(ImportNotExpressible(table.span, construct=too_many))
                return {}
            for path, rule in rules:
                if rule not in (several := found.setdefault(path, [])):
                    several.append(rule)
            if not rules:
                what = "this combination can never occur"
                self.diagnostics.append(IneffectiveImportedDeclaration(table.span, declaration=what))
        return found

    def _table(self, clause: foreign.ForbiddenClause) -> _ClauseTable:
        sets: dict[str, frozenset[int]] = {}
        others: list[foreign.ValueTest | foreign.ParameterComparison] = []
        for literal in clause.literals:
            is_set = isinstance(literal, foreign.ValueTest) and literal.operator == "in"
            domain = self._tree.space.parameters[literal.parameter].domain if is_set else None  # type: ignore[union-attr]
            if isinstance(literal, foreign.ValueTest) and isinstance(domain, foreign.ForeignValues):
                places = frozenset(map(domain.index, literal.values))
                sets[literal.parameter] = sets.get(literal.parameter, places) & places
            elif literal not in others:
                others.append(literal)
        speaking = [name for name in (*sets, *_parameters_of(tuple(others))) if name not in self._tree.fixed]
        silent = [name for name in sets if name in self._tree.fixed and self._is_implied_active(name, speaking)]
        return _ClauseTable({name: sets[name] for name in sets if name not in silent}, tuple(others), clause.span)

    def _is_implied_active(self, constant: str, names: list[str]) -> bool:
        """Return True if the parameter `constant`, which has one value, is active whenever one of `names` is.

        A clause that mentions the name need not mention the constant.
        """
        paths = self._tree.paths
        return any(paths[constant] == paths[name] for name in names if name not in self._tree.decisions)

    def _rules(self, table: _ClauseTable) -> Iterator[tuple[Path, ast.ConstraintStatement]]:
        """Yield pairs of a constraint of a clause, and before it the path of the body in which it is written.

        There is one for every combination of bodies in which the hyperparameters of the clause can be active together.
        """
        if not all(table.sets.values()):
            return
        decisions = {name: places for name, places in table.sets.items() if name in self._tree.decisions}
        named = [name for name in (*table.sets, *_parameters_of(table.others)) if name not in decisions]
        ways = [self._expressions.bodies_that_contain(name) for name in dict.fromkeys(named)]
        for paths in product(*ways):
            bodies = dict(zip(dict.fromkeys(named), paths, strict=True))
            together = all(can_be_reached_together(*pair) for pair in combinations(paths, 2))
            if together and (rule := self._rule(table, decisions, bodies)) is not None:
                yield rule

    def _rule(
        self, table: _ClauseTable, decisions: dict[str, frozenset[int]], bodies: dict[str, Path]
    ) -> tuple[Path, ast.ConstraintStatement] | None:
        """Return the path of the body in which a constraint is written, and the constraint; None if it can never apply.

        `bodies` has the body in which each hyperparameter of the clause is active, and `decisions` the indices of the
        forbidden alternatives of each decision.
        """
        taken = {step[0]: step[1] for body in bodies.values() for step in body if step[0]}
        if any(name in taken and taken[name] not in places for name, places in decisions.items()):
            return None
        open_decisions = {name: places for name, places in decisions.items() if name not in taken}
        speaking = {name: body for name, body in bodies.items() if not self._is_certain(table, name)}
        # The common body of all its hyperparameters, or the file.
        homes = set(speaking.values())
        home = homes.pop() if len(homes) == 1 and not open_decisions else ROOT
        terms: list[ast.Expression] = [
            self._expressions.decision_test(name, self._tree.paths[name][0], sorted(places))
            for name, places in open_decisions.items()
        ]
        # A constant adds no comparison, only the requirement that its body is reached.
        named = {step for body in speaking.values() for step in body}
        silent = {step for body in bodies.values() for step in body if step[0]} - named
        for decision, place in sorted(silent, key=lambda step: self._tree.space.file_order.index(step[0])):
            terms.append(self._expressions.decision_test(decision, self._tree.paths[decision][0], [int(place)], ROOT))
        terms.extend(self._literals(table, speaking, home))
        terms = terms or [ast.NamedConstant(True, NO_SPAN)]
        expression = terms[0] if len(terms) == 1 else ast.LogicalOperation("and", tuple(terms), NO_SPAN)
        return home, ast.ConstraintStatement(True, expression, NO_SPAN)

    def _is_certain(self, table: _ClauseTable, name: str) -> bool:
        """Return True if the hyperparameter is a constant, so that its literal holds whenever its body is reached."""
        return name in self._tree.fixed and name in table.sets and name not in _parameters_of(table.others)

    def _literals(self, table: _ClauseTable, speaking: dict[str, Path], home: Path) -> Iterator[ast.Expression]:
        def called(name: str) -> ast.DottedName:
            return self._expressions.qualified_name(name, speaking[name], home)

        for name, places in table.sets.items():
            if name in speaking:
                domain = self._tree.space.parameters[name].domain
                assert isinstance(domain, foreign.ForeignValues)
                values = tuple(domain.values[place] for place in sorted(places))
                yield self._expressions.make_comparison(foreign.ValueTest(name, "in", values, table.span), called(name))
        for other in table.others:
            if isinstance(other, foreign.ParameterComparison):
                yield ast.BinaryOperation(other.operator, called(other.left), called(other.right), NO_SPAN)
            else:
                yield self._expressions.make_comparison(other, called(other.parameter))


def _parameters_of(literals: tuple[foreign.ValueTest | foreign.ParameterComparison, ...]) -> list[str]:
    names: list[str] = []
    for each in literals:
        names += [each.left, each.right] if isinstance(each, foreign.ParameterComparison) else [each.parameter]
    return names


def _merge(tables: list[_ClauseTable]) -> list[_ClauseTable]:
    """Return clauses, merged where possible, that forbid the same combinations.

    They are merged in two orders of their hyperparameters; the result with fewer clauses is returned.
    """
    by_names = group_by_key(((*sorted(table.sets), table.others), table) for table in _remove_implied(tables))
    found: list[_ClauseTable] = []
    for several in by_names.values():
        names = list(several[0].sets)
        ways = [_merge_by_parameter(several, order) for order in (names, names[::-1])]
        found += ways[0] if len(ways[0]) <= len(ways[1]) else ways[1]
    return _remove_implied(found)


def _merge_by_parameter(tables: list[_ClauseTable], order: list[str]) -> list[_ClauseTable]:
    """Return clauses merged hyperparameter by hyperparameter: those that agree in all other sets become one."""
    for name in order:
        rows: dict[tuple[object, ...], _ClauseTable] = {}
        for table in tables:
            rest = tuple((other, places) for other, places in sorted(table.sets.items()) if other != name)
            known = rows.setdefault(rest, table)
            joined = {**known.sets, name: known.sets[name] | table.sets[name]}
            rows[rest] = _ClauseTable(joined, known.others, known.span)
        tables = list(rows.values())
    return tables


def _remove_implied(tables: list[_ClauseTable]) -> list[_ClauseTable]:
    """Return the clauses that are not implied by another one; more than 1,000 clauses are returned as they are."""
    if len(tables) > 1_000:
        return tables
    return [table for table in tables if not any(_implies(other, table) for other in tables if other is not table)]


def _implies(stronger: _ClauseTable, weaker: _ClauseTable) -> bool:
    if not set(stronger.others) <= set(weaker.others) or not stronger.sets.keys() <= weaker.sets.keys():
        return False
    if (stronger.sets, stronger.others) == (weaker.sets, weaker.others):
        return False
    return all(weaker.sets[name] <= places for name, places in stronger.sets.items())
