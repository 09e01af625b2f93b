"""Grouping of values by key."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def group_by_key(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Return the values of each key as a list; keys and values keep their order.

    `group_by_key([("a", 1), ("b", 2), ("a", 3)])` is `{"a": [1, 3], "b": [2]}`.
    """
    found: dict[K, list[T]] = {}
    for key, thing in pairs:
        found.setdefault(key, []).append(thing)
    return found
