import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.domain import (
    BOOLEANS,
    NOT_FOUND,
    Categorical,
    Grid,
    Ordinal,
    Real,
    Union,
    contains,
    describe,
    grid,
    literal,
)
from spacelang.ir.domain_properties import is_finite

HUGE = 2**63 + 1


def test_a_real_range_holds_its_closed_ends_and_not_its_open_ones() -> None:
    assert contains(Real(0.0, 1.0), 0.0)
    assert contains(Real(0.0, 1.0), 1)
    assert not contains(Real(0.0, 1.0, lower_open=True), 0.0)
    assert not contains(Real(0.0, 1.0, upper_open=True), 1.0)
    assert contains(Real(0.0, 1.0, lower_open=True), math.nextafter(0.0, 1.0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, True, False, None, "0.5", (0.5,)])
def test_what_is_no_number_in_range_is_missing(value: object) -> None:
    assert Real(0.0, 1.0).find(value) is NOT_FOUND  # type: ignore[arg-type]
    assert Grid(0, 1).find(value) is NOT_FOUND  # type: ignore[arg-type]
    assert Grid(0.0, 1.0, step=0.5).find(value) is NOT_FOUND  # type: ignore[arg-type]


def test_found_numbers_have_the_type_of_the_domain() -> None:
    found = Real(0.0, 2.0).find(1)
    assert (found, type(found)) == (1.0, float)
    found = Grid(0, 2).find(1.0)
    assert (found, type(found)) == (1, int)
    assert str(Real(-1.0, 1.0).find(-0.0)) == "0.0"
    assert Grid(0, 2).find(1.5) is NOT_FOUND


def test_huge_integers_are_exact() -> None:
    domain = Grid(2**63, 2**64)
    assert domain.size == 2**63 + 1
    assert domain.find(HUGE) == HUGE
    assert domain.representative == 2**63 + 2**62
    assert Grid(10**400, 10**400 + 5).find(10**400 + 3) == 10**400 + 3
    assert Grid(10**400, 10**400 + 5).find(1.0) is NOT_FOUND
    assert Real(0.0, 1e30).find(HUGE) is NOT_FOUND  # no float is that number


def test_a_grid_is_of_the_decimals_that_were_written() -> None:
    tenths = Grid(0.0, 0.3, step=0.1)
    assert [tenths.value_at(place) for place in range(tenths.size)] == [0.0, 0.1, 0.2, 0.3]
    assert tenths.size == 4
    assert tenths.find(0.3) == 0.3
    assert tenths.find(0.1 + 0.2) is NOT_FOUND
    assert grid(0.0, 0.3, 0.1) == tenths
    assert grid(0.0, 0.3, 0.1, lower_open=True, upper_open=True) == Grid(0.1, 0.2, step=0.1)
    assert grid(0.0, 0.35, 0.1, upper_open=True) == tenths
    assert grid(0.0, 0.1, 0.1, lower_open=True, upper_open=True).size == 0
    assert grid(1, 10, 4, lower_open=True) == Grid(5, 9, step=4)
    assert Grid(0.5, 2.0, step=0.7).representative == 1.2


def test_integers_and_floats_are_told_apart() -> None:
    assert Grid(1, 3) != Grid(1.0, 3.0, step=1.0)
    assert len({Grid(1, 3), Grid(1, 3), Grid(1.0, 3.0, step=1.0)}) == 2
    assert isinstance(Grid(1, 3).find(2.0), int)
    assert isinstance(Grid(1.0, 3.0, step=1.0).find(2), float)
    assert Grid(0, 10**24).find(1e23) == 10**23  # the decimal that is written, not the float
    assert Real(0.0, 1e24).find(10**23) == 1e23


