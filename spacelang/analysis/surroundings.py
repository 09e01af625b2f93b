"""What a check knows beside the text: what the caller says of the data and allows, and the operators there are."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spacelang.catalog.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the caller of a check gives beside the text.

    `bindings` are the numbers that symbols of the data stand for (`n_features`: 30); a symbol without one stands for an
    arbitrarily large number. `allowed` are the packages that `use` may name. Without a `catalogue` the shipped one of
    scikit-learn serves.
    """

    bindings: Mapping[str, float] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    catalogue: Catalogue | None = None


ALONE = Surroundings()
"""A text by itself."""
