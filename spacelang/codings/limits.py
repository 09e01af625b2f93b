"""Limits of encodings: domains with members that are equal as floats."""

from collections.abc import Iterator
from typing import Final

from spacelang.draws.codes import EXACT, is_exact
from spacelang.ir.domain import Grid, Simple, parts
from spacelang.ir.space import Hyperparameter, Space

BEYOND: Final = "values are encoded as floats, which are exact for integers only up to 2^53"


def is_held(part: Simple) -> bool:
    """Return True if floats distinguish all members of a domain and all of their indices."""
    if isinstance(part, Grid) and not is_exact(part):
        return False
    return part.size is None or part.last_index < EXACT


def unheld(space: Space) -> Iterator[tuple[Hyperparameter, Simple]]:
    """Yield the hyperparameters of a space that cannot be encoded as floats, each with the responsible domain part."""
    for node in space.hyperparameters:
        yield from ((node, part) for part in parts(node.domain) if not is_held(part))
