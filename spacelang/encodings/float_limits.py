"""Limits of encodings: domains with members that are equal as floats."""

from collections.abc import Iterator
from typing import Final

from spacelang.ir.domain import Grid, SimpleDomain, parts
from spacelang.ir.space import Hyperparameter, Space
from spacelang.sampling.value_codes import EXACT_INTEGER_LIMIT, is_exact_as_floats

FLOAT_LIMIT_REASON: Final = "values are encoded as floats, which are exact for integers only up to 2^53"


def is_encodable(part: SimpleDomain) -> bool:
    """Return True if floats distinguish all members of a domain and all of their indices."""
    if isinstance(part, Grid) and not is_exact_as_floats(part):
        return False
    return part.size is None or part.last_index < EXACT_INTEGER_LIMIT


def unencodable_domains(space: Space) -> Iterator[tuple[Hyperparameter, SimpleDomain]]:
    """Yield the hyperparameters of a space that cannot be encoded as floats, each with the responsible domain part."""
    for node in space.hyperparameters:
        yield from ((node, part) for part in parts(node.domain) if not is_encodable(part))
