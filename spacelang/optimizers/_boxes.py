"""What minimizers and models are told of encoded points: which numbers each coordinate may take."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from spacelang.codings.members import at, to_unit
from spacelang.codings.rows import domain_of
from spacelang.codings.structures import StructureCoding
from spacelang.codings.vectors import VectorCoding
from spacelang.ir.domain import Categorical, Ordinal, Simple, parts
from spacelang.minimizers import Box
from spacelang.surrogates.dimensions import Dimension

MOST: Final = 1_024
"""A grid of more members is a range: nearer members than that differ in nothing that a model could tell."""


def box_of(coding: StructureCoding) -> Box:
    """A dimension for each column of a coding by `Units`; a union's value is any number, whatever part is taken."""
    found: list[Dimension] = []
    for field in coding.fields:
        several = parts(domain_of(field.variable))
        if len(several) > 1:
            found += [_of_selector(len(several)), Dimension()]
        else:
            found.append(_of_part(several[0]))
    return tuple(found)


def dimensions_of(coding: VectorCoding) -> tuple[Dimension, ...]:
    """A dimension for each column of vectors: decisions and the parts of unions are sets of categories."""
    return tuple(_of_columns(coding))


def _of_columns(coding: VectorCoding) -> Iterator[Dimension]:
    for field in coding.fields:
        several = parts(domain_of(field.variable))
        if len(several) > 1:
            yield _of_selector(len(several))
        yield from (_of_part(part) for part in several if part.size != 1)


def _of_selector(count: int) -> Dimension:
    return Dimension(tuple(np.linspace(0, 1, count).tolist()), is_ordered=False)


def _of_part(part: Simple) -> Dimension:
    is_ordered = not isinstance(part, Categorical) or isinstance(part, Ordinal)
    if part.size is None or (is_ordered and part.size > MOST):
        return Dimension()
    indices = np.arange(part.last_index + 1)
    return Dimension(tuple(to_unit(part, at(part, indices)).tolist()), is_ordered=is_ordered)
