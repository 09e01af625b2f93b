"""Conditions of nested decisions, translated to constraints.

Searches choose the operators before the values of hyperparameters. So a choice of operators with a condition becomes a
decision that is always reached. One alternative of it, the fallback, is the default of the library, which is taken
where the condition does not hold. Constraints tie the alternatives to the condition, so a chosen alternative limits the
values of the hyperparameters in the condition.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from spacelang.frozen import frozen
from spacelang.ir.expr import And, Constant, Expr, Is, Not, is_true
from spacelang.ir.partial_evaluation import ConditionCase, activity_cases, fold_constants
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Space, Variable
from spacelang.ir.tree_rewriting import rebuild_tree
from spacelang.ir.walk import Assignment, default_structure
from spacelang.text import Span

MAX_CASES: Final = 64
"""The maximum number of cases of a condition. Each hyperparameter that may be inactive by itself doubles them."""


@frozen
class DecisionCondition:
    """The condition of the nested decision at an address, and its fallback alternative.

    `left` is the name of the alternative that is taken where the condition does not hold. If `is_own` is True, the
    author wrote this alternative, so that it may be taken where the condition holds as well. `span` covers the whole
    definition of the parameter.
    """

    address: str
    condition: Expr
    left: str
    is_own: bool
    span: Span


def condition_constraints(presence: DecisionCondition, variables: Mapping[str, Variable]) -> list[Constraint] | None:
    """Return the constraints that express a condition, or None if there would be too many.

    A condition has a truth value even if hyperparameters in it are inactive, but a constraint does not apply then. So
    there are separate constraints for each combination of active and inactive hyperparameters, which name only the
    active ones.
    """
    known = variables[presence.address]
    found = [*islice(activity_cases(presence.condition, known.owners, variables), MAX_CASES + 1)]
    return (
        None
        if len(found) > MAX_CASES
        else [each for case in found for each in _case_constraints(presence, known, case)]
    )


def _case_constraints(presence: DecisionCondition, known: Variable, case: ConditionCase) -> Iterator[Constraint]:
    """Yield the constraints for one case of a condition, that is, one combination of inactive hyperparameters."""
    absent = [Not(active) for active in case.active]
    others = tuple(branch.name for branch in known.choice.branches if branch.name != presence.left)
    taken, left = Is(presence.address, others), Is(presence.address, (presence.left,))
    excluded: list[tuple[Expr, ...]] = [
        (taken, *absent, Not(case.left)),
        *([] if presence.is_own else [(left, *absent, case.left)]),
    ]
    for terms in excluded:
        expression = fold_constants(And(terms, presence.condition.span))
        if expression != Constant(False):
            yield Constraint(expression, True, presence.span)


def with_fallback_defaults(space: Space, presences: Sequence[DecisionCondition]) -> Space:
    """Return the space with the fallback as default of each decision whose condition the defaults do not satisfy.

    Conditions do not depend on each other in cycles, so the loop ends after at most as many rounds as they are nested.
    """
    written = {variable.address: variable.node for variable in space.variables.values()}
    while True:
        defaults = {each.address: _default_index(each, space, written[each.address]) for each in presences}

        def with_default(choice: Choice, defaults: Mapping[str, int] = defaults) -> Choice:
            return replace(choice, default=defaults.get(choice.address, choice.default))

        changed = replace(space, root=rebuild_tree(space.root, lambda node: node, with_default))
        if changed == space:
            return space
        space = changed


def _default_index(presence: DecisionCondition, space: Space, written: Choice | Hyperparameter) -> int:
    """Return the index of the default alternative of a decision, given the defaults of everything else."""
    assert isinstance(written, Choice)
    structure = default_structure(space, dict(space.variables[presence.address].owners))
    assignment = Assignment(space, structure, lambda node: node.default)
    return written.default if is_true(presence.condition, assignment) else written.branch_indices[presence.left]
