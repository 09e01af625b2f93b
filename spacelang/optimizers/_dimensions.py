"""Conversion of encoded columns to the dimensions that surrogate models need."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from spacelang.encodings.simple_domains import to_unit
from spacelang.encodings.vectors import VectorEncoding
from spacelang.ir.domain import Categorical, Ordinal, SimpleDomain
from spacelang.sampling.value_codes import codes_at
from spacelang.surrogates.dimensions import Dimension

MAX_MEMBERS: Final = 1_024
"""A grid with more members counts as a range: a model could not distinguish members so close together."""


def dimensions_of(coding: VectorEncoding) -> tuple[Dimension, ...]:
    """Return a dimension for each column of encoded vectors.

    Decisions and the choice between parts of a union become unordered categories.
    """
    return tuple(_column_dimensions(coding))


def _column_dimensions(coding: VectorEncoding) -> Iterator[Dimension]:
    """Yield the dimensions of all columns, field by field."""
    for field in coding.fields:
        if field.coding.has_part:
            yield Dimension(tuple(np.linspace(0, 1, len(field.coding.parts)).tolist()), is_ordered=False)
        yield from (_part_dimension(field.coding.parts[place]) for place in field.coding.columns)


def _part_dimension(part: SimpleDomain) -> Dimension:
    """Return the dimension of one part of a domain; a grid with more than `MAX_MEMBERS` members counts as a range."""
    is_ordered = not isinstance(part, Categorical) or isinstance(part, Ordinal)
    if part.size is None or (is_ordered and part.size > MAX_MEMBERS):
        return Dimension()
    indices = np.arange(part.last_index + 1)
    return Dimension(tuple(to_unit(part, codes_at(part, indices)).tolist()), is_ordered=is_ordered)