@given(st.integers(-50, 50), st.integers(1, 60), st.integers(1, 9))
def test_every_place_of_a_grid_is_found_again(lower: int, members: int, step: int) -> None:
    start, width = lower / 100, step / 1000
    even = Grid(start, float(f"{start + width * (members - 1):.6g}"), step=width)
    found = [even.value_at(place) for place in range(even.size)]
    assert len(found) == members
    assert all(even.find(value) == value for value in found)


def test_a_point_is_a_range_of_one_value() -> None:
    point = Real(0.1, 0.1, log=True)
    assert point.size == 1
    assert point.representative == 0.1
    assert point.value_at(0) == 0.1


def test_middles() -> None:
    assert Real(0.0, 1.0).representative == 0.5
    assert Real(1e-4, 1e4, log=True).representative == pytest.approx(1.0)
    assert Real(-1e308, 1e308).representative == 0.0
    assert Grid(1, 10_000, log=True).representative == 100
    assert Grid(-5, 4).representative == -1
    assert Grid(1, 10, step=3).representative == 4
    assert Categorical(("b", "a")).representative == "b"
    assert Ordinal(("low", "mid", "high", "top")).representative == "mid"
    assert Union((Categorical((None,)), Grid(1, 3))).representative is None


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300), st.booleans(), st.booleans(), st.booleans())
def test_the_middle_of_a_range_lies_in_it(a: float, b: float, log: bool, lower_open: bool, upper_open: bool) -> None:
    lower, upper = sorted((a, b))
    if math.nextafter(lower, math.inf) < upper:
        domain = Real(lower, upper, lower_open, upper_open, log)
        assert contains(domain, domain.representative)


def test_sets_tell_booleans_from_numbers() -> None:
    mixed = Categorical((True, 1, "1", (1, True)))
    assert mixed.find(True) is True
    assert mixed.find(1.0) == 1
    assert mixed.find(1.0) is not True
    assert mixed.find((1.0, True)) == (1, True)
    assert mixed.find((1, 1)) is NOT_FOUND
    assert Categorical((1, 0)) != BOOLEANS
    assert Categorical((1.0, 0)) == Categorical((1, 0.0))
    assert hash(Categorical((1.0, 0))) == hash(Categorical((1, 0.0)))
    assert Ordinal((1, 2)) != Categorical((1, 2))
    assert len({Categorical((True,)), Categorical((1,)), Categorical((1.0,))}) == 2


def test_unions_add_up() -> None:
    union = Union((Categorical((None,)), Grid(2, 50)))
    assert union.size == 50
    assert union.find(None) is None
    assert union.find(50.0) == 50
    assert union.find(1) is NOT_FOUND
    assert Union((Categorical(("auto",)), Real(0.0, 1.0))).size is None
    assert is_finite(union)
    assert not is_finite(Real(0.0, 1.0))


def test_descriptions_are_what_the_language_writes() -> None:
    assert describe(Real(0.0, 1.0, lower_open=True, log=True)) == "float(0.0, 1.0] log"
    assert describe(grid(0.0, 0.3, 0.1, upper_open=True)) == "float[0.0, 0.2] step 0.1"
    assert describe(Grid(1, 10, log=True, step=3)) == "int[1, 10] log step 3"
    assert describe(Union((Categorical((None, "auto")), Grid(1, 3)))) == "{none, auto} | int[1, 3]"
    assert describe(Ordinal(("low", "high"))) == "ordered {low, high}"
    assert describe(BOOLEANS) == "bool"
    assert describe(Categorical((1, 0))) == "{1, 0}"


def test_literals_are_bare_where_a_word_can_stand_alone() -> None:
    assert [literal(value) for value in (None, True, False, 3, 0.5, "rbf")] == [
        "none", "true", "false", "3", "0.5", "rbf",
    ]  # fmt: skip
    assert literal("none") == '"none"'
    assert literal("two words") == '"two words"'
    assert literal('a"b\\c\n') == '"a\\"b\\\\c\\n"'
    assert literal((1,)) == "(1,)"
    assert literal((100, "x y")) == '(100, "x y")'
