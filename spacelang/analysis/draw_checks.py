"""Check whether random draws are exact: report constraints that make them approximate."""

from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.conditions import ApproximateDraws
from spacelang.ir.expr import references
from spacelang.solver.counting import Structures
from spacelang.solver.network_compiler import MAX_EXACT_RANGES, connected_comparisons
from spacelang.solver.summed_ranges import exactly_drawn_ranges

STRUCTURES_TRIED: Final = 64
MAX_NAMES: Final = 3  # The maximum number of hyperparameters that a message names


def check(structures: Structures, report: DiagnosticCollector) -> None:
    """Report the first constraint that connects too many ranges for exact random draws."""
    if all(len(addresses) <= MAX_EXACT_RANGES for addresses in _tied_addresses(structures)):
        return
    # Few spaces tie so many ranges: the sampler, which needs NumPy, is imported only for them.
    from spacelang.sampling.sampler import Sampler

    space = structures.space
    for addresses in Sampler(structures).approximate_addresses(STRUCTURES_TRIED):
        tied = {*addresses}
        constraint = next((c for c in space.constraints if not tied.isdisjoint(references(c.expression))), None)
        if constraint is not None:
            names = [f"`{space.variables[address].node.name}`" for address in addresses]
            shown = ", ".join(names[:MAX_NAMES]) + (
                f" and {len(names) - MAX_NAMES} others" if names[MAX_NAMES:] else ""
            )
            report.add(ApproximateDraws(constraint.span, names=shown, count=len(addresses)))
            return


def _tied_addresses(structures: Structures) -> list[set[str]]:
    """Return the addresses in each group of comparisons that share ranges, directly or through others."""
    return [
        {address for name in names for address in references(network.ranges[name])}
        for networks in structures.structure_model.by_context.values()
        for network in networks
        if exactly_drawn_ranges(network) is None
        for names in connected_comparisons(network.ranges)
    ]
