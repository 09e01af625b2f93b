"""What a check knows beside the text: what the caller says of the data and allows, and the operators there are."""

from collections.abc import Mapping
from dataclasses import field
from operator import index
from typing import Any, Final

from spacelang.carried import Correctable
from spacelang.catalog.catalogue import Catalogue
from spacelang.facts import fact
from spacelang.ir.domain import SYMBOLS
from spacelang.suggest import suggestion

MOST: Final = 10**15
"""No data has more of anything."""


@fact
class Surroundings:
    """What the caller of a check gives beside the text.

    `bindings` are the numbers that symbols of the data stand for (`n_features`: 30); a symbol without one stands for an
    arbitrarily large number. `allowed` are the packages that `use` may name. Without a `catalogue` the shipped one of
    scikit-learn serves.
    """

    bindings: Mapping[str, int] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    catalogue: Catalogue | None = None


ALONE = Surroundings()
"""A text by itself."""


class BindingError(Correctable, ValueError):
    """Something cannot be bound; `help` says what can be."""


def check_bindings(given: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of symbols as integers; raises BindingError for other names, and for what is no number above 0."""
    return {name: _number(name, value) for name, value in given.items()}


def _number(name: str, value: Any) -> int:
    if name not in SYMBOLS:
        listed = ", ".join(f"`{symbol}`" for symbol in SYMBOLS)
        raise BindingError(f"`{name}` is no symbol of the data", suggestion(name, SYMBOLS) or f"there are {listed}")
    try:
        number = 0 if isinstance(value, bool) else index(value)
    except TypeError:
        number = 0
    if not 0 < number <= MOST:
        raise BindingError(f"`{name}` cannot be `{value}`", "give a whole number above 0")
    return number
