"""Resolution of a draft to a space: read every expression, attach the conditions and find cycles among them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from spacelang.analysis.confinement import confined
from spacelang.analysis.drafts import Draft, DraftConstraint, Scope, stage_of, with_conditions
from spacelang.analysis.expressions import ExpressionReader
from spacelang.analysis.names import Names
from spacelang.analysis.presence import MOST, Presence, constraints, with_defaults
from spacelang.analysis.report import Report
from spacelang.diagnostics.conditions import ConditionCycle, Undecidable
from spacelang.diagnostics.diagnostic import Related
from spacelang.ir.expr import Expr, scope
from spacelang.ir.space import Constraint, Kind, Product, Space, Variable
from spacelang.syntax import ast


def resolve(space: Space, draft: Draft, report: Report) -> Space:
    """Return the space with its conditions and constraints.

    Expressions may name everything that is declared. Expressions in stages that the pipeline leaves out are read as
    well, to find mistakes in them, but are not part of the space.
    """
    declared = Space(space.name, Product(Kind.SEQUENCE, tuple(draft.declared))).variables
    reached = {stage_of(address) for address in space.variables}
    left_out = {stage_of(address) for address in declared} - reached if draft.is_whole else set()
    names = Names(declared, draft, frozenset(left_out), report.symbols)
    reader = ExpressionReader(names, report)
    conditions = _conditions(draft, reader, report)
    draft.present = _present(draft, reader, report)
    _check_cycles(conditions | {each.address: each.condition for each in draft.present.values()}, declared, report)
    constraints = _constraints(draft, reader, space, left_out, report)
    found = Space(space.name, with_conditions(space.root, conditions), constraints, space.title, space.task)
    return _with_presences(found, draft.present.values(), report)


def _present(draft: Draft, reader: ExpressionReader, report: Report) -> dict[str, Presence]:
    read = ((pending, _read(pending.expression, pending.scope, reader, report)) for pending in draft.presences)
    return {
        pending.address: Presence(pending.address, condition, pending.left, pending.is_own, pending.span)
        for pending, condition in read
        if condition is not None
    }


def _with_presences(space: Space, declared: Iterable[Presence], report: Report) -> Space:
    """Return the space with constraints for the conditions of its nested decisions."""
    presences = [presence for presence in declared if presence.address in space.variables]
    # After an error, the space may lack what a condition names.
    if report.has_errors or not presences:
        return space
    found = list(space.constraints)
    for presence in presences:
        said = constraints(presence, space.variables)
        if said is None:
            reason = f"its hyperparameters can be active and inactive in more than {MOST} combinations"
            remedy = "remove parts of it that follow from other parts"
            report.add(Undecidable(primary=presence.condition.span, kind="condition", reason=reason, remedy=remedy))
        found.extend(said or ())
    return with_defaults(replace(space, constraints=tuple(found)), presences)


def _conditions(draft: Draft, reader: ExpressionReader, report: Report) -> dict[str, Expr]:
    read = {pending.address: _read(pending.expression, pending.scope, reader, report) for pending in draft.conditions}
    return {address: expression for address, expression in read.items() if expression is not None}


def _constraints(
    draft: Draft, reader: ExpressionReader, space: Space, left_out: set[str], report: Report
) -> tuple[Constraint, ...]:
    found: list[Constraint] = []
    for pending in draft.rules:
        rule, scope = pending.rule, pending.scope
        expression = _read(rule.expression, scope, reader, report)
        if expression is not None and stage_of(scope.place) not in left_out:
            constraint = Constraint(expression, rule.forbidden, rule.span)
            # After an error, the space may lack the branch of the body, and its constraints are not used.
            constraint, said = (
                (constraint, DraftConstraint(expression))
                if report.has_errors
                else confined(constraint, scope.branch, space)
            )
            found.append(constraint)
            draft.said.append(said)
    return tuple(found)


def _read(expression: ast.Expression, scope: Scope, reader: ExpressionReader, report: Report) -> Expr | None:
    before = len(report.found)
    found = reader.read(expression, scope)
    if scope.through is not None:
        report.brought(before, scope.through)
    return found


def _check_cycles(conditions: Mapping[str, Expr], variables: Mapping[str, Variable], report: Report) -> None:
    """Report conditions that depend on themselves.

    Whatever lies in a nested decision depends on that decision.
    """
    after = {
        address: [on for each in scope(expression) for on in (each, *(owner for owner, _ in variables[each].owners))]
        for address, expression in conditions.items()
    }
    for cycle in cycles(after):
        words = [address.rsplit(".", 1)[-1] for address in cycle]
        names = words if len(set(words)) == len(words) else list(cycle)
        related = tuple(
            Related(conditions[address].span, f"the condition of `{name}`")
            for address, name in zip(cycle[1:], names[1:], strict=True)
        )
        path = f"`{names[0]}` depends on " + ", which depends on ".join(f"`{name}`" for name in (*names[1:], names[0]))
        report.add(ConditionCycle(primary=conditions[cycle[0]].span, parameter=names[0], path=path, related=related))


def cycles(conditions: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the cycles among conditions, each as the addresses along it.

    `conditions` maps an address to the addresses that its condition names. If cycles overlap, only some of them are
    returned.
    """
    left = {address: set(after) & conditions.keys() for address, after in conditions.items()}
    found: list[tuple[str, ...]] = []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            # The error lists the cycle against the direction of the graph, with the first node again at the end.
            cycle = tuple(reversed(error.args[1][1:]))
            found.append(cycle)
            left = {address: after - set(cycle) for address, after in left.items() if address not in cycle}
        else:
            return found
