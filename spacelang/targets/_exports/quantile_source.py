"""Source that turns numbers in [0, 1] into the values of related ranges, for modules that do not need spacelang."""

import inspect
from typing import Final

from spacelang.reductions import conditional_laws, range_laws
from spacelang.reductions.quantile_relations import QuantileGroup, QuantileReduction
from spacelang.reductions.range_laws import GridRange

_SHARED_IMPORT: Final = "from spacelang.reductions.range_laws import "
_RESTORE: Final = '''\
def values_of(found):
    """Return a configuration with the values for which numbers in [0, 1] stand."""
    found = dict(found)
    for related in RELATED:
        found.update(related.values({key: found[key] for key in related.ranges if key in found}))
    return found'''


def quantile_source(reduction: QuantileReduction) -> list[str]:
    """Return blocks of source with a function `values_of(found)`; none if nothing has to be decoded."""
    if not reduction.groups:
        return []
    sources = [inspect.getsource(module).split('"""', 2)[2].strip() for module in (range_laws, conditional_laws)]
    lines = [line for source in sources for line in source.splitlines() if not line.startswith(_SHARED_IMPORT)]
    groups = ",\n".join(map(_group_source, reduction.groups))
    return ["\n".join(lines), f"RELATED = [\n{groups},\n]", _RESTORE]


def _group_source(group: QuantileGroup) -> str:
    ranges = "".join(f"            {key!r}: {_range_source(each)},\n" for key, each in group.ranges.ranges.items())
    rows = "".join(f"            {row!r},\n" for row in group.ranges.rows)
    return f"    RelatedRanges(\n        {{\n{ranges}        }},\n        [\n{rows}        ],\n    )"


def _range_source(each: range_laws.GridRange | range_laws.FloatRange) -> str:
    if isinstance(each, GridRange):
        arguments = f"{each.start!r}, {each.step!r}, {each.below!r}, {each.last!r}"
    else:
        arguments = f"{each.lower!r}, {each.upper!r}"
    return f"{type(each).__name__}({arguments}{', is_log=True' if each.is_log else ''})"
