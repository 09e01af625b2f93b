"""Values as numbers, and back: the members of a domain, domains as columns, configurations as rows."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from spacelang.encodings import row_encodings
from spacelang.encodings.mixed_integer_encoding import MixedIntegerEncoding, UnitIntervalMapping
from spacelang.encodings.row_encodings import DomainEncoding, RowEncoding, exact_encoding, unit_interval_encoding
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, Union, contains, grid, members, parts
from spacelang.ir.space import Space
from spacelang.ir.value import Value, identity_key
from spacelang.sampling import value_codes
from spacelang.sampling.batch_builder import BatchBuilder, ConfigurationBatch, encode_values
from spacelang.sampling.independent_sampling import ValueSampler
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.sampling.unit_scale import to_unit_function
from spacelang.sampling.value_codes import decode_values
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures

from .settings import LAW
from .spaces import domains, general_spaces, member

NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=False)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Floats by a step, of few or very many members, with an end or both excluded."""
    lower, step = draw(st.decimals(-1000, 1000, places=3)), draw(st.decimals("0.001", 50, places=3))
    steps = draw(st.one_of(st.integers(2, 30), st.integers(2, 10**9)))
    upper = lower + steps * step + draw(st.sampled_from((0, step / 2)))
    is_open = draw(st.booleans()), draw(st.booleans())
    return grid(float(lower), float(upper), float(step), lower_open=is_open[0], upper_open=is_open[1])


@st.composite
def ranges(draw: st.DrawFn) -> Real:
    """Floats between any two numbers, near to each other too."""
    lower = draw(NUMBERS)
    upper = draw(st.one_of(NUMBERS, st.integers(3, 9).map(lambda count: lower + count * math.ulp(lower))))
    assume(lower + 2 * math.ulp(lower) <= upper)
    return Real(lower, upper, draw(st.booleans()), draw(st.booleans()), log=lower > 0 and draw(st.booleans()))


