"""A space as a list of products: dictionaries of keys that occur together, each with its possible values."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from spacelang.ir.space import Choice
from spacelang.reductions.unfolding import Fork, Free, Parts, RangeComparison, UnfoldedPart, combinations

Entry: TypeAlias = tuple[str, Free | tuple[str, ...]]
"""A key, with a free hyperparameter or with the branches that a decision may take."""
Dictionary: TypeAlias = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class AlikeCases:
    """Cases of a fork that leave the same parts, so that one product covers all of them."""

    entries: tuple[Entry, ...]
    parts: Parts


def groups(fork: Fork) -> list[AlikeCases]:
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


def dictionaries_needed(parts: Parts) -> int:
    """Return the number of products, without listing them."""
    return combinations(parts, lambda fork: (group.parts for group in groups(fork)))


def dictionaries(parts: Parts) -> Iterator[Dictionary]:
    """Yield the products, in the order of the cases."""
    for ways in product(*(_of_part(part) for part in parts)):
        yield tuple(entry for way in ways for entry in way)


def _of_part(part: UnfoldedPart) -> list[Dictionary]:
    match part:
        case Free():
            return [((part.node.key, part),)]
        case Fork():
            return [(*group.entries, *inner) for group in groups(part) for inner in dictionaries(group.parts)]
        case RangeComparison():
            raise TypeError("a comparison of ranges cannot be part of a product")
