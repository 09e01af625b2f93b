"""What a space is unfolded into says each of its configurations exactly once, without a condition or a constraint."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.draws.sampling import Sampler, UnlikelyError
from spacelang.ir.domain import Domain, is_finite
from spacelang.ir.space import Choice, Space
from spacelang.ir.walk import Assignment
from spacelang.reductions.unfolding import Fork, Free, Parts, Related, all_parts, combinations, route, unfold
from spacelang.solver.cells import cells, singletons
from spacelang.solver.counting import Structures
from spacelang.solver.network import TooTangledError, UndecidableError
from spacelang.solver.pieces import joined

from . import brute
from .settings import LAW
from .spaces import domains, finite_spaces, general_spaces

pytestmark = pytest.mark.usefixtures("branches")


def said(parts: Parts) -> Iterator[dict[str, Any]]:
    """Every combination of cases with every combination of values."""
    if not parts:
        yield {}
        return
    first, *others = parts
    for document in said(tuple(others)):
        for own in said_by(first):
            assert not own.keys() & document.keys()
            yield {**document, **own}


def said_by(part: Fork | Free | Related) -> Iterator[dict[str, Any]]:
    if isinstance(part, Free):
        yield from ({part.node.key: value} for value in brute.members(part.domain))
    elif isinstance(part, Fork):
        for case in part.cases:
            taken = {part.node.key: case.branch} if isinstance(part.node, Choice) and case.branch is not None else {}
            yield from ({**taken, **document} for document in said(case.parts))
    else:
        raise TypeError("finite spaces are listed whole")


@settings(LAW)
@given(finite_spaces())
def test_the_parts_say_every_configuration_once(space: Space) -> None:
    structures = Structures(space)
    if not structures.count:
        return
    parts = unfold(structures)
    found = [brute.text(document) for document in said(parts)]
    assert len(found) == len(set(found))
    assert set(found) == brute.configurations(space)
    assert combinations(parts) <= len(found)


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**32 - 1))
def test_members_of_any_space_have_one_route(space: Space, seed: int) -> None:
    try:
        structures = Structures(space)
        parts = unfold(structures) if structures.count else ()
    except (UndecidableError, TooTangledError):
        return
    if not structures.count:
        return
    known = set(map(id, all_parts(parts)))
    try:
        drawn = Sampler(structures).columns(5, np.random.default_rng(seed)).configurations()
    except UnlikelyError:
        return
    for configuration in drawn:
        assignment = Assignment.of(space, configuration)
        taken = [*route(parts, assignment)]
        assert {id(part) for part, _ in taken} <= known
        keys = {part.node.key for part, _ in taken if isinstance(part, Free)}
        branches = {
            part.node.key
            for part, place in taken
            if isinstance(part, Fork) and isinstance(part.node, Choice) and part.cases[place].branch is not None
        }
        assert keys | branches == set(configuration)


@settings(LAW)
@given(domains(finite=False), st.data())
def test_cells_put_together_again_are_the_domain(domain: Domain, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.sampled_from((-1.0, 0.0, 0.3, 0.5, 1.0, 3.0, 100.0)), max_size=3))
    is_small = is_finite(domain) and (domain.size or 0) <= 100
    one_by_one = is_small and data.draw(st.booleans())
    pieces = singletons(domain) if one_by_one else cells(domain, cuts, lambda value: (value,))
    assert joined(domain, pieces) == domain
    some = data.draw(st.lists(st.sampled_from(pieces), min_size=1, unique_by=id))
    part = joined(domain, some)
    for piece in pieces:
        assert brute.inside(part, piece.middle) == any(piece is each for each in some)
    if is_small:
        assert brute.members(part) == [v for v in brute.members(domain) if any(brute.inside(p, v) for p in some)]