whole = st.builds(
    lambda lower, count, step: Grid(lower, lower + count * step + step // 2, step=step),
    st.integers(-(10**30), 10**30),
    st.integers(0, 10**20),
    st.integers(1, 10**6),
)
simple = st.one_of(domains(finite=True).filter(lambda domain: not hasattr(domain, "parts")), grids(), whole)


@LAW
@given(part=simple, data=st.data())
def test_the_index_of_a_member_is_where_it_stands(part: SimpleDomain, data: st.DataObject) -> None:
    assert part.size == part.last_index + 1
    index = data.draw(st.integers(0, part.last_index))
    assert part.index_of(part.value_at(index)) == index
    assert contains(part, part.value_at(index))


@LAW
@given(part=domains(finite=True).filter(lambda domain: not hasattr(domain, "parts")), data=st.data())
def test_members_are_all_that_a_domain_has(part: SimpleDomain, data: st.DataObject) -> None:
    listed = [*members(part)]
    assert len(listed) == part.size
    assert data.draw(member(part)) in listed


@LAW
@given(even=grids(), index=st.integers(0, 30))
def test_a_grid_is_of_decimals(even: Grid, index: int) -> None:
    assert even.value_at(index) == float(Fraction(repr(even.lower)) + index * Fraction(repr(even.step)))


@LAW
@given(part=st.one_of(grids(), ranges(), whole))
def test_the_ends_are_the_outermost_members(part: Grid | Real) -> None:
    assert contains(part, part.least)
    assert contains(part, part.greatest)
    assert part.lower <= part.least <= part.greatest <= part.upper
    if isinstance(part, Real):
        assert not contains(part, math.nextafter(part.least, -math.inf))
        assert not contains(part, math.nextafter(part.greatest, math.inf))
    else:
        assert (part.least, part.greatest) == (part.value_at(0), part.value_at(part.last_index))


# --- one domain ----------------------------------------------------------------------------------------------------

KINDS: tuple[Callable[[Domain], DomainEncoding], ...] = (
    exact_encoding,
    lambda domain: exact_encoding(domain, has_part=True),
    unit_interval_encoding,
)
held = st.builds(
    lambda lower, count, step: Grid(lower, lower + count * step + step // 2, step=step),
    st.one_of(st.integers(-(10**12), 10**12), st.integers(2**52, 2**53 - 10**5)),
    st.integers(0, 100),
    st.integers(1, 900),
)
numeric = st.one_of(grids(), ranges(), held, st.builds(lambda top: Grid(1, top, log=True), st.integers(1, 10**6)))
some = st.one_of(domains(finite=False), numeric, numeric.map(lambda part: Union((Categorical((None, "auto")), part))))
kinds = st.sampled_from(KINDS)


def values_of(domain: Domain, data: st.DataObject) -> list[Value]:
    """Members, among them the outermost ones."""
    found = data.draw(st.lists(st.one_of(member(domain), drawn_from(domain)), min_size=1, max_size=8))
    return [*found, *(end for part in parts(domain) for end in ends_of(part))]


def ends_of(part: SimpleDomain) -> tuple[Value, Value]:
    if isinstance(part, Categorical):
        return part.values[0], part.values[-1]
    return part.least, part.greatest


@st.composite
def drawn_from(draw: st.DrawFn, domain: Domain) -> Value:
    drawn = ValueSampler(domain).draw(1, np.random.default_rng(draw(st.integers(0, 2**32))))
    return decode_values(domain, drawn)[0]


@LAW
@given(domain=some, kind=kinds, data=st.data())
def test_values_come_back_from_their_numbers(
    domain: Domain, kind: Callable[[Domain], DomainEncoding], data: Any
) -> None:
    values, coding = values_of(domain, data), kind(domain)
    rows = coding.encode(encode_values(domain, values))
    assert rows.dtype == np.float64
    assert rows.shape == (len(values), coding.width)
    assert np.isfinite(rows[:, 0]).all()
    assert kind is unit_interval_encoding or np.isfinite(rows).all()
    found = decode_values(domain, coding.decode(rows))
    if kind in KINDS[:2]:
        assert list(map(identity_key, found)) == list(map(identity_key, values))
    for value, back in zip(values, found, strict=True):
        assert is_near(domain, value, back)


def is_near(domain: Domain, value: Value, back: Value) -> bool:
    """Whether two values are one and the same; of a continuous range, but for rounding."""
    part = next(part for part in parts(domain) if contains(part, value))
    if part.size is not None and part.size <= 10**6:
        return identity_key(value) == identity_key(back)
    assert isinstance(part, Real | Grid)
    assert isinstance(value, int | float)
    assert isinstance(back, int | float)
    width = max(abs(part.lower), abs(part.upper)) if not part.log else abs(value)
    return contains(part, back) and abs(value - back) <= 1e-9 * width + (
        part.step * part.size * 1e-12 if isinstance(part, Grid) else 0
    )


@LAW
@given(domain=some, seed=st.integers(0, 2**32))
def test_every_point_of_the_cube_is_a_members(domain: Domain, seed: int) -> None:
    coding, rng = unit_interval_encoding(domain), np.random.default_rng(seed)
    points = np.concatenate(
        [rng.random((8, coding.width)), rng.integers(0, 2, (8, coding.width)), rng.normal(0.5, 2, (4, coding.width))]
    )
    found = decode_values(domain, coding.decode(points))
    assert all(contains(domain, value) for value in found)
    assert all(type(value) is type(domain.find(value)) for value in found)
    again = coding.encode(encode_values(domain, found))
    assert ((again >= 0) & (again <= 1) | np.isnan(again)).all()
    assert (np.isfinite(again).sum(axis=1) <= 1 + coding.has_part).all()


@LAW
@given(domain=some, kind=kinds, data=st.data())
def test_many_values_together_are_as_each_alone(
    domain: Domain, kind: Callable[[Domain], DomainEncoding], data: Any
) -> None:
    values, coding = values_of(domain, data), kind(domain)
    together = coding.encode(encode_values(domain, values))
    alone = [coding.encode(encode_values(domain, [value])) for value in values]
    assert np.array_equal(together, np.concatenate(alone), equal_nan=True)
    back = coding.decode(together)
    each = [decode_values(domain, coding.decode(row))[0] for row in alone]
    assert list(map(identity_key, decode_values(domain, back))) == list(map(identity_key, each))


@LAW
@given(part=numeric, places=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_places_of_a_range_are_in_its_order(part: Grid | Real, places: list[float]) -> None:
    found = row_encodings.from_unit(part, np.array([0.0, *sorted(places), 1.0]))
    assert (np.diff(found) >= 0).all()
    assert (found[0], found[-1]) == (part.least, part.greatest)
    shares = row_encodings.to_unit(part, found)
    assert (np.diff(shares) >= 0).all()


@LAW
@given(lower=st.floats(1e-300, 1e300), ratio=st.floats(1.0001, 1e6), share=st.floats(0, 1))
def test_places_of_a_log_range_are_those_of_logarithms(lower: float, ratio: float, share: float) -> None:
    part = Real(lower, lower * ratio, log=True)
    (found,) = row_encodings.from_unit(part, np.array([share])).tolist()
    assert math.isclose(math.log(found / lower), share * math.log(part.upper / lower), rel_tol=1e-6, abs_tol=1e-9)


@LAW
@given(part=numeric, data=st.data())
def test_arrays_and_single_values_lie_at_the_same_place(part: Grid | Real, data: st.DataObject) -> None:
    values = values_of(part, data)
    shares = row_encodings.to_unit(part, np.array(values, float))
    assert np.allclose(shares, [to_unit_function(part)(value) for value in values], rtol=0, atol=1e-12)


@LAW
@given(part=st.one_of(grids(), held), data=st.data())
def test_what_is_half_way_is_rounded_up(part: Grid, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, part.last_index))
    (code,) = value_codes.codes_of_members_at(part, np.array([index])).tolist()
    assert code == part.value_at(index)
    assert row_encodings.nearest_indices(part, np.array([code])).tolist() == [index]
    if part.is_integral and index < part.last_index and part.upper < 2**50:
        between = np.array([code + part.step / 2, code + part.step * 0.49])
        assert row_encodings.nearest_codes(part, between).tolist() == [part.value_at(index + 1), code]


def test_rows_that_stand_for_no_value_are_not_read() -> None:
    domain = Union((Categorical(("a", "b")), Grid(2, 8, step=2), Real(0.0, 1.0, lower_open=True)))
    coding = exact_encoding(domain)
    wrong = ((0, 2), (0, 0.5), (0, -1), (1, 3), (1, 10), (1, np.nan), (2, 0), (2, 1.5), (2, np.inf), (3, 0), (0.5, 0))
    for row in wrong:
        with pytest.raises(ValueError, match="no value"):
            coding.decode(np.array([row], float))


@LAW
@given(domain=some, data=st.data())
def test_values_come_back_from_their_whole_numbers(domain: Domain, data: st.DataObject) -> None:
    values, coding = values_of(domain, data), MixedIntegerEncoding(domain, domain)
    whole, numbers = coding.encode(encode_values(domain, values))
    assert (whole.dtype, {each.dtype for each in numbers}) == (np.float64, {np.dtype(float)} if numbers else set())
    assert ((whole >= coding.lower) & (whole <= coding.upper) & (whole == np.rint(whole))).all()
    found = coding.decode(whole if coding.needs_integer else None, numbers)
    assert list(map(identity_key, decode_values(domain, found))) == list(map(identity_key, values))
    for row, value in enumerate(values):
        assert identity_key(coding.value_of(whole[row], [each[row] for each in numbers])) == identity_key(value)


@LAW
@given(domain=some, shares=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_between_whole_numbers_the_unit_interval_is_gone_through_once(domain: Domain, shares: list[float]) -> None:
    coding = MixedIntegerEncoding(domain, domain)
    interval = UnitIntervalMapping(coding.pieces, integral=coding.needs_integer)
    lower, upper = (coding.lower, coding.upper) if coding.needs_integer else ends_of(parts(domain)[0])
    numbers = np.clip([lower + share * (upper - lower) for share in sorted(shares)], lower, upper)  # type: ignore[operator]
    places = interval.to_unit(numbers)
    assert (np.diff(places) >= -1e-12).all()
    assert ((places >= -1e-12) & (places <= 1 + 1e-12)).all()
    assert np.allclose(interval.from_unit(np.clip(places, 0, 1)), numbers, rtol=1e-9, atol=1e-9)


# --- configurations ------------------------------------------------------------------------------------------------


@LAW
@given(space=general_spaces(), kind=kinds, missing=st.sampled_from((math.nan, -1.0)), seed=st.integers(0, 2**32))
def test_configurations_come_back_from_their_rows(space: Space, kind: Any, missing: float, seed: int) -> None:
    columns = drawn_rows(space, seed)
    if missing == -1.0 and kind is exact_encoding:
        kind = KINDS[1]  # -1 may be a value
    coding = RowEncoding(space, kind, missing=missing)
    rows = coding.encode(columns)
    assert rows.dtype == np.float64
    assert rows.shape == (len(columns), coding.width)
    found, members = coding.decode(rows).configurations(), columns.configurations()
    for back, configuration in zip(found, members, strict=True):
        assert back.keys() == configuration.keys()
        assert kind not in KINDS[:2] or back == configuration
    for number, configuration in enumerate(members):
        alone = coding.encode(BatchBuilder(space).build([configuration]))
        assert np.array_equal(alone[0], rows[number], equal_nan=True)


@LAW
@given(space=general_spaces(), seed=st.integers(0, 2**32))
def test_what_is_inactive_is_missing_and_nothing_else_is(space: Space, seed: int) -> None:
    columns = drawn_rows(space, seed)
    coding = RowEncoding(space, unit_interval_encoding)
    rows = coding.encode(columns)
    for field in coding.fields:
        key, mine = field.variable.key, rows[:, field.start : field.end]
        active = [key in configuration for configuration in columns.configurations()]
        shared = sum(other.key == key for other in space.variables.values()) > 1
        if not shared:
            assert (~np.isnan(mine[:, 0])).tolist() == active
        assert np.isnan(mine).all(axis=1).tolist() == np.isnan(mine[:, 0]).tolist()
    assert ((rows >= 0) & (rows <= 1) | np.isnan(rows)).all()


def drawn_rows(space: Space, seed: int) -> ConfigurationBatch:
    try:
        structures = Structures(space)
        assume(structures.count)
        return Sampler(structures).batch(6, np.random.default_rng(seed))
    except (UndecidableError, SamplingFailedError):
        return reject()
