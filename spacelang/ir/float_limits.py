"""The limits of floats: which domains they represent exactly."""

from collections.abc import Iterator
from typing import Final

from spacelang.ir.domain import Grid, SimpleDomain, parts
from spacelang.ir.space import Hyperparameter, Space

EXACT_INTEGER_LIMIT: Final = 2**53  # Floats represent all integers below this exactly
FLOAT_LIMIT_REASON: Final = "values are encoded as floats, which are exact for integers only up to 2^53"


def is_exact_as_floats(part: Grid) -> bool:
    """Return True if floats represent all members of the grid exactly."""
    return not part.is_integral or (part.lower > -EXACT_INTEGER_LIMIT and part.upper < EXACT_INTEGER_LIMIT)


def is_encodable(part: SimpleDomain) -> bool:
    """Return True if floats distinguish all members of a domain and all of their indices."""
    if isinstance(part, Grid) and not is_exact_as_floats(part):
        return False
    return part.size is None or part.last_index < EXACT_INTEGER_LIMIT


def unencodable_domains(space: Space) -> Iterator[tuple[Hyperparameter, SimpleDomain]]:
    """Yield the hyperparameters of a space that cannot be encoded as floats, each with the responsible domain part."""
    for node in space.hyperparameters:
        yield from ((node, part) for part in parts(node.domain) if not is_encodable(part))
