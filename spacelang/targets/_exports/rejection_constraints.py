"""Relations by rejection: trials of optuna draw without the relations, and are pruned if they violate one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any, Final

from spacelang.ir import expr
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid, Real
from spacelang.ir.expr import Expr
from spacelang.ir.membership import is_violated
from spacelang.ir.space import Constraint, Space
from spacelang.ir.value import to_fraction
from spacelang.ir.walk import Assignment
from spacelang.reductions.case_splits import CaseSplit
from spacelang.reductions.relation_groups import inequalities_of
from spacelang.reductions.space_questions import DrawnPiece, Question, Questions, VariableNames
from spacelang.sampling.unit_scale import from_unit_function
from spacelang.solver.fourier_motzkin import Inequality
from spacelang.solver.linear_inequalities import linear_difference
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.optuna_calls import exact_decimal_code, exact_number_code, plain_number_code, sum_code
from spacelang.targets._exports.python_conditions import PythonConditionWriter, join_tests
from spacelang.targets._exports.value_tests import compares_two_hyperparameters, is_testable

MAX_DRAWS: Final = 30_000  # The number of draws without a member after which members count as too rare
MIN_DRAWS: Final = 300  # The number of draws that estimate the share of members
LEAST_VIOLATION: Final = 1e-9
"""The least amount of a violation; without it, equal sides of a strict comparison would have the amount 0."""
_HEAD: Final = '''\
def violations(found):
    """Return by how much each constraint is violated, 0 where it holds."""
    return ['''
PRUNING: Final = '''\
def suggest(trial):
    """Ask a trial of optuna for a configuration; prune it before it is trained if it violates a constraint."""
    from optuna import TrialPruned

    found = ask(trial)
    amounts = violations(found)
    if hasattr(trial, "set_constraint"):
        for number, amount in enumerate(amounts, 1):
            trial.set_constraint(f"relation {number}", amount)
    else:
        trial.set_user_attr("constraints", amounts)
    if any(amounts):
        raise TrialPruned("a constraint of the search space is violated")
    return found'''


@dataclass(frozen=True)
class RejectionConstraints:
    """The constraints of a space that the drawn configurations may violate; those that do are rejected."""

    space: Space
    constraints: tuple[Constraint, ...]

    @cached_property
    def rows(self) -> Sequence[tuple[Inequality, ...]]:
        """The inequalities that each constraint stands for; none if it is no conjunction of inequalities."""
        return tuple(inequalities_of(rule, self.space) or () for rule in self.constraints)

    def violations(self, configuration: Configuration) -> list[float]:
        """Return the amount by which a configuration violates each constraint; 0 where it satisfies it.

        The amount is 1 for a constraint that is no conjunction of inequalities.
        """
        assignment = Assignment.from_configuration(self.space, configuration)
        told = zip(self.constraints, self.rows, strict=True)
        return [_amount(rows, assignment) if is_violated(rule, assignment) else 0.0 for rule, rows in told]

    def member_share(self, questions: Questions) -> float:
        """Estimate the share of random answers to the questions that satisfy the constraints; 0 if it is tiny."""
        rng, found, tried = Random(0), 0, 0
        while tried < MAX_DRAWS and (tried < MIN_DRAWS or not found):
            tried += 1
            found += not any(self.violations(Configuration(questions.ask_values(_random_answer(rng)))))
        return found / tried


def _amount(rows: Sequence[Inequality], assignment: Assignment) -> float:
    """Return the largest amount by which an inequality is violated, and at least `LEAST_VIOLATION`.

    Return 1 if there are no inequalities.
    """
    if not rows:
        return 1.0
    exceeded = [LEAST_VIOLATION]
    for row in rows:
        terms = (factor * to_fraction(assignment(a)) for a, factor in row.factors.items())
        exceeded.append(float(row.constant + sum(terms)))
    return max(exceeded)


def _random_answer(rng: Random) -> Any:
    def answer(_: str, question: Question) -> Any:
        if isinstance(question, DrawnPiece):
            return from_unit_function(question.domain)(rng.random())
        return rng.randrange(len(question.cases if isinstance(question, CaseSplit) else question.pieces))

    return answer


def can_be_tested(rule: Constraint, space: Space) -> bool:
    """Return True if a module can test a constraint: comparisons of sums of numbers, and what conditions can test."""
    return all(_is_sum(atom, space) or is_testable(atom, space) for atom in expr.logical_atoms(rule.expression))


def violations_source(rejected: RejectionConstraints, names: VariableNames) -> str:
    """Return the source of a function `violations(found)` that returns what `RejectionConstraints.violations` does."""
    tests = _SumTests(rejected.space, names)
    lines = []
    for rule, rows in zip(rejected.constraints, rejected.rows, strict=True):
        amount, test = _amount_source(rows, tests), py.expression_source(tests.violation(rule), 8, 3)
        lines += [f"        {amount}", f"        if {test}", "        else 0.0,"]
    return "\n".join([_HEAD, *lines, "    ]"])


def _amount_source(rows: tuple[Inequality, ...], tests: "_SumTests") -> str:
    if not rows:
        return "1.0"
    several = [py.expression_source(tests.total(row), 8) for row in rows]
    return f"max({', '.join([*several, repr(LEAST_VIOLATION)])})"


class _SumTests(PythonConditionWriter):
    """A writer of conditions that also writes comparisons of sums of numbers."""

    def __init__(self, space: Space, names: VariableNames) -> None:
        super().__init__(space, names)
        self._always = frozenset(
            address
            for address, each in space.variables.items()
            if each.condition is None and all(len(space.variables[a].choice.branches) == 1 for a, _ in each.owners)
        )

    def violation(self, rule: Constraint) -> py.Code:
        """Return the code of a test that a constraint applies and is violated."""
        active = (self._activity(address, self._always, truth=True) for address in rule.scope)
        known = self._always | {*rule.scope}
        return join_tests("and", [*active, self.condition(rule.expression, known, truth=rule.forbidden)])

    def total(self, row: Inequality) -> py.Code:
        """Return the code of the left side of an inequality `total <= 0`, computed in floats."""
        return sum_code(self._terms(row.factors), row.constant, plain_number_code)

    def _atom(self, atom: Expr, known: frozenset[str], *, truth: bool) -> py.Code:
        if compares_two_hyperparameters(atom) or not _is_sum(atom, self._space):
            return super()._atom(atom, known, truth=truth)
        assert isinstance(atom, expr.Compare)
        form = linear_difference(atom)
        assert form is not None
        sign = atom.relation if truth else expr.NEGATED_SIGNS[atom.relation]
        terms = [(exact_decimal_code(code), factor) for code, factor in self._terms(form.factors)]
        test = py.infix(sum_code(terms, form.constant, exact_number_code), sign, 0)
        there = [self._activity(address, known, truth=truth) for address in form.factors]
        return join_tests("and" if truth else "or", [*there, test])

    def _terms(self, factors: Mapping[str, Fraction]) -> list[tuple[py.Code, Fraction]]:
        return [(self.value(self._space.variables[address].node), factor) for address, factor in factors.items()]


def _is_sum(atom: Expr, space: Space) -> bool:
    """Return True for a comparison whose sides are linear in ranges."""
    form = linear_difference(atom) if isinstance(atom, expr.Compare) else None
    domains = (space.variables[address].hyperparameter.domain for address in expr.references(atom))
    return (
        form is not None
        and {*form.factors} == {*expr.references(atom)} != set()
        and all(isinstance(each, Grid | Real) for each in domains)
    )
