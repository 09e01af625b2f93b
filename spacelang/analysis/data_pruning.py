"""Remove from a space what has no meaning for the data that it is bound to, and report if nothing is left."""

from dataclasses import replace

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.drafts import ConstraintWithBranches, Draft
from spacelang.diagnostics.structure import NoColumnSelected
from spacelang.ir.data_binding import KINDS_BY_SIZE_NAME, DataColumn, LostParts, bind_to_columns
from spacelang.ir.expr import Expr
from spacelang.ir.space import ProductKind, Space, products


def prune_for_columns(
    space: Space, draft: Draft, columns: tuple[DataColumn, ...], report: DiagnosticCollector
) -> Space:
    """Return the space without what has no meaning for pipelines that receive only `columns`; itself after an error.

    The constraints and the conditions of nested decisions in the draft are changed in the same way.
    """
    symbols = report.symbols
    bound = bind_to_columns(space, columns, symbols.is_fully_bound_in)
    selecting = [each for each in products(space.root) if each.kind is ProductKind.COLUMNS]
    if selecting:
        for name in KINDS_BY_SIZE_NAME:
            symbols.record_column_count_symbol(name)
    if bound is None:
        before = len(report.found)
        counted = (name for name in KINDS_BY_SIZE_NAME if symbols.is_bound(name))
        report.add(NoColumnSelected(selecting[0].span, notes=symbols.binding_notes(counted)))
        report.mark_data_dependent(before)
        return space
    if bound.space is space:
        return space
    said = draft.written_constraints
    draft.written_constraints = [
        said[place] if left is space.constraints[place] else ConstraintWithBranches(left.expression, said[place].owners)
        for place, left in bound.constraints.items()
    ]
    for place, constraint in bound.constraints.items():
        if constraint is not space.constraints[place]:
            symbols.record_simplified(constraint.span)
    for address, condition in bound.space.conditions.items():
        if condition != space.conditions[address]:
            symbols.record_simplified(condition.span)
    draft.decision_conditions = {
        address: replace(each, condition=_simplified(each.condition, bound.lost, report))
        for address, each in draft.decision_conditions.items()
        if address in bound.space.variables
    }
    return bound.space


def _simplified(condition: Expr, lost: LostParts, report: DiagnosticCollector) -> Expr:
    if not lost.are_in(condition):
        return condition
    report.symbols.record_simplified(condition.span)
    return lost.simplify(condition)
