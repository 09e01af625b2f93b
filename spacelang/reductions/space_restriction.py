"""Restriction of a space to some branches of its decisions and to smaller domains of its hyperparameters.

The result is a simplified space: it has no dead alternatives, and no condition or constraint mentions what was removed.
Keys are unchanged, so every configuration of the result is also one of the original space.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeAlias

from spacelang.ir import expr
from spacelang.ir.domain import Domain, contains
from spacelang.ir.domain_properties import contains_numbers
from spacelang.ir.membership import first_exclusion
from spacelang.ir.partial_evaluation import UNKNOWN, assume_inactive, fold_constants, partially_evaluate_value
from spacelang.ir.space import Branch, Choice, ComputedParameter, Constraint, Hyperparameter, Space, Variable
from spacelang.ir.value import Value
from spacelang.ir.walk import rebuild_tree
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default_configuration, with_nearest_default
from spacelang.solver.satisfiability import ExpressionInContext, possible_truths_of_all

Branches: TypeAlias = Mapping[str, Collection[str]]


def restrict_space(space: Space, branches: Branches, domains: Mapping[str, Domain]) -> Space | None:
    """Return the space of the configurations that take the given branches and have values in the given domains.

    Both mappings are by address. A domain must be a part of the domain of the hyperparameter, and restricts nothing
    where that is not active. Returns None if no configuration remains. Defaults stay where possible; otherwise a
    decision defaults to its first branch, a hyperparameter to the middle of its domain, and the space to the nearest
    valid configuration. Raises TooManyConnectedVariablesError like `Structures`.
    """
    part = _Restriction(space, branches, domains).apply(space)
    while True:
        structures = Structures(part)
        if not structures.count:
            return None
        alive = structures.existence_solver.supported_branches()
        cut = (c for c in part.decisions if len(alive.get(c.address, c.branches)) < len(c.branches))
        living = {c.address: [b.name for place, b in enumerate(c.branches) if place in alive[c.address]] for c in cut}
        lively = _without_dead_parts(_Restriction(part, living, {}).apply(part))
        if not living:
            is_valid = first_exclusion(lively, default_configuration(lively)) is None
            return lively if is_valid else with_nearest_default(Structures(lively))
        part = lively


class _Restriction:
    """A rewriting that removes branches and values from a space, and their mentions from its expressions."""

    def __init__(
        self, space: Space, branches: Branches, domains: Mapping[str, Domain], without: Collection[str] = ()
    ) -> None:
        """Prepare the rewriting; `without` are the addresses of hyperparameters that are never active."""
        self._branches, self._domains = branches, domains
        self._remaining: dict[str, Variable] = {}
        for address, variable in space.variables.items():
            kept = all(owner not in branches or branch in branches[owner] for owner, branch in variable.owners)
            if kept and address not in without:
                self._remaining[address] = variable
        self._removed = space.variables.keys() - self._remaining.keys()

    def apply(self, space: Space) -> Space:
        kept = (rule for rule in space.constraints if all(address in self._remaining for address in rule.scope))
        told = ((rule, fold_constants(self._expression(rule.expression), naming=True)) for rule in kept)
        found = (self._rule(rule, expression) for rule, expression in told)
        rules = tuple(rule for rule in found if rule.expression != expr.Constant(not rule.forbidden))
        root = rebuild_tree(space.root, self._hyperparameter, self._choice, self._computed)
        return replace(space, root=root, constraints=rules)

    def _rule(self, rule: Constraint, expression: expr.Expr) -> Constraint:
        """Return a constraint with another expression; it stays marked as the bound of a range only if nothing changed.

        The mark is the text of the bound. If values were removed, this text would allow some of them again.
        """
        kept = all(self._domain(each) == self._remaining[each].hyperparameter.domain for each in rule.scope)
        return replace(rule, expression=expression, bound=rule.bound if kept and expression == rule.expression else "")

    def _computed(self, computed: ComputedParameter) -> ComputedParameter | None:
        """Return a computed parameter without removed variables; None if its value needs one of them."""
        left = partially_evaluate_value(
            computed.expression, lambda address: expr.INACTIVE if address in self._removed else UNKNOWN
        )
        return None if left is None else replace(computed, expression=self._with_remaining_branches(left))

    def _with_remaining_branches(self, expression: expr.Expr) -> expr.Expr:
        if isinstance(expression, expr.BranchTest):
            return self._restrict_decision_test(expression)
        return expr.map_children(expression, self._with_remaining_branches)

    def _choice(self, choice: Choice) -> Choice:
        kept = self._remaining_branches(choice)
        if len(kept) == len(choice.branches):
            return choice
        usual = choice.branches[choice.default].name
        names = [branch.name for branch in kept]
        return replace(choice, branches=kept, default=names.index(usual) if usual in names else 0)

    def _remaining_branches(self, choice: Choice) -> tuple[Branch, ...]:
        names = self._branches.get(choice.address)
        return choice.branches if names is None else tuple(b for b in choice.branches if b.name in names)

    def _hyperparameter(self, node: Hyperparameter) -> Hyperparameter | None:
        if node.address not in self._remaining:
            return None
        condition = None if node.condition is None else fold_constants(self._expression(node.condition))
        if condition == expr.Constant(value=True):
            condition = None
        domain = self._domains.get(node.address, node.domain)
        if domain == node.domain and condition == node.condition:
            return node
        usual = node.default if contains(domain, node.default) else domain.representative
        named = tuple(name for name in node.named if contains(domain, name))
        return replace(node, domain=domain, default=usual, condition=condition, named=named)

    def _expression(self, expression: expr.Expr) -> expr.Expr:
        """Return the expression without removed branches and values; it mentions all hyperparameters that remain."""
        if isinstance(expression, expr.And | expr.Or | expr.Not):
            return expr.map_children(expression, self._expression)
        test = assume_inactive(expression, self._removed)
        match test:
            case expr.BranchTest():
                return self._restrict_decision_test(test)
            case expr.In(item=expr.Reference(address=address)):
                values = tuple(value for value in test.values if contains(self._domain(address), value))
                return replace(test, values=values)
            case expr.Compare(
                relation="==" | "!=", left=expr.Reference(address=address) as item, right=expr.Constant(value=value)
            ):
                return self._restrict_equality(test, item, address, value)
            case expr.Compare(
                relation="==" | "!=", right=expr.Reference(address=address) as item, left=expr.Constant(value=value)
            ):
                return self._restrict_equality(test, item, address, value)
            case _:
                pass
        if any(not contains_numbers(self._domain(address)) for address in _numeric_operands(test)):
            return expr.And(tuple(expr.In(expr.Reference(address), ()) for address in expr.references(test)), test.span)
        return test

    def _restrict_decision_test(self, test: expr.BranchTest) -> expr.Expr:
        variable = self._remaining[test.address]
        kept = {branch.name for branch in self._remaining_branches(variable.choice)}
        names = tuple(name for name in test.branches if name in kept)
        if not names:
            return expr.Constant(value=False, span=test.span)
        is_sure = len({*names}) == len(kept) and not variable.owners
        return expr.Constant(value=True, span=test.span) if is_sure else replace(test, branches=names)

    def _restrict_equality(self, test: expr.Compare, item: expr.Reference, address: str, value: Value) -> expr.Expr:
        """Return the comparison, or another test if its value was removed from the domain.

        The other test is never true for `==`; for `!=` it is true wherever the hyperparameter is active.
        """
        if contains(self._domain(address), value):
            return test
        return expr.In(item, (), test.span) if test.relation == "==" else expr.Compare("==", item, item, test.span)

    def _domain(self, address: str) -> Domain:
        return self._domains.get(address, self._remaining[address].hyperparameter.domain)


def _numeric_operands(test: expr.Expr) -> tuple[str, ...]:
    """Return the hyperparameters that must be numbers for a test to be true."""
    match test:
        case expr.Compare(relation="==" | "!="):
            sides = (test.left, test.right)
            return tuple(a for side in sides if not isinstance(side, expr.Reference) for a in expr.references(side))
        case expr.Compare() | expr.Arithmetic() | expr.Call():
            return expr.references(test)
        case expr.In(item=expr.Arithmetic() | expr.Call()):
            return expr.references(test.item)
        case _:
            return ()


def _without_dead_parts(space: Space) -> Space:
    """Remove never-active hyperparameters, always-true conditions and constraints without effect."""
    while True:
        tests = [ExpressionInContext(test, owners=space.variables[a].owners) for a, test in space.conditions.items()]
        truths = dict(zip(space.conditions, possible_truths_of_all(space, tests), strict=True))
        dead = {address for address, (can_hold, _) in truths.items() if not can_hold}
        if not dead:
            break
        space = _Restriction(space, {}, {}, dead).apply(space)

    def freed(node: Hyperparameter) -> Hyperparameter:
        can_fail = node.condition is None or truths[node.address][1]
        return node if can_fail else replace(node, condition=None)

    statements = [ExpressionInContext(rule.expression, active=rule.scope) for rule in space.constraints]
    judged = zip(space.constraints, possible_truths_of_all(space, statements), strict=True)
    rules = tuple(rule for rule, (can_hold, can_fail) in judged if (can_hold if rule.forbidden else can_fail))
    return replace(space, root=rebuild_tree(space.root, freed, lambda choice: choice), constraints=rules)
