"""Conditions as Python expressions over a dictionary `found`, which has the values chosen before by key."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from spacelang.ir import expr
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, members
from spacelang.ir.expr import Expr
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.value import Value, identity_key
from spacelang.reductions.space_questions import VariableNames
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.value_tests import (
    SatisfyingPieces,
    compares_two_hyperparameters,
    satisfying_pieces_by_part,
    subset_pieces_by_part,
)

FOUND: Final = py.NameNode("found")
ALWAYS: Final = py.LiteralNode(True)
NEVER: Final = py.LiteralNode(False)
MAX_TEXT: Final = 10_000  # The maximum length of a condition as text on one line


class PythonConditionWriter:
    """A writer of conditions as Python expressions over the dictionary `found`.

    The argument `known` of its methods has the addresses of variables that always have a value in `found`.
    """

    def __init__(self, space: Space, names: VariableNames) -> None:
        self._space, self._names = space, names

    def value(self, node: Choice | Hyperparameter) -> py.Code:
        """Return the code that reads the value of a variable, `found[key]`."""
        return py.SubscriptNode(FOUND, py.LiteralNode(node.key))

    def condition(self, condition: Expr, known: frozenset[str], *, truth: bool = True) -> py.Code:
        """Return the code of a test that a condition has the truth value `truth`.

        Each atom of the condition must be about one variable, or compare two numbers (see `is_testable`).
        """
        match condition:
            case expr.Not():
                return self.condition(condition.term, known, truth=not truth)
            case expr.And() | expr.Or():
                several = []
                for term in condition.terms:
                    several.append(self.condition(term, known, truth=truth))
                    if not isinstance(term, expr.And | expr.Or | expr.Not) and isinstance(condition, expr.And):
                        known |= {*expr.mentioned_addresses(term)}  # what follows is evaluated only if this is true
                return join_tests("and" if isinstance(condition, expr.And) is truth else "or", several)
            case expr.BranchTest():
                return self._branch_test(condition, known, truth=truth)
            case expr.ActivityTest():
                return self._activity(condition.address, known, truth=truth)
            case _:
                return self._atom(condition, known, truth=truth)

    def is_within_code(self, node: Hyperparameter, subset: Domain) -> py.Code:
        """Return the code of a test that the value of a hyperparameter lies in a subset of its domain."""
        return _membership(self.value(node), subset_pieces_by_part(node.domain, subset))

    def _atom(self, atom: Expr, known: frozenset[str], *, truth: bool) -> py.Code:
        addresses = expr.references(atom)
        if not addresses:
            return py.LiteralNode(expr.is_true(atom, lambda _: expr.INACTIVE) is truth)
        nodes = [self._space.variables[address].hyperparameter for address in addresses]
        if compares_two_hyperparameters(atom):
            assert isinstance(atom, expr.Compare)
            sign = atom.relation if truth else expr.NEGATED_SIGNS[atom.relation]
            left, right = (self._space.variables[side.address].hyperparameter for side in (atom.left, atom.right))  # type: ignore[union-attr]
            test: py.Code = py.infix(self.value(left), sign, self.value(right))
        else:
            test = _membership(self.value(nodes[0]), satisfying_pieces_by_part(nodes[0].domain, atom, truth))
        there = [self._activity(address, known, truth=truth) for address in addresses]
        return join_tests("and" if truth else "or", [*there, test])

    def _branch_test(self, test: expr.BranchTest, known: frozenset[str], *, truth: bool) -> py.Code:
        node = self._space.variables[test.address].choice
        is_known = test.address in known
        value = self.value(node) if is_known else py.call("found.get", node.key)
        one = py.LiteralNode(test.branches[0])
        if len(test.branches) == 1:
            found: py.Code = py.infix(value, "==" if truth else "!=", one)
        else:
            found = py.infix(value, "in" if truth else "not in", py.literal_list(test.branches))
        if is_known or self._names.has_unique_key(node):
            return found
        return join_tests("and" if truth else "or", [*self._owners(test.address, known, truth=truth), found])

    def _activity(self, address: str, known: frozenset[str], *, truth: bool) -> py.Code:
        if address in known:
            return ALWAYS if truth else NEVER
        variable = self._space.variables[address]
        if self._names.has_unique_key(variable.node):
            return py.infix(variable.key, "in" if truth else "not in", FOUND)
        several = self._owners(address, known, truth=truth)
        if variable.condition is not None:
            several.append(self.condition(variable.condition, known, truth=truth))
        return join_tests("and" if truth else "or", several)

    def _owners(self, address: str, known: frozenset[str], *, truth: bool) -> list[py.Code]:
        owners = self._space.variables[address].owners
        return [self._branch_test(expr.BranchTest(a, (b,)), known, truth=truth) for a, b in owners]


class ConditionTextWriter(PythonConditionWriter):
    """A writer of conditions for people: it writes the key of a variable in place of `found[key]`."""

    def value(self, node: Choice | Hyperparameter) -> py.Code:
        """Return the key of a variable as code."""
        return py.NameNode(node.key)

    def text(self, condition: Expr) -> str:
        """Return a condition as one line of text, with every variable taken to be active."""
        return py.expression_source(self.condition(condition, frozenset(self._space.variables)), -MAX_TEXT)


def join_tests(sign: str, several: Iterable[py.Code]) -> py.Code:
    """Return tests joined by `sign`, which is "and" or "or", simplified where a test is constant."""
    neutral, decisive = (ALWAYS, NEVER) if sign == "and" else (NEVER, ALWAYS)
    kept = [inner for each in several if each is not neutral for inner in py.operands(each, sign)]
    if any(each is decisive for each in kept):
        return decisive
    return py.join_operands(sign, kept) if kept else neutral


def _membership(value: py.Code, several: Sequence[SatisfyingPieces]) -> py.Code:
    """Return the code of a test that a value lies in the wanted pieces of its domain."""
    sets = [each for each in several if isinstance(each.part, Categorical)]
    ranges = [each for each in several if not isinstance(each.part, Categorical)]
    listed = _ListedValues(value, [member for each in sets for member in members(each.part)], with_numbers=bool(ranges))
    wanted = [member for each in sets for member in each.values]
    if not ranges:
        return listed.test(wanted)
    within = _within_ranges(value, ranges)
    if len(wanted) == len(listed.values) or within is ALWAYS:
        if within is ALWAYS:
            return listed.membership_or_number_test(wanted)
        return join_tests("or", [listed.membership_test(wanted), within])
    return join_tests("or", [listed.membership_test(wanted), join_tests("and", [listed.test_number(), within])])


@dataclass(frozen=True)
class _ListedValues:
    """The code of a value, and the listed values of its domain.

    The domain also has ranges of numbers if `with_numbers` is true.
    """

    value: py.Code
    values: Sequence[Value]
    with_numbers: bool

    def test(self, wanted: Sequence[Value]) -> py.Code:
        """Return a test that the value is in `wanted`; it may be wrong for values that are not listed."""
        unwanted = self._without(wanted)
        if not wanted or not unwanted:
            return NEVER if unwanted else ALWAYS
        if {*map(type, self.values)} == {bool}:
            return self.value if wanted[0] else py.NotNode(self.value)
        return self._comparison(unwanted, "!=") if len(unwanted) == 1 < len(wanted) else self._comparison(wanted, "==")

    def membership_test(self, wanted: Sequence[Value]) -> py.Code:
        """Return a test that the value is in `wanted`, which is right for numbers of ranges, too."""
        return self._comparison(wanted, "==") if wanted else NEVER

    def membership_or_number_test(self, wanted: Sequence[Value]) -> py.Code:
        """Return a test that the value is in `wanted` or is a number of a range."""
        unwanted = self._without(wanted)
        return self._comparison(unwanted, "!=") if unwanted else ALWAYS

    def test_number(self) -> py.Code:
        """Return a test that the value is a number of a range."""
        return self._comparison(self.values, "!=") if self.values else ALWAYS

    def _without(self, wanted: Sequence[Value]) -> list[Value]:
        keys = {identity_key(value) for value in wanted}
        return [value for value in self.values if identity_key(value) not in keys]

    def _comparison(self, several: Sequence[Value], sign: str) -> py.Code:
        equal = sign == "=="
        if not self._are_distinct:
            texts = py.literal_list(map(repr, several))
            return py.infix(py.call("repr", self.value), "in" if equal else "not in", texts)
        if len(several) > 1:
            return py.infix(self.value, "in" if equal else "not in", py.literal_list(several))
        if several[0] is None:
            return py.infix(self.value, "is" if equal else "is not", None)
        return py.infix(self.value, sign, several[0])

    @property
    def _are_distinct(self) -> bool:
        """True if Python's `==` distinguishes all listed values and the numbers of ranges; `True == 1` does not."""
        are_numbers = any(isinstance(value, bool | int | float) for value in self.values)
        return len({*self.values}) == len(self.values) and not (self.with_numbers and are_numbers)


