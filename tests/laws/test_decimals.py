"""Numbers are the decimals that are written: every answer about them is that of rational arithmetic."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Real, Union
from spacelang.ir.expr import Arithmetic, Call, Compare, Constant, Expr, is_true
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.sampling.neighbours import Neighbourhood
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.counting import Structures
from spacelang.solver.domain_cells import cut_points_of, split_into_cells
from spacelang.solver.numbering import ConfigurationNumbers
from spacelang.solver.satisfiability import ExpressionInContext, possible_truths

from . import brute
from .crafted import forbid, one, require, x
from .settings import LAW

RELATIONS = ("==", "!=", "<", "<=", ">", ">=")
UNITS = (Fraction(1, 10), Fraction(1, 100), Fraction(1, 20), Fraction(3, 10), Fraction(7, 1000), Fraction(10**6, 7**0))
"""Of what grids are multiples: decimals that no float is, most of them."""


def number(value: Fraction) -> int | float:
    """The number as a space writes it."""
    return int(value) if value.denominator == 1 else float(value)


@st.composite
def grids(draw: st.DrawFn, most: int) -> Domain:
    """A few numbers that are multiples of a decimal, as a range with steps, as a set, or with a word beside them."""
    unit, first, count = draw(st.sampled_from(UNITS)), draw(st.integers(-4, 9)), draw(st.integers(1, most))
    if draw(st.integers(0, 4)) == 0:
        return Grid(first, first + count - 1)
    lower, upper = (float(unit * place) for place in (first, first + count - 1))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return Categorical(tuple(number(unit * place) for place in range(first, first + count)))
    grid = Grid(lower, upper, step=float(unit)) if count > 1 else Real(lower, lower)
    return Union((Categorical(("many", None)), grid)) if kind == 1 else grid


@st.composite
def sides(draw: st.DrawFn, count: int, *, is_linear: bool, depth: int = 2) -> Expr:
    """Arithmetic over some of the hyperparameters and decimals."""
    kind = draw(st.integers(0, 6)) if depth else draw(st.integers(0, 2))
    if kind < 2:
        return x(draw(st.integers(0, count - 1)))
    if kind == 2:
        return Constant(number(draw(st.sampled_from(UNITS)) * draw(st.integers(-3, 12))))
    left = draw(sides(count, is_linear=is_linear, depth=depth - 1))
    if kind == 6 and not is_linear:
        name = draw(st.sampled_from(("min", "max", "ceil", "floor", "sqrt", "log2")))
        more = (draw(sides(count, is_linear=False, depth=0)),) if name in ("min", "max") else ()
        return Call(name, (left, *more))
    sign = draw(st.sampled_from("+-" if is_linear else "+-*/"))
    if kind == 5 and is_linear:
        return Arithmetic(draw(st.sampled_from("*/")), left, Constant(draw(st.sampled_from((3, 0.1, 0.7, -2)))))
    return Arithmetic(sign, left, draw(sides(count, is_linear=is_linear, depth=depth - 1)))


@st.composite
def atoms(draw: st.DrawFn, count: int, *, is_linear: bool = False) -> Compare:
    left, right = (draw(sides(count, is_linear=is_linear)) for _ in range(2))
    return Compare(draw(st.sampled_from(RELATIONS)), left, right)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Some grids with constraints over them."""
    domains = [draw(grids(5)) for _ in range(draw(st.integers(1, 3)))]
    expressions = draw(st.lists(atoms(len(domains)), min_size=1, max_size=2))
    return one(*domains, constraints=[draw(st.sampled_from((forbid, require)))(each) for each in expressions])


@settings(LAW)
@given(spaces(), st.integers(0, 1000))
def test_members_are_those_of_rational_arithmetic(space: Space, seed: int) -> None:
    structures, members = Structures(space), brute.configurations(space)
    assert structures.configuration_count == len(members)
    if not members:
        return
    numbers = ConfigurationNumbers(structures)
    found = [numbers.configuration_at(place) for place in range(numbers.count)]
    assert {brute.text(dict(each)) for each in found} == members
    rng, neighbourhood = np.random.default_rng(seed), Neighbourhood(structures)
    for each in Sampler(structures).batch(8, rng).configurations():
        assert brute.text(dict(each)) in members
        assert all(brute.text(dict(other)) in members for other in neighbourhood.neighbours_of(each, rng))


