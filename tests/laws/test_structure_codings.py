"""The members of one structure as points of the unit cube, and back."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.codings.domains import OneHot, Units
from spacelang.codings.structures import StructureCoding
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, Union
from spacelang.ir.expr import Compare, Constant, Reference
from spacelang.ir.membership import exclusion
from spacelang.ir.space import Space
from spacelang.ir.walk import Structure, structure_of
from spacelang.optimizers._boxes import box_of
from spacelang.surrogates.dimensions import rounded
from spacelang.testing.small_spaces import branch, choice, made, number

from .settings import EXAMPLES
from .settings import LAW as WHOLE
from .spaces import general_spaces
from .test_codings import drawn_rows

LAW = settings(WHOLE, max_examples=EXAMPLES // 4)


@LAW
@given(space=general_spaces(), kind=st.sampled_from((Units, OneHot)), seed=st.integers(0, 2**32))
def test_members_are_points_without_gaps_and_points_are_members(space: Space, kind: Any, seed: int) -> None:
    first, *rest = drawn_rows(space, seed).configurations()
    structure = structure_of(space, first)
    alike = [first, *(each for each in rest if structure_of(space, each) == structure)]
    check_points(StructureCoding(space, structure, kind), alike)
    check_members(space, structure, np.random.default_rng(seed))
    check_dimensions(StructureCoding(space, structure), alike, np.random.default_rng(seed))


def check_points(coding: StructureCoding, given: list[Configuration]) -> None:
    points = coding.encode(given)
    assert points.shape == (len(given), coding.width)
    assert ((points >= 0) & (points <= 1)).all()
    for point, member, back in zip(points, given, coding.decode(points), strict=True):
        for field in coding.fields:
            if field.variable.key not in member:
                assert (point[field.start : field.end] == coding.default[field.start : field.end]).all()
        # The last bit of a number may differ, and a condition or a constraint may be about it.
        if back is not None and back.keys() == member.keys():
            assert coding.encode([back])[0] == pytest.approx(point, abs=1e-9)


def check_members(space: Space, structure: Structure, rng: np.random.Generator) -> None:
    """Every point of the unit cube stands for a member, unless a constraint excludes it."""
    free = replace(space, constraints=())
    coding = StructureCoding(space, structure)
    points = rng.random((12, coding.width))
    points[:4] = points[:4].round()
    kept = coding.decode(points)
    for place, found in enumerate(StructureCoding(free, structure).decode(points)):
        assert found is not None
        assert exclusion(free, found) is None
        assert structure_of(free, found) == structure
        assert kept[place] == (found if exclusion(space, found) is None else None)
        assert coding.decode(points[place : place + 1]) == [kept[place]]


def check_dimensions(coding: StructureCoding, given: list[Configuration], rng: np.random.Generator) -> None:
    """Members are those of their dimensions, and where all coordinates are, what is rounded stands for itself."""
    dimensions = box_of(coding)
    assert len(dimensions) == coding.width
    points = np.vstack([coding.encode(given), coding.default])
    for column, dimension in zip(points.T, dimensions, strict=True):
        assert not dimension.members or set(column.tolist()) <= set(dimension.members)
        assert list(dimension.members) == sorted(set(dimension.members))
        assert all(0 <= member <= 1 for member in dimension.members)
    drawn = rounded(dimensions, rng.random((5, coding.width)))
    found = [each for each in coding.decode(drawn) if each is not None]
    if not coding.space.constraints:
        again = coding.encode(found)
        for column, dimension in enumerate(dimensions):
            moved = again[:, column] != coding.default[column]  # what a condition switches off goes to its default
            assert not dimension.members or (again[moved, column] == drawn[moved, column]).all()


def test_dimensions_have_the_members_of_sets_and_short_grids() -> None:
    kinds = (Categorical(("a", "b", "c")), Ordinal((1, 2, 4)), Grid(1, 100, log=True), Grid(0, 10**6))
    kinds = (*kinds, Union((Categorical((None, "auto")), Real(0.0, 1.0))), Real(0.0, 1.0))  # type: ignore[assignment]
    space = made("kinds", *(number(f"x{place}", kind, kind.middle) for place, kind in enumerate(kinds)))
    found = box_of(StructureCoding(space, {}))
    assert [(len(each.members), each.is_ordered) for each in found] == [
        (3, False),
        (3, True),
        (100, True),
        (0, True),
        (2, False),
        (0, True),
        (0, True),
    ]
    assert found[2].members[9] == pytest.approx(0.5)


def test_what_a_condition_switches_off_is_moved_before_it_counts() -> None:
    kernel = number("e.g.kernel", Categorical(("rbf", "poly")), "rbf")
    degree = number("e.g.degree", Grid(1, 9), 3, when=Compare("==", Reference("e.g.kernel"), Constant("poly")))
    only = number("e.g.only", Categorical((None,)), None)
    space = made("points", choice("e", branch("g", kernel, degree, only), "f"))
    coding = StructureCoding(space, {"e": "g"})
    assert [field.variable.address for field in coding.fields] == ["e.g.kernel", "e.g.degree"]
    off, on = coding.decode(np.array([[0.0, 1.0], [1.0, 1.0]]))
    assert off == Configuration({"e": "g", "e.g.kernel": "rbf", "e.g.only": None})
    assert on == Configuration({"e": "g", "e.g.kernel": "poly", "e.g.degree": 9, "e.g.only": None})
    assert off is not None
    assert on is not None
    assert coding.encode([off, on]).tolist() == [[0.0, 0.25], [1.0, 1.0]]


def test_integers_that_floats_do_not_tell_apart_are_refused_where_they_are_reached() -> None:
    seed = number("e.f.seed", Grid(0, 2**64 - 1), 42)
    space = made("giants", choice("e", branch("f", seed), "g"))
    with pytest.raises(ValueError, match=r"`e\.f\.seed`: .* up to 2\^53 only"):
        StructureCoding(space, {"e": "f"})
    assert StructureCoding(space, {"e": "g"}).width == 0


def test_a_structure_without_hyperparameters_is_one_point() -> None:
    coding = StructureCoding(made("one", choice("e", "f", "g")), {"e": "f"})
    alone = Configuration({"e": "f"})
    assert coding.encode([alone]).shape == (1, 0)
    assert coding.decode(coding.encode([alone])) == [alone]
