"""Conditions of nested decisions, said by constraints.

Which operators there are is decided before the values of hyperparameters. So a choice of operators with a condition
is a decision that is always taken, with an alternative for what the library has where the condition does not hold:
the alternatives are tied to the condition, and whoever decides first finds values for which it is so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from spacelang.facts import fact
from spacelang.ir.expr import And, Constant, Expr, Is, Not, holds
from spacelang.ir.given import ConditionCase, cases, folded
from spacelang.ir.rebuilding import rebuilt
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Space, Variable
from spacelang.ir.walk import Assignment, default_structure
from spacelang.text import Span

MOST: Final = 64
"""So many cases of a condition are told apart: each hyperparameter that may be inactive by itself doubles them."""


@fact
class Presence:
    """The condition of the nested decision at an address; where it does not hold, the alternative `left` is taken.

    `is_own` says whether this alternative is the author's: then it may be taken where the condition holds as well. The
    span is that of all that is said of the parameter.
    """

    address: str
    condition: Expr
    left: str
    is_own: bool
    span: Span


def constraints(presence: Presence, variables: Mapping[str, Variable]) -> list[Constraint] | None:
    """The constraints that say a condition; None where it would take too many.

    A condition says something also where hyperparameters that it names are not active, a constraint does not. So for
    each set of them that may be inactive there are constraints that do not name these.
    """
    known = variables[presence.address]
    found = [*islice(cases(presence.condition, known.owners, variables), MOST + 1)]
    return None if len(found) > MOST else [each for case in found for each in _where(presence, known, case)]


def _where(presence: Presence, known: Variable, case: ConditionCase) -> Iterator[Constraint]:
    """The constraints for one case of a condition."""
    absent = [Not(active) for active in case.active]
    others = tuple(branch.name for branch in known.choice.branches if branch.name != presence.left)
    taken, left = Is(presence.address, others), Is(presence.address, (presence.left,))
    excluded: list[tuple[Expr, ...]] = [
        (taken, *absent, Not(case.left)),
        *([] if presence.is_own else [(left, *absent, case.left)]),
    ]
    for terms in excluded:
        expression = folded(And(terms, presence.condition.span))
        if expression != Constant(False):
            yield Constraint(expression, True, presence.span)


def with_defaults(space: Space, presences: Sequence[Presence]) -> Space:
    """The space in which decisions whose condition the defaults do not meet take by default what is left then.

    Conditions do not depend on each other in a circle: after as many rounds as they are nested nothing changes.
    """
    written = {variable.address: variable.node for variable in space.variables.values()}
    while True:
        defaults = {each.address: _default(each, space, written[each.address]) for each in presences}

        def decided(choice: Choice, defaults: Mapping[str, int] = defaults) -> Choice:
            return replace(choice, default=defaults.get(choice.address, choice.default))

        changed = replace(space, root=rebuilt(space.root, lambda node: node, decided))
        if changed == space:
            return space
        space = changed


def _default(presence: Presence, space: Space, written: Choice | Hyperparameter) -> int:
    """The place of the alternative that a decision takes where it is reached and all else has its default."""
    assert isinstance(written, Choice)
    structure = default_structure(space, dict(space.variables[presence.address].owners))
    assignment = Assignment(space, structure, lambda node: node.default)
    return written.default if holds(presence.condition, assignment) else written.places[presence.left]
