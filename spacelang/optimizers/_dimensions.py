"""What models are told of vectors: which numbers each coordinate may take."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from spacelang.codings.members import to_unit
from spacelang.codings.vectors import VectorCoding
from spacelang.draws.codes import at
from spacelang.ir.domain import Categorical, Ordinal, Simple
from spacelang.surrogates.dimensions import Dimension

MOST: Final = 1_024
"""A grid of more members is a range: nearer members than that differ in nothing that a model could tell."""


def dimensions_of(coding: VectorCoding) -> tuple[Dimension, ...]:
    """A dimension for each column of vectors: decisions and the parts of unions are sets of categories."""
    return tuple(_of_columns(coding))


def _of_columns(coding: VectorCoding) -> Iterator[Dimension]:
    for field in coding.fields:
        if field.coding.has_part:
            yield Dimension(tuple(np.linspace(0, 1, len(field.coding.parts)).tolist()), is_ordered=False)
        yield from (_of_part(field.coding.parts[place]) for place in field.coding.columns)


def _of_part(part: Simple) -> Dimension:
    is_ordered = not isinstance(part, Categorical) or isinstance(part, Ordinal)
    if part.size is None or (is_ordered and part.size > MOST):
        return Dimension()
    indices = np.arange(part.last_index + 1)
    return Dimension(tuple(to_unit(part, at(part, indices)).tolist()), is_ordered=is_ordered)
