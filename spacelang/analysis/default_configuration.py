"""The default configuration: report constraints that exclude it, or move it if only the data makes them exclude it."""

from spacelang.analysis.conflicts import data_dependent_addresses, depends_on_data
from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.conditions import DefaultExcluded
from spacelang.ir.expr import scope
from spacelang.ir.membership import is_violated
from spacelang.ir.space import Choice, Constraint, Hyperparameter, Node, Space
from spacelang.ir.walk import Assignment, default_structure
from spacelang.solver.counting import Structures


def ensure_admissible_default(
    structures: Structures, report: DiagnosticCollector
) -> tuple[Structures, tuple[Constraint, ...]]:
    """Return the structures with an admissible default, and the constraints that exclude the written default.

    These constraints are reported as mistakes. A constraint that depends on the data is no mistake: the default then
    moves to the nearest configuration of the space (see `nearest_to_default`), like a default that the data puts
    outside its domain.
    """
    space = structures.space
    taken = default_structure(space)
    assignment = Assignment(space, taken, lambda node: node.default)
    broken = [constraint for constraint in space.constraints if is_violated(constraint, assignment)]
    decided = data_dependent_addresses(space, report.symbols) if broken else frozenset()
    decided |= {
        node.address
        for node in space.hyperparameters
        if broken and report.symbols.has_data_dependent_default(node.span)
    }
    mistaken = tuple(c for c in broken if not depends_on_data(c.expression, c.span, report.symbols, decided))
    for constraint in mistaken:
        _report(space, constraint, report)
    if mistaken or not broken:
        return structures, mistaken
    # Most defaults are not moved: the solver for it is imported only if it is needed.
    from spacelang.solver.defaults import with_nearest_default

    return Structures(with_nearest_default(structures)), mistaken


def _report(space: Space, constraint: Constraint, report: DiagnosticCollector) -> None:
    from spacelang.solver.defaults import default_configuration

    choices = default_configuration(space)
    named = [space.variables[address] for address in scope(constraint.expression)]
    notes = [_describe_default(variable.node, choices[variable.key]) for variable in named if variable.key in choices]
    premises = report.symbols.notes(report.symbols.mentioned_in(constraint.span))
    report.add(DefaultExcluded(primary=constraint.span, notes=(*notes, *premises)))


def _describe_default(node: Node, value: object) -> str:
    assert isinstance(node, Choice | Hyperparameter)
    shown = "none" if value is None else value
    return f"the default of `{node.key}` is `{shown}`"
