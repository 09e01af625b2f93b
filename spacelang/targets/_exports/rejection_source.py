"""Source of modules that prune trials of optuna that violate relations."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from spacelang.ir import expr
from spacelang.ir.domain import Grid, Real
from spacelang.ir.expr import Expr
from spacelang.ir.space import Constraint, Space
from spacelang.reductions.rejected_relations import LEAST_VIOLATION, RejectionConstraints
from spacelang.reductions.space_questions import VariableNames
from spacelang.solver.linear import Inequality, difference
from spacelang.targets._exports import python_nodes as py
from spacelang.targets._exports.optuna_bounds import exact_decimal_code, exact_number_code, plain_number, sum_code
from spacelang.targets._exports.python_conditions import FoundValueTests, combined
from spacelang.targets._exports.value_tests import compares_two_hyperparameters, is_testable

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


def can_be_written(rule: Constraint, space: Space) -> bool:
    """Return True if a module can test a constraint: comparisons of sums of numbers, and what conditions can test."""
    return all(_is_sum(atom, space) or is_testable(atom, space) for atom in expr.logical_atoms(rule.expression))


def violations_source(rejected: RejectionConstraints, names: VariableNames) -> str:
    """Return the source of a function `violations(found)`."""
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


class _SumTests(FoundValueTests):
    """A writer of conditions with comparisons of sums."""

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
        return combined("and", [*active, self.condition(rule.expression, known, truth=rule.forbidden)])

    def total(self, row: Inequality) -> py.Code:
        """Return the code of the left side of an inequality, in floats."""
        return sum_code(self._terms(row.factors), row.constant, plain_number)

    def _atom(self, atom: Expr, known: frozenset[str], *, truth: bool) -> py.Code:
        if compares_two_hyperparameters(atom) or not _is_sum(atom, self._space):
            return super()._atom(atom, known, truth=truth)
        assert isinstance(atom, expr.Compare)
        form = difference(atom)
        assert form is not None
        sign = atom.relation if truth else expr.NEGATED_SIGNS[atom.relation]
        terms = [(exact_decimal_code(code), factor) for code, factor in self._terms(form.factors)]
        test = py.infix(sum_code(terms, form.constant, exact_number_code), sign, 0)
        there = [self._activity(address, known, truth=truth) for address in form.factors]
        return combined("and" if truth else "or", [*there, test])

    def _terms(self, factors: Mapping[str, Fraction]) -> list[tuple[py.Code, Fraction]]:
        return [(self.value(self._space.variables[address].node), factor) for address, factor in factors.items()]


def _is_sum(atom: Expr, space: Space) -> bool:
    """Return True for a comparison of sums of ranges."""
    form = difference(atom) if isinstance(atom, expr.Compare) else None
    domains = (space.variables[address].hyperparameter.domain for address in expr.references(atom))
    return (
        form is not None
        and {*form.factors} == {*expr.references(atom)} != set()
        and all(isinstance(each, Grid | Real) for each in domains)
    )
