"""Values as numbers, and back: the members of a domain in their order, where its ends are."""

import math
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from spacelang.ir.domain import Integer, Real, Simple, contains, members

from .settings import LAW
from .spaces import domains, member

NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=False)


@st.composite
def grids(draw: st.DrawFn) -> Real:
    """Floats by a step, of few or very many members, with an end or both excluded."""
    lower, step = draw(st.decimals(-1000, 1000, places=3)), draw(st.decimals("0.001", 50, places=3))
    steps = draw(st.one_of(st.integers(2, 30), st.integers(2, 10**9)))
    upper = lower + steps * step + draw(st.sampled_from((0, step / 2)))
    return Real(float(lower), float(upper), draw(st.booleans()), draw(st.booleans()), step=float(step))


@st.composite
def ranges(draw: st.DrawFn) -> Real:
    """Floats between any two numbers, near to each other too."""
    lower = draw(NUMBERS)
    upper = draw(st.one_of(NUMBERS, st.integers(3, 9).map(lambda count: lower + count * math.ulp(lower))))
    assume(lower + 2 * math.ulp(lower) <= upper)
    return Real(lower, upper, draw(st.booleans()), draw(st.booleans()), log=lower > 0 and draw(st.booleans()))


whole = st.builds(
    lambda lower, count, step: Integer(lower, lower + count * step + step // 2, step=step),
    st.integers(-(10**30), 10**30),
    st.integers(0, 10**20),
    st.integers(1, 10**6),
)
simple = st.one_of(domains(finite=True).filter(lambda domain: not hasattr(domain, "parts")), grids(), whole)


@LAW
@given(part=simple, data=st.data())
def test_the_index_of_a_member_is_where_it_stands(part: Simple, data: st.DataObject) -> None:
    assert part.size == part.last_index - part.first_index + 1
    index = data.draw(st.integers(part.first_index, part.last_index))
    assert part.index_of(part.at(index)) == index
    assert contains(part, part.at(index))


@LAW
@given(part=domains(finite=True).filter(lambda domain: not hasattr(domain, "parts")), data=st.data())
def test_members_are_all_that_a_domain_has(part: Simple, data: st.DataObject) -> None:
    listed = [*members(part)]
    assert len(listed) == part.size
    assert data.draw(member(part)) in listed


@LAW
@given(grid=grids(), index=st.integers(0, 30))
def test_a_grid_is_of_decimals(grid: Real, index: int) -> None:
    assert grid.at(index) == float(Fraction(repr(grid.lower)) + index * Fraction(repr(grid.step)))


@LAW
@given(part=st.one_of(grids(), ranges(), whole))
def test_the_ends_are_the_outermost_members(part: Integer | Real) -> None:
    assert contains(part, part.least)
    assert contains(part, part.greatest)
    assert part.lower <= part.least <= part.greatest <= part.upper
    if isinstance(part, Real) and part.step is None:
        assert not contains(part, math.nextafter(part.least, -math.inf))
        assert not contains(part, math.nextafter(part.greatest, math.inf))
    else:
        assert (part.least, part.greatest) == (part.at(part.first_index), part.at(part.last_index))
