"""Checks of random draws: report constraints that make them approximate, and those only tested after each draw."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.conditions import (
    ApproximateDraws,
    ConstraintNeedsRejectionSampling,
    ConstraintRarelySatisfied,
)
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.ir.expr import Expr, references
from spacelang.ir.space import Space
from spacelang.ir.tuple_parameters import name_in_expressions
from spacelang.ir.walk import Structure
from spacelang.solver.constraint_network import ConstraintNetwork
from spacelang.solver.constraint_network_compiler import MAX_EXACT_RANGES, group_connected_comparisons
from spacelang.solver.counting import Structures
from spacelang.solver.domain_cells import hyperparameter_atoms
from spacelang.solver.range_forest import is_continuous_forest
from spacelang.solver.summed_ranges import exactly_drawable_relations
from spacelang.text import Span, count_with_noun

if TYPE_CHECKING:
    from spacelang.sampling.draw_acceptance import AcceptanceRate
    from spacelang.sampling.sampler import Sampler

STRUCTURES_TRIED: Final = 64
STRUCTURES_MEASURED: Final = 4_096  # The number of random structures in whose situations the shares are measured
MAX_NAMES: Final = 3  # The maximum number of hyperparameters that a message names
MAX_RELATED: Final = 3  # The maximum number of further constraints that a message shows
NOT_MEASURED: Final = "draws are repeated until one passes the test; how many pass is measured if NumPy is installed"


def check_random_draws(structures: Structures, report: DiagnosticCollector) -> None:
    """Report constraints that make random draws approximate, or that are only tested after each draw.

    Few spaces have such constraints: the sampler is imported only for them. Without NumPy, which it needs, constraints
    that are tested after each draw are still reported, but not how many draws pass.
    """
    is_tied = any(len(addresses) > MAX_EXACT_RANGES for addresses in _tied_addresses(structures))
    sampler = _sampler(structures) if is_tied or structures.expressions_tested_on_draws else None
    is_drawn = _check_tests(structures, sampler, report) if sampler or structures.expressions_tested_on_draws else True
    if is_tied and sampler is not None and is_drawn:
        has_priors = any(node.prior is not None for node in structures.space.hyperparameters)
        by_priors = _sampler(structures, advised=True) if has_priors else None
        _check_ties(structures.space, by_priors or sampler, report)


def _sampler(structures: Structures, *, advised: bool = False) -> "Sampler | None":
    """Return a sampler of a space, or None if NumPy is not installed."""
    if find_spec("numpy") is None:
        return None
    from spacelang.sampling.sampler import Sampler

    return Sampler(structures, advised=advised)


def _check_ties(space: Space, sampler: "Sampler", report: DiagnosticCollector) -> None:
    """Report the first constraint that connects too many ranges for exact random draws."""
    for addresses in sampler.approximately_sampled_addresses(STRUCTURES_TRIED):
        tied = {*addresses}
        constraint = next((c for c in space.constraints if not tied.isdisjoint(references(c.expression))), None)
        if constraint is not None:
            names = _names(space, addresses)
            report.add(ApproximateDraws(constraint.span, names=names, count=len(addresses)))
            return


def _tied_addresses(structures: Structures) -> list[set[str]]:
    """Return the addresses of each connected group of comparisons, unless its draws are known to be exact.

    Two comparisons are connected if they share a range.
    """
    return [
        {address for name in names for address in references(network.ranges[name])}
        for networks in structures.structure_model.by_context.values()
        for network in networks
        if exactly_drawable_relations(network) is None
        for names in group_connected_comparisons(network.ranges)
        if not is_continuous_forest(network, names)
    ]


def _check_tests(structures: Structures, sampler: "Sampler | None", report: DiagnosticCollector) -> bool:
    """Report, as one note, the statements that are only tested after each draw; return True if draws satisfy all.

    Report statements that too few draws satisfy as problems of their own.
    """
    if sampler is None:
        networks = (each for found in structures.structure_model.by_context.values() for each in found)
        statements_of_all = {statement for each in networks for statement in _tested_statements(each)}
        _report_tests(sorted(statements_of_all, key=_start), (NOT_MEASURED,), report)
        return True
    least: dict[tuple[_Statement, ...], tuple[ConstraintNetwork, Structure, AcceptanceRate]] = {}
    for network, taken, share in sampler.measured_acceptance_rates(STRUCTURES_MEASURED):
        statements = tuple(_tested_statements(network)) or tuple(_statements(network))
        if statements not in least or share.rate < least[statements][2].rate:
            least[statements] = network, taken, share
    rare = [statements for statements in least if least[statements][2].is_too_small]
    for statements in rare:
        if not any({*other} < {*statements} for other in rare):
            report.add(_rarely_satisfied(structures.space, statements, *least[statements]))
    least = {statements: mine for statements, mine in least.items() if mine[0].tested}
    if least and not rare:
        groups = [mine for mine in least if not any({*mine} < {*other} for other in least)]
        groups.sort(key=lambda statements: _start(statements[0]))
        shares = [min(least[each][2].rate for each in least if {*each} <= {*mine}) for mine in groups]
        notes = tuple(_describe_share(*group, len(groups)) for group in zip(groups, shares, strict=True))
        _report_tests([statement for statements in groups for statement in statements], notes, report)
    return not rare


def _report_tests(statements: "Sequence[_Statement]", notes: tuple[str, ...], report: DiagnosticCollector) -> None:
    first, *others = dict.fromkeys(statements)
    notes = (*_note_on_hidden(others), *notes)
    report.add(ConstraintNeedsRejectionSampling(first.span, kind=first.kind, notes=notes, related=_related(others)))


def _rarely_satisfied(
    space: Space,
    statements: Sequence["_Statement"],
    network: ConstraintNetwork,
    taken: Structure,
    share: "AcceptanceRate",
) -> ConstraintRarelySatisfied:
    first, *others = statements
    names = _names(space, [member.address for member in network.members])
    case = _describe(space, taken)
    return ConstraintRarelySatisfied(
        first.span,
        kind=first.kind,
        kept=share.kept,
        drawn=share.drawn,
        names=names,
        case=case,
        notes=_note_on_hidden(others),
        related=_related(others),
    )


class _Statement(NamedTuple):
    kind: str
    span: Span


def _related(others: Sequence[_Statement]) -> tuple[RelatedPlace, ...]:
    return tuple(
        RelatedPlace(statement.span, f"draws are also tested with this {statement.kind}")
        for statement in others[:MAX_RELATED]
    )


def _note_on_hidden(others: Sequence[_Statement]) -> tuple[str, ...]:
    """Return a note with the number of statements that `_related` leaves out; empty if it leaves out none."""
    hidden = others[MAX_RELATED:]
    if not hidden:
        return ()
    kinds = " and ".join(sorted({f"{statement.kind}s" for statement in hidden}))
    return (f"draws are also tested with {count_with_noun(len(hidden), f'more {hidden[0].kind}', f'more {kinds}')}",)


def _tested_statements(network: ConstraintNetwork) -> list[_Statement]:
    """Return the constraints and conditions of a network that draws are tested with, in the order of the text."""
    return _statements(network, frozenset(network.tested.values())) if network.tested else []


def _statements(network: ConstraintNetwork, tested: frozenset[Expr] | None = None) -> list[_Statement]:
    """Return the constraints and conditions of a network in the order of the text.

    If `tested` is given, return only those that contain one of these atoms (comparisons or other smallest tests).
    """
    found = [(constraint.expression, "constraint", constraint.span) for constraint in network.constraints]
    conditions = (member.condition for member in network.members)
    found += [(each, "condition", each.span) for each in conditions if each is not None]
    mine = [
        _Statement(kind, span)
        for each, kind, span in found
        if tested is None or not tested.isdisjoint(hyperparameter_atoms(each))
    ]
    return sorted(mine, key=_start)


def _start(statement: _Statement) -> int:
    return statement.span.start


def _names(space: Space, addresses: Sequence[str]) -> str:
    names = [f"`{name_in_expressions(space.variables[address].node.name)}`" for address in addresses]
    return ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} others" if names[MAX_NAMES:] else "")


def _describe(space: Space, taken: Structure) -> str:
    cases = [f"`{space.variables[address].node.name}` is `{branch}`" for address, branch in taken.items()]
    return f" where {' and '.join(cases[:MAX_NAMES])}" if cases else ""


def _describe_share(statements: Sequence[_Statement], share: float, groups: int) -> str:
    lines = sorted({statement.span.line for statement in statements})
    shown = [str(line) for line in lines[:MAX_NAMES]] + ["…"] * (len(lines) > MAX_NAMES)
    test = f"the test of line{'s' * (len(lines) > 1)} {', '.join(shown)}" if groups > 1 else "the test"
    if share > 0.99:
        return f"draws are repeated until one passes {test}; nearly all draws pass"
    if share >= 0.1:
        return f"draws are repeated until one passes {test}; about {share:.0%} of all draws pass"
    return f"draws are repeated until one passes {test}; about 1 in {round(1 / share):,} draws passes"