def _within_ranges(value: py.Code, ranges: Sequence[SatisfyingPieces]) -> py.Code:
    """Return the code of a test that a number lies in the wanted pieces of ranges."""
    if all(each.is_all for each in ranges):
        return ALWAYS
    is_alone = len(ranges) == 1
    tests = [_run_test(value, each.part if is_alone else None, run) for each in ranges for run in each.pieces]
    return join_tests("or", tests)


def _run_test(value: py.Code, whole: SimpleDomain | None, run: SimpleDomain) -> py.Code:
    """Return a test that a number lies in a run; ends that it shares with `whole` are not tested.

    If `whole` is None, both ends are tested.
    """
    assert isinstance(run, Grid | Real)
    if run.size == 1 or run.least == run.greatest:
        return py.infix(value, "==", run.least)
    tests = []
    if whole is None or run.least != whole.least:  # type: ignore[union-attr]
        is_open = isinstance(run, Real) and run.lower_open
        tests.append(py.infix(value, ">" if is_open else ">=", run.lower if is_open else run.least))
    if whole is None or run.greatest != whole.greatest:  # type: ignore[union-attr]
        is_open = isinstance(run, Real) and run.upper_open
        tests.append(py.infix(value, "<" if is_open else "<=", run.upper if is_open else run.greatest))
    return join_tests("and", tests)
