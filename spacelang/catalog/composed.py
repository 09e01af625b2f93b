"""Composed parameters: those of the library that are a tuple, which a search moves by its parts.

A space has ranges of numbers only, and the two ends of an interval are tuned each by itself. Here stands which parts
there are; introspection writes them into the snapshot, and `compose` puts them together again. Nothing of it comes
from the text of a user.
"""

from collections.abc import Mapping
from typing import Any, Final

from spacelang.catalog.catalogue import CatalogueEntry, Parameter, TupleMember
from spacelang.catalog.rules import Interval, NumberKind

_SHARE: Final = (Interval(NumberKind.REAL, 0, 1, "both"),)
_PERCENT: Final = TupleMember("quantile_range", 100.0)

COMPOSED: Final[Mapping[tuple[str, str], tuple[Parameter, ...]]] = {
    # The names and the fractions are auto-sklearn's.
    ("RobustScaler", "quantile_range"): (
        Parameter("q_min", 0.25, _SHARE, part=_PERCENT),
        Parameter("q_max", 0.75, _SHARE, part=_PERCENT),
    ),
}
"""The parts of a parameter, in order, by operator and parameter; together their defaults are the library's."""


def compose(operator: CatalogueEntry, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the operator's class takes them: the tuple in place of its parts.

    A part that is missing takes its default; where all are missing, so does the tuple, and the library's default
    applies. Raises ValueError where both the tuple and a part of it are given.
    """
    composed = dict(arguments)
    for whole in operator.wholes:
        parts = operator.parts(whole)
        if composed.keys().isdisjoint(part.name for part in parts):
            continue
        if whole in composed:
            raise ValueError(f"`{whole}` of `{operator.name}` is given both as a whole and by its parts")
        composed[whole] = tuple(_member(part, composed.pop(part.name, part.default)) for part in parts)
    return composed


def _member(parameter: Parameter, value: Any) -> Any:
    assert parameter.part is not None
    return parameter.part.factor * value
