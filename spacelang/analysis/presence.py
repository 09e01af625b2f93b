"""Conditions of nested decisions, said by constraints.

Which operators there are is decided before the values of hyperparameters. So a choice of operators with a condition
is a decision that is always taken, with an alternative for what the library has where the condition does not hold:
the alternatives are tied to the condition, and whoever decides first finds values for which it is so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress, product
from typing import Final, TypeAlias

from spacelang.facts import fact
from spacelang.ir.expr import And, Constant, Expr, Is, Not, holds, references
from spacelang.ir.given import folded, without
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Space, Variable
from spacelang.ir.walk import Assignment, default_structure
from spacelang.solver.rebuilding import rebuilt
from spacelang.text import Span

MOST: Final = 6
"""So many hyperparameters may be inactive each by itself that a condition speaks of: each one doubles the cases."""

Active: TypeAlias = tuple[Context, Expr | None]
"""When hyperparameters are active: below which branches, and under which condition."""


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
    uncertain = _uncertain(presence.condition, known.owners, variables)
    if len(uncertain) > MOST:
        return None
    found: list[Constraint] = []
    for places in product((False, True), repeat=len(uncertain)):
        found.extend(_where(presence, known, uncertain, [*compress(uncertain, places)]))
    return found


def _uncertain(condition: Expr, owners: Context, variables: Mapping[str, Variable]) -> dict[Active, set[str]]:
    """What a condition names, directly or by conditions, and may be inactive below the owners; together those alike."""
    found: dict[Active, set[str]] = {}
    waiting, seen = [*references(condition)], set[str]()
    while waiting:
        address = waiting.pop()
        variable = variables[address]
        assert isinstance(variable.node, Hyperparameter)
        further = tuple(owner for owner in variable.owners if owner not in owners)
        if address not in seen and (further or variable.node.condition is not None):
            found.setdefault((further, variable.node.condition), set()).add(address)
            waiting.extend(() if variable.node.condition is None else references(variable.node.condition))
        seen.add(address)
    return found


def _where(
    presence: Presence, known: Variable, uncertain: Mapping[Active, set[str]], inactive: Sequence[Active]
) -> Iterator[Constraint]:
    """The constraints for where some hyperparameters are inactive that a condition speaks of, and the others active."""
    assert isinstance(known.node, Choice)
    gone = {address for each in inactive for address in uncertain[each]}
    absent = [Not(_active(owners, test, gone)) for owners, test in inactive]
    met = without(presence.condition, gone)
    others = tuple(branch.name for branch in known.node.branches if branch.name != presence.left)
    taken, left = Is(presence.address, others), Is(presence.address, (presence.left,))
    excluded: list[tuple[Expr, ...]] = [
        (taken, *absent, Not(met)),
        *([] if presence.is_own else [(left, *absent, met)]),
    ]
    for terms in excluded:
        expression = folded(And(terms, presence.condition.span))
        if expression != Constant(False):
            yield Constraint(expression, True, presence.span)


def _active(owners: Context, condition: Expr | None, gone: set[str]) -> Expr:
    """Whether hyperparameters are active, said without those that are gone."""
    below = tuple(Is(address, (branch,)) for address, branch in owners)
    return And(below if condition is None else (*below, without(condition, gone)))


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
