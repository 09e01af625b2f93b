"""Domains cut into pieces: disjoint, nonempty, and together the domain.

See spacelang/optimizers/README.md, section "BOASF: arms".
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, assert_never

from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, Union, literal, parts, subgrid
from spacelang.sampling.unit_scale import unit_scale

DIGITS: Final = 12
"""Ranges are cut at numbers rounded to this many significant digits, so that the bounds of pieces are readable."""


def pieces_of(domain: Domain, number: int) -> tuple[Domain, ...]:
    """Return a domain cut into `number` pieces, or into as many as possible.

    - Ranges are cut into equal widths, or into equal ratios under `log`. Each piece except the last one excludes its
      upper end.
    - Integers, steps and sets are cut into runs of neighboring members. Their sizes differ by at most one, longer runs
      first. Consecutive integers under `log` are cut into equal ratios.
    - The parts of a union are pieces. If there are more parts than pieces, a piece has several parts. If there are
      fewer, the parts are cut, the largest first.
    """
    match domain:
        case Union():
            return _cut_union(domain, number)
        case Real():
            return tuple(_cut_range(domain, number))
        case Grid(log=True, is_consecutive=True):
            return tuple(_cut_log_integers(domain, number))
        case Grid() | Categorical():
            return tuple(_members_between(domain, first, last) for first, last in _runs(domain.size or 1, number))
        case _:
            assert_never(domain)


def describe_piece(domain: Domain) -> str:
    """Return a piece as it appears in the name of an arm."""
    match domain:
        case Union():
            return " | ".join(map(describe_piece, domain.parts))
        case Categorical():
            values = ", ".join(map(literal, domain.values))
            return values if len(domain.values) == 1 else f"{{{values}}}"
        case Real() if domain.lower != domain.upper:
            opening, closing = "(" if domain.lower_open else "[", ")" if domain.upper_open else "]"
            return f"{opening}{_shown(domain.lower)}, {_shown(domain.upper)}{closing}"
        case Grid() | Real():
            first, last = domain.least, domain.greatest
            step = "" if isinstance(domain, Real) or domain.is_consecutive else f" step {literal(domain.step)}"
            return _shown(first) if first == last else f"{_shown(first)}..{_shown(last)}{step}"
        case _:
            assert_never(domain)


def _shown(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.6g}"


def _cut_range(domain: Real, number: int) -> Iterator[Real]:
    cuts = [*_cut_points(domain, number)]
    if not cuts:
        yield domain
        return
    yield Real(domain.lower, cuts[0], domain.lower_open, True, domain.log)
    for lower, upper in pairwise(cuts):
        yield Real(lower, upper, False, True, domain.log)
    yield Real(cuts[-1], domain.upper, False, domain.upper_open, domain.log)


def _cut_points(domain: Real, number: int) -> Iterator[float]:
    """Yield the numbers at which a range is cut; each has members on both sides."""
    number_at, before = unit_scale(domain.lower, domain.upper, log=domain.log).from_unit, domain.least
    for place in range(1, number):
        cut = float(f"{number_at(place / number):.{DIGITS}g}")
        if before < cut <= domain.greatest and cut < domain.upper:
            yield cut
            before = cut


def _cut_log_integers(domain: Grid, number: int) -> Iterator[Grid]:
    number = min(number, domain.size)
    number_at, first = unit_scale(domain.lower, domain.upper, log=True).from_unit, int(domain.lower)
    for place in range(1, number):
        wanted = math.ceil(float(f"{number_at(place / number):.{DIGITS}g}"))
        # Leave at least one integer for this piece and for each piece that follows.
        cut = min(max(wanted, first + 1), int(domain.upper) + 1 - (number - place))
        yield Grid(first, cut - 1, domain.log)
        first = cut
    yield Grid(first, domain.upper, domain.log)


def _runs(size: int, number: int) -> Iterator[tuple[int, int]]:
    """Split the indices below `size` into `number` intervals; yield the first and last index of each.

    The intervals are as equal as possible. There are fewer than `number` if `size` is smaller.
    """
    number = min(number, size)
    length, longer = divmod(size, number)
    first = 0
    for place in range(number):
        last = first + length - (place >= longer)
        yield first, last
        first = last + 1


def _members_between(domain: SimpleDomain, first: int, last: int) -> SimpleDomain:
    if (first, last) == (0, (domain.size or 1) - 1):
        return domain
    match domain:
        case Categorical():
            return type(domain)(domain.values[first : last + 1])
        case Grid():
            return subgrid(domain, first, last)
        case Real():
            return domain
        case _:
            assert_never(domain)


def _cut_union(domain: Union, number: int) -> tuple[Domain, ...]:
    several = domain.parts
    if number <= len(several):
        return tuple(_join(several[first : last + 1]) for first, last in _runs(len(several), number))
    found: list[tuple[Domain, ...]] = []
    for part, share in zip(several, _piece_counts(several, number), strict=True):
        found.append(pieces_of(part, share))
    return tuple(piece for pieces in found for piece in pieces)


def _join(several: Sequence[SimpleDomain]) -> Domain:
    return several[0] if len(several) == 1 else Union(tuple(several))


def _piece_counts(several: Sequence[SimpleDomain], number: int) -> list[int]:
    """Return the number of pieces for each part of a union.

    Every part gets one; each further piece goes to the part with the most members per piece.
    """
    shares = [1] * len(several)
    sizes = [math.inf if part.size is None else part.size for part in several]
    for _ in range(number - len(several)):
        open_ = [place for place, size in enumerate(sizes) if shares[place] < size]
        if not open_:
            break
        place = max(open_, key=lambda each: (sizes[each] / shares[each], -shares[each]))
        shares[place] += 1
    return shares


def is_single_piece(domain: Domain, number: int) -> bool:
    """Return True if a domain stays in one piece."""
    size = sum(part.size or number for part in parts(domain))
    return number == 1 or size == 1
