"""Numbers that floats do not tell apart: every answer about them is as exact as about small ones."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, Union, contains, parts
from spacelang.ir.expr import Arithmetic, Compare, Constant, Expr, In, Not, Or, Reference, is_true, nodes
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Constraint, Hyperparameter, Operator, Space
from spacelang.ir.walk import structure_of
from spacelang.reductions.case_splits import unfold_into_case_splits
from spacelang.sampling.batch_builder import BatchBuilder
from spacelang.sampling.neighbours import Neighbourhood
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.sampling.unit_scale import from_unit_function, to_unit_function
from spacelang.solver.constraint_network import TooManyConnectedVariablesError, UndecidableError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter, member_nearest_to_default
from spacelang.solver.domain_cells import cut_points_of, join_cells, probability_of_cell, split_into_cells
from spacelang.solver.numbering import ConfigurationNumbers
from spacelang.solver.satisfiability import ExpressionInContext, possible_truths
from spacelang.solver.statistics import statistics

from . import brute
from .crafted import one, require, space_of, stage, x
from .settings import LAW
from .test_unfolding import said

ANCHORS = (2**53, -(2**53), 2**63, -(2**63), 2**64, 2**100, 10**30, 2**1000)
"""Where floats stop to tell integers apart, where machine words end, and beyond; the language takes up to 8e307."""
LARGEST = int(8e307)
TAME = LARGEST // 4
"""Three times these are still within the floats, beyond which arithmetic is not defined."""
RELATIONS = ("==", "!=", "<", "<=", ">", ">=")


# --- domains, expressions and spaces ------------------------------------------------------------------------------


@st.composite
def few(draw: st.DrawFn, anchor: int) -> Domain:
    """At most eight numbers around a large one, some with a word beside them."""
    start, step = anchor + draw(st.integers(-5, 3)), draw(st.sampled_from((1, 1, 1, 2, 3)))
    count = draw(st.integers(1, 8))
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return Categorical(tuple(draw(st.permutations(range(start, start + count)))))
    if kind == 1:
        spacing = math.ulp(float(anchor)) * 2.0
        is_exact = abs(anchor) < 2**60  # the decimals that larger ones print as are not themselves
        return (
            Grid(float(anchor), float(anchor) + 3 * spacing, step=spacing) if is_exact else Real(*[float(anchor)] * 2)
        )
    numbers = Grid(start, start + (count - 1) * step, log=start > 0 and draw(st.booleans()), step=step)
    return Union((Categorical(("many", None)), numbers)) if kind == 2 else numbers


@st.composite
def many(draw: st.DrawFn, anchor: int) -> Domain:
    """More numbers than a machine word counts, some of them with a word or with floats beside them, or floats alone."""
    lower = draw(st.sampled_from((1, anchor - 2, -abs(anchor), -TAME, 0)))
    upper = draw(st.sampled_from((lower + 2**63 - 1, lower + 2**63, lower + 2**64, abs(anchor) + lower + 7, TAME)))
    upper = min(max(upper, lower + 9), TAME)
    step = draw(st.sampled_from((1, 1, 3, 2**20 + 1)))
    numbers = Grid(lower, lower + (upper - lower) // step * step, log=lower > 0 and draw(st.booleans()), step=step)
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return Union((Categorical(("many", None)), numbers))
    if kind == 1:
        return Union((Real(-0.75, -0.25), numbers)) if lower >= 0 else numbers
    if kind == 2 and upper - lower >= 2**63 - 1 and float(upper) > float(lower):
        interval = Real(float(lower), float(upper), draw(st.booleans()), draw(st.booleans()), log=lower > 0)
        return interval if contains(interval, interval.representative) else numbers
    return numbers


def near(anchor: int) -> st.SearchStrategy[int | float]:
    whole = st.integers(-6, 8).map(lambda distance: anchor + distance)
    return st.one_of(whole, whole, st.just(float(anchor)), whole.map(float), st.sampled_from((0, 1, 2**70, 1e300)))


@st.composite
def atoms(draw: st.DrawFn, anchor: int, count: int, *, is_rounding: bool) -> Expr:
    """A comparison of one of some hyperparameters with constants or with another."""
    left, relation = x(draw(st.integers(0, count - 1))), draw(st.sampled_from(RELATIONS))
    constant = Constant(draw(near(anchor)))
    kind = draw(st.integers(0, 7 if is_rounding else 5))
    match kind:
        case 0 | 1:
            sides: tuple[Expr, Expr] = (left, constant)
        case 2:
            return In(left, (draw(near(anchor)), draw(near(anchor)), "many"))
        case 3:
            sides = (left, x(draw(st.integers(0, count - 1))))
        case 4:
            more = Arithmetic(draw(st.sampled_from("+-")), left, Constant(draw(st.integers(-3, 3))))
            sides = (more, draw(st.sampled_from((constant, x(draw(st.integers(0, count - 1)))))))
        case 5:
            sides = (Arithmetic("*", left, Constant(3)), Constant(3 * anchor + draw(st.integers(-9, 9))))
        case 6:
            other = Constant(draw(st.sampled_from((0.5, 3, 2.0, 1e17))))
            sides = (Arithmetic(draw(st.sampled_from("+-")), left, other), constant)
        case _:
            factor = draw(st.sampled_from((2, 3, 0.5)))
            sides = (Arithmetic("/", left, Constant(factor)), Constant(draw(near(anchor)) / factor))
    return Compare(relation, *sides) if draw(st.booleans()) else Compare(relation, *reversed(sides))


@st.composite
def spaces(draw: st.DrawFn, *, large: bool) -> Space:
    """One operator with up to three hyperparameters, of which the last may have a condition, beside an empty one."""
    anchor = draw(st.sampled_from(ANCHORS))
    domains = [draw(many(anchor) if large else few(anchor)) for _ in range(draw(st.integers(1, 2 if large else 3)))]

    def expression(count: int) -> Expr:
        atom = draw(atoms(anchor, count, is_rounding=not large or count == 1))
        match draw(st.integers(0, 5)):
            case 0:
                return Not(atom)
            case 1:
                return Or((atom, draw(atoms(anchor, count, is_rounding=False))))
            case _:
                return atom

    nodes = []
    for place, domain in enumerate(domains):
        condition = expression(place) if place and draw(st.booleans()) else None
        default = draw(member_of(domain))
        nodes.append(Hyperparameter(f"x{place}", f"s.A.x{place}", f"s.x{place}", domain, default, condition))
    rules = [Constraint(expression(len(nodes)), draw(st.booleans())) for _ in range(draw(st.integers(0, 2)))]
    return space_of(stage("s", Operator("A", "made", tuple(nodes)), Operator("B", "made")), constraints=rules)


def member_of(domain: Domain) -> st.SearchStrategy[Any]:
    """A member of a domain, of large ones often an end."""
    return st.one_of(*map(_member_of, parts(domain)))


def _member_of(part: SimpleDomain) -> st.SearchStrategy[Any]:
    if isinstance(part, Real) and part.size is None:
        near_ends = (part.lower, part.upper, math.nextafter(part.lower, part.upper), part.representative)
        return st.sampled_from([number for number in near_ends if contains(part, number)])
    assert part.size is not None
    return st.one_of(st.integers(0, part.size - 1), st.sampled_from((0, part.size - 1, part.size // 2))).map(
        part.value_at
    )


# --- few members, which brute force lists -------------------------------------------------------------------------


@settings(LAW)
@given(spaces(large=False), st.integers(0, 1000))
def test_few_members_far_out_are_those_of_brute_force(space: Space, seed: int) -> None:
    structures, members = Structures(space), brute.configurations(space)
    assert structures.configuration_count == len(members)
    assert statistics(structures).configurations == len(members)
    assert structures.count == len(brute.structures(space))
    if not structures.count:
        return
    numbers = ConfigurationNumbers(structures)
    found = [numbers.configuration_at(number) for number in range(numbers.count)]
    assert {brute.text(dict(each)) for each in found} == members
    assert [numbers.number_of(each) for each in found] == list(range(numbers.count))
    assert {brute.text(document) for document in said(unfold_into_case_splits(structures))} == members
    columns = BatchBuilder(space).build(found)
    assert columns.configurations() == found
    assert {brute.text(dict(each)) for each in drawn(structures, seed, 20)} <= members
    for other in beside(structures, seed):
        assert brute.text(dict(other)) in members


def drawn(structures: Structures, seed: int, count: int) -> list[Configuration]:
    return Sampler(structures).batch(count, np.random.default_rng(seed)).configurations()


def beside(structures: Structures, seed: int) -> Iterator[Configuration]:
    """Default configurations, and neighbours of some members."""
    completer, neighbourhood, rng = DefaultCompleter(structures), Neighbourhood(structures), np.random.default_rng(seed)
    yield member_nearest_to_default(structures)[1]
    for centre in drawn(structures, seed, 3):
        yield completer.complete(structure_of(structures.space, centre))
        found = neighbourhood.neighbours_of(centre, rng)
        assert centre not in found
        yield from found


@settings(LAW)
@given(st.data())
def test_what_a_statement_can_be_is_what_it_is_somewhere(data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(ANCHORS))
    space = one(*(data.draw(few(anchor)) for _ in range(2)))
    expression = data.draw(atoms(anchor, 2, is_rounding=True))
    values = [brute.members(node.domain) for node in space.hyperparameters]
    seen = {
        brute.truth(expression, {x(0).address: first, x(1).address: second}.__getitem__)
        for first in values[0]
        for second in values[1]
    }
    assert possible_truths(space, ExpressionInContext(expression)) == (True in seen, False in seen)


# --- more than can be listed --------------------------------------------------------------------------------------


@settings(LAW)
@given(spaces(large=True), st.integers(0, 1000))
def test_draws_from_giant_ranges_are_members(space: Space, seed: int) -> None:
    try:
        structures = Structures(space)
        found = drawn(structures, seed, 10) if structures.count else []
    except (UndecidableError, SamplingFailedError):
        return
    for member in found:
        assert first_exclusion(space, member) is None
        assert {key: type(value) for key, value in member.items()} == {
            node.key: type(node.domain.find(member[node.key])) for node in space.hyperparameters if node.key in member
        } | {"s": str}
    assert BatchBuilder(space).build(found).configurations() == found


@settings(LAW)
@given(spaces(large=True), st.integers(0, 1000))
def test_defaults_and_neighbours_in_giant_ranges_are_members(space: Space, seed: int) -> None:
    try:
        structures = Structures(space)
        found = [*beside(structures, seed)] if structures.count else []
    except (UndecidableError, SamplingFailedError):
        return
    for member in found:
        assert first_exclusion(space, member) is None


@settings(LAW)
@given(spaces(large=True), st.data())
def test_giant_numbers_of_configurations_lead_there_and_back(space: Space, data: st.DataObject) -> None:
    try:
        structures = Structures(space)
        numbers = ConfigurationNumbers(structures)
        unfold_into_case_splits(structures)
    except (UndecidableError, TooManyConnectedVariablesError, ValueError):
        return
    assert numbers.count == structures.configuration_count
    if numbers.count:
        number = data.draw(st.one_of(st.integers(0, numbers.count - 1), st.just(numbers.count - 1)))
        member = numbers.configuration_at(number)
        assert first_exclusion(space, member) is None
        assert numbers.number_of(member) == number


@settings(LAW)
@given(st.data())
def test_a_constant_leaves_exactly_the_members_on_its_side(data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(ANCHORS))
    lower = data.draw(st.sampled_from((0, anchor - 3, -abs(anchor), -LARGEST)))
    upper = min(lower + data.draw(st.sampled_from((9, 2**63 - 1, 2**63, 2**64, 10**40, 2 * LARGEST))), LARGEST)
    limit, relation = data.draw(near(anchor)), data.draw(st.sampled_from(RELATIONS))
    written = Fraction(repr(limit))
    space = one(Grid(lower, upper), constraints=[require(Compare(relation, x(0), Constant(limit)))])
    floor, ceiling = math.floor(written), math.ceil(written)
    below, up_to = (min(max(each - lower, 0), upper - lower + 1) for each in (ceiling, floor + 1))
    total = upper - lower + 1
    expected = {"<": below, "<=": up_to, ">": total - up_to, ">=": total - below}
    expected |= {"==": up_to - below, "!=": total - up_to + below}
    assert Structures(space).configuration_count == expected[relation]


@settings(LAW)
@given(st.data())
def test_cells_agree_on_the_atom_that_cut_them(data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(ANCHORS))
    domain = data.draw(st.one_of(many(anchor), few(anchor)))
    atom = data.draw(atoms(anchor, 1, is_rounding=True))
    cuts = cut_points_of(atom)
    is_twice = sum(isinstance(node, Reference) for node in nodes(atom)) > 1
    if cuts is None or (is_twice and any(isinstance(part, Real) for part in parts(domain))):
        return  # `x == x + 1` holds of floats beyond 2**53, which nothing but looking at them tells

    def truth(value: Any) -> bool:
        return is_true(atom, lambda _: value)

    found = split_into_cells(domain, cuts, lambda value: (truth(value),))
    for cell in found:
        members = data.draw(st.lists(member_of(cell), min_size=1, max_size=4))
        assert {truth(value) for value in members} == {truth(cell.representative)}
    for value in data.draw(st.lists(member_of(domain), max_size=4)):
        assert sum(contains(cell, value) for cell in found) == 1
    assert join_cells(domain, found) == domain
    if domain.size is not None:
        assert sum(cell.size or 0 for cell in found) == domain.size
    assert math.isclose(math.fsum(probability_of_cell(cell, domain) for cell in found), 1)


# --- the unit interval --------------------------------------------------------------------------------------------


@settings(LAW)
@given(st.sampled_from(ANCHORS), st.data())
def test_places_on_the_unit_interval_are_of_members(anchor: int, data: st.DataObject) -> None:
    for part in parts(data.draw(st.one_of(many(anchor), few(anchor)))):
        at, place_of = from_unit_function(part), to_unit_function(part)
        for place in (*data.draw(st.lists(st.floats(0, 1), max_size=3)), 0.0, 1.0):
            found = at(place)
            assert contains(part, found)
            assert type(found) is type(part.find(found))
            assert 0 <= place_of(found) <= 1
        value = data.draw(member_of(part))
        assert 0 <= place_of(value) <= 1
        if part.size is not None and part.size <= 8:
            assert at(place_of(value)) == value


@pytest.mark.parametrize("lower", [2**40, 2**52, 2**60, 2**100])
def test_near_giants_under_log_are_drawn_alike(lower: int) -> None:
    """Eight neighbours are so near to each other that their logarithms are evenly spaced."""
    part = Grid(lower, lower + 7, log=True)
    assert [probability_of_cell(Categorical((part.value_at(place),)), part) for place in range(8)] == pytest.approx(
        [1 / 8] * 8
    )
    found = drawn(Structures(one(part)), 5, 4000)
    counts = [sum(each["s.x0"] == part.value_at(place) for each in found) for place in range(8)]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_giants_under_log_follow_it_down_to_the_last_digit() -> None:
    part = Grid(2**53, 2**1000, log=True)
    values: list[Any] = [each["s.x0"] for each in drawn(Structures(one(part)), 5, 4000)]
    exponents = [math.log2(value) for value in values]
    assert stats.kstest(exponents, stats.uniform(53, 947).cdf).pvalue > 1e-3
    assert stats.chisquare(np.bincount([value % 3 for value in values])).pvalue > 1e-3
    assert 1800 < sum(value % 2 for value in values) < 2200


# --- a stepped range of floats ------------------------------------------------------------------------------------


@settings(LAW)
@given(st.sampled_from((2**45, 2**49, 10**14)), st.sampled_from((0.1, 0.5, 0.7)), st.data())
def test_the_runs_of_a_long_grid_of_floats_are_its_members(last: int, step: float, data: st.DataObject) -> None:
    upper = float(Fraction(repr(step)) * last)
    part = Grid(0.0, upper, step=step)
    cuts = [part.value_at(data.draw(st.integers(0, last))) for _ in range(2)]
    found = split_into_cells(part, cuts, lambda value: (value,))
    assert sum(cell.size or 0 for cell in found) == part.size
    assert join_cells(part, found) == part
