"""Tuple parameters of the library that a search sets element by element, such as `quantile_range`.

A space has ranges of numbers only, and the two ends of an interval are tuned separately. The table here lists the
elements, introspection writes them into the snapshot, and `join_elements` builds the tuple. None of this comes from the
text of a user.
"""

from collections.abc import Mapping
from typing import Any, Final

from spacelang.catalog.catalogue import CatalogueEntry, Parameter, TupleElement
from spacelang.catalog.rules import Interval, NumberKind

_SHARE: Final = (Interval(NumberKind.REAL, 0, 1, "both"),)
_PERCENT: Final = TupleElement("quantile_range", 100.0)

TUPLE_PARAMETERS: Final[Mapping[tuple[str, str], tuple[Parameter, ...]]] = {
    # The names and the fractions are those of auto-sklearn.
    ("RobustScaler", "quantile_range"): (
        Parameter("q_min", 0.25, _SHARE, part=_PERCENT),
        Parameter("q_max", 0.75, _SHARE, part=_PERCENT),
    ),
}
"""The elements of each tuple parameter, in order, by operator and parameter; their defaults form the library's."""


def join_elements(operator: CatalogueEntry, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for the class of an operator, with tuples in place of their elements.

    A missing element has its default. If all elements are missing, the tuple is missing too, so the library's default
    applies. Raises ValueError if both a tuple and one of its elements are given.
    """
    composed = dict(arguments)
    for whole in operator.tuple_parameters:
        parts = operator.elements_of(whole)
        if composed.keys().isdisjoint(part.name for part in parts):
            continue
        if whole in composed:
            raise ValueError(f"`{whole}` of `{operator.name}` is given both as a whole and by its parts")
        composed[whole] = tuple(_scaled_element(part, composed.pop(part.name, part.default)) for part in parts)
    return composed


def _scaled_element(parameter: Parameter, value: Any) -> Any:
    assert parameter.part is not None
    return parameter.part.factor * value
