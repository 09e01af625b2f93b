"""Large ranges that are counted and drawn exactly: in trees of comparisons, or with limits on one sum."""

from typing import TypeAlias

from spacelang.solver.network import Network
from spacelang.solver.ordered_relations import OrderedRelations, ordered_relations
from spacelang.solver.summed_ranges import SummedRanges, summed_ranges

CountedRanges: TypeAlias = OrderedRelations | SummedRanges


def counted_ranges(network: Network) -> CountedRanges | None:
    """Return the relations of a network if they are of one of these kinds, or None for any other network."""
    return (ordered_relations(network) or summed_ranges(network)) if network.ranges else None


def exactly_drawn_ranges(network: Network) -> CountedRanges | None:
    """Return the relations of a network like `counted_ranges`, but None if its tables are too large for draws."""
    found = counted_ranges(network)
    return None if isinstance(found, SummedRanges) and not found.can_be_drawn else found