@settings(LAW)
@given(spaces(), st.data())
def test_a_configuration_is_judged_by_its_decimals(space: Space, data: st.DataObject) -> None:
    values = {each.key: data.draw(st.sampled_from(brute.members(each.domain))) for each in space.hyperparameters}
    document = {"s": "A", **values}
    assert (first_exclusion(space, Configuration(document)) is None) == brute.accepts(space, document)


@settings(LAW)
@given(st.data())
def test_what_can_be_true_of_decimals_is_true_of_some(data: st.DataObject) -> None:
    space = one(*(data.draw(grids(4)) for _ in range(2)))
    expression = data.draw(atoms(2))
    first, second = (brute.members(node.domain) for node in space.hyperparameters)
    seen = {
        brute.truth(expression, dict(zip((x(0).address, x(1).address), (a, b), strict=True)).__getitem__)
        for a in first
        for b in second
    }
    assert possible_truths(space, ExpressionInContext(expression)) == (True in seen, False in seen)


# --- more members than are looked at one by one -------------------------------------------------------------------


@settings(LAW)
@given(st.sampled_from((0.1, 0.05, 0.3, 0.007)), st.integers(0, 300), st.integers(3_000, 20_000), st.data())
def test_a_long_grid_is_cut_where_rational_arithmetic_says(step: float, start: int, count: int, data: Any) -> None:
    unit = Fraction(repr(step))
    grid = Grid(float(unit * start), float(unit * (start + count)), step=step)
    limit = number(unit * (start + data.draw(st.integers(0, count))) * 3)
    atom = Compare(data.draw(st.sampled_from(RELATIONS)), Arithmetic("*", x(0), Constant(3)), Constant(limit))
    cuts = cut_points_of(atom)
    assert cuts is not None
    found = split_into_cells(grid, cuts, lambda value: (is_true(atom, lambda _: value),))
    assert len(found) <= 3
    for cell in found:
        ends = {is_true(atom, lambda _, value=value: value) for value in (cell.value_at(0), cell.representative)}
        assert len(ends) == 1
    assert sum(cell.size or 0 for cell in found) == grid.size
    at = Fraction(repr(float(limit))) / 3
    true = {
        "==": 1, "!=": count, "<": (at / unit) - start, "<=": (at / unit) - start + 1,
        ">": count - (at / unit) + start, ">=": count - (at / unit) + start + 1,
    }  # fmt: skip
    assert Structures(one(grid, constraints=[require(atom)])).configuration_count == true[atom.relation]


@settings(LAW)
@given(atoms(2, is_linear=True), st.sampled_from((0.1, 0.05, 0.3)), st.integers(0, 1000))
def test_draws_of_long_grids_satisfy_their_comparisons(atom: Compare, step: float, seed: int) -> None:
    upper = float(Fraction(repr(step)) * 400)
    space = one(*[Grid(0.0, upper, step=step)] * 2, constraints=[require(atom)])
    structures = Structures(space)
    try:
        found = Sampler(structures).batch(5, np.random.default_rng(seed)).configurations() if structures.count else []
    except SamplingFailedError:
        return
    for each in found:
        assert brute.accepts(space, dict(each))


# --- by hand ------------------------------------------------------------------------------------------------------


def mixes(body: str) -> sl.Space:
    return sl.parse(f"space mix\nabstract Mix\nstage mix = Mix {{ {body} }}\n")


@pytest.mark.parametrize(("names", "count"), [("ab", 21), ("abc", 231)])
def test_shares_in_steps_of_a_twentieth(names: str, count: int) -> None:
    body = ", ".join(f"{name} : float[0, 1] step 0.05 = {int(name == 'a')}" for name in names)
    space = mixes(f"{body}, require {' + '.join(names)} == 1")
    assert space.configurations == count
    assert all(sum(Fraction(repr(each[f"mix.{name}"])) for name in names) == 1 for each in space.sample(20))


def test_a_tenth_and_two_are_three() -> None:
    space = mixes("a : {0.1, 0.2, 0.3}, b : {0.1, 0.2, 0.3} = 0.2, require a + b == 0.3")
    assert space.configurations == 2
    assert {"mix": "Mix", "mix.a": 0.2, "mix.b": 0.1} in space
    assert {"mix": "Mix", "mix.a": 0.1, "mix.b": 0.1} not in space
