"""A space as a list of products: dictionaries of keys that occur together, each with its possible values."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from spacelang.ir.space import Choice
from spacelang.reductions.unfolding import (
    Fork,
    FreeHyperparameter,
    Parts,
    RangeComparison,
    UnfoldedPart,
    count_combinations,
)

Entry: TypeAlias = tuple[str, FreeHyperparameter | tuple[str, ...]]
"""A key, with a free hyperparameter or with the branches that a decision may take."""
Dictionary: TypeAlias = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class AlikeCases:
    """Cases of a fork that leave the same parts, so that one product covers all of them."""

    entries: tuple[Entry, ...]
    parts: Parts


def group_cases(fork: Fork) -> list[AlikeCases]:
    """Return the cases of a fork, with branches that leave the same parts grouped together."""
    if not isinstance(fork.node, Choice):
        return [AlikeCases((), case.parts) for case in fork.cases]
    together: dict[tuple[int, ...], tuple[list[str], Parts]] = {}
    others = [AlikeCases((), case.parts) for case in fork.cases if case.branch is None]
    for case in fork.cases:
        if case.branch is not None:
            branches, _ = together.setdefault(tuple(map(id, case.parts)), ([], case.parts))
            branches.append(case.branch)
    return [*others, *(AlikeCases(((fork.node.key, tuple(names)),), parts) for names, parts in together.values())]


def count_dictionaries(parts: Parts) -> int:
    """Return the number of products, without listing them."""
    return count_combinations(parts, lambda fork: (group.parts for group in group_cases(fork)))


def iter_dictionaries(parts: Parts) -> Iterator[Dictionary]:
    """Yield the products, in the order of the cases."""
    for ways in product(*(_part_dictionaries(part) for part in parts)):
        yield tuple(entry for way in ways for entry in way)


def _part_dictionaries(part: UnfoldedPart) -> list[Dictionary]:
    match part:
        case FreeHyperparameter():
            return [((part.node.key, part),)]
        case Fork():
            return [(*group.entries, *inner) for group in group_cases(part) for inner in iter_dictionaries(group.parts)]
        case RangeComparison():
            raise TypeError("a comparison of ranges cannot be an entry of a parameter dictionary")
