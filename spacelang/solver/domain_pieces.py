"""Join pieces of a domain, such as cells, into a domain."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, Union, contains, parts, subgrid


def join_pieces(domain: Domain, pieces: Sequence[SimpleDomain]) -> Domain:
    """Return one domain with the values of one or more disjoint pieces of `domain`.

    It has the order, scale and steps of `domain`. The pieces are those that `cut_into_cells` and `singleton_cells`
    return. All pieces together give the original domain.
    """
    found = [part for whole in parts(domain) for part in _joined_part(whole, _pieces_within(whole, pieces))]
    if tuple(found) == parts(domain):
        return domain
    return found[0] if len(found) == 1 else Union(tuple(found))


def _pieces_within(whole: SimpleDomain, pieces: Iterable[SimpleDomain]) -> list[SimpleDomain]:
    return [piece for piece in pieces if contains(whole, piece.middle)]


def _joined_part(whole: SimpleDomain, pieces: Sequence[SimpleDomain]) -> list[SimpleDomain]:
    if not pieces:
        return []
    match whole:
        case Categorical():
            values = tuple(value for value in whole.values if any(contains(piece, value) for piece in pieces))
            return [type(whole)(values)]
        case Grid():
            return _join_grid(whole, pieces)
        case Real():
            return _join_intervals(whole, pieces)
        case _:
            assert_never(whole)


def _join_grid(whole: Grid, pieces: Sequence[SimpleDomain]) -> list[SimpleDomain]:
    """Return grids for the runs of neighbouring members."""
    ends = sorted(_end_indices(whole, piece) for piece in pieces)
    runs = [ends[0]]
    for first, last in ends[1:]:
        runs[-1:] = [(runs[-1][0], last)] if first == runs[-1][1] + 1 else [runs[-1], (first, last)]
    every = 0, whole.last_index
    return [whole if ends == every else subgrid(whole, *ends) for ends in runs]


def _end_indices(whole: Grid, piece: SimpleDomain) -> tuple[int, int]:
    """Return the indices of the first and last member of a piece."""
    return whole.index_of(piece.value_at(0)), whole.index_of(piece.value_at(piece.last_index))


def _join_intervals(whole: Real, pieces: Sequence[SimpleDomain]) -> list[SimpleDomain]:
    """Return the intervals with those merged that touch each other; a point is an interval of length 0."""
    spans = sorted(map(_as_interval, pieces), key=lambda span: (span.lower, span.lower_open, span.upper))
    found = [spans[0]]
    for span in spans[1:]:
        last = found[-1]
        if _are_adjacent(last, span):
            found[-1] = replace(last, upper=span.upper, upper_open=span.upper_open)
        else:
            found.append(span)
    if len(found) == 1 and (found[0].least, found[0].greatest) == (whole.least, whole.greatest):
        return [whole]
    return [replace(span, log=whole.log) for span in found]


def _are_adjacent(left: Real, right: Real) -> bool:
    """Return True if no float lies between two disjoint intervals, of which `left` ends first."""
    if left.upper == right.lower:
        return not (left.upper_open and right.lower_open)
    return right.least == math.nextafter(left.greatest, math.inf)


def _as_interval(piece: SimpleDomain) -> Real:
    match piece:
        case Real():
            return piece
        case Categorical():
            assert isinstance(piece.middle, float)
            return Real(piece.middle, piece.middle)
        case Grid():
            raise TypeError("a grid does not lie in a continuous range")
        case _:
            assert_never(piece)
