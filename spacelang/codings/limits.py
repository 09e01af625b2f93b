"""What no coding holds: members that are the same float."""

from collections.abc import Iterator
from typing import Final

from spacelang.draws.codes import EXACT, is_exact
from spacelang.ir.domain import Grid, Simple, parts
from spacelang.ir.space import Hyperparameter, Space

BEYOND: Final = "values are coded as floats, which tell integers apart up to 2^53 only"


def is_held(part: Simple) -> bool:
    """Whether floats tell all members of a domain apart, and their places."""
    if isinstance(part, Grid) and not is_exact(part):
        return False
    return part.size is None or part.last_index < EXACT


def unheld(space: Space) -> Iterator[tuple[Hyperparameter, Simple]]:
    """The hyperparameters of a space that no coding holds, each with the parts of its domain that are to blame."""
    for node in space.hyperparameters:
        yield from ((node, part) for part in parts(node.domain) if not is_held(part))
