"""Reductions: what they make of a domain, or of a space, has the same members, and each of them comes back."""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, contains, members
from spacelang.ir.expr import INACTIVE, InactiveValue, Lookup
from spacelang.ir.space import Space, name_of_step_order
from spacelang.ir.value import identity_key
from spacelang.ir.walk import Assignment
from spacelang.reductions.branch_flattening import BranchCase, flatten_branch
from spacelang.reductions.case_splits import unfold_into_case_splits
from spacelang.reductions.domain_reductions import (
    ClosedRangeReduction,
    GridReduction,
    IdentityReduction,
    LogarithmReduction,
    MemberIndexReduction,
    MemberRenamingReduction,
    possible_reductions_of,
    reduce_domain,
    split_into_simple,
)
from spacelang.reductions.space_questions import Question, Questions
from spacelang.reductions.varying_bounds import PartsWithVaryingBounds
from spacelang.sampling.unit_scale import from_unit_function, to_unit_function
from spacelang.solver.counting import Structures
from spacelang.solver.domain_cells import log_uniform_probability
from spacelang.targets._admm.layout import StepOrderDecision
from spacelang.targets._configspace.encoded_domains import encode_domain
from spacelang.testing.small_spaces import hyperparameter, make_space

from . import brute
from .settings import LAW
from .spaces import domains, finite_spaces, member

pytestmark = pytest.mark.usefixtures("branches")


def numbers(part: SimpleDomain) -> bool:
    """What a tool accepts that has closed ranges and integers alone."""
    if isinstance(part, Real):
        return not part.is_open
    return isinstance(part, Grid) and part.is_consecutive and not part.log


def words(part: SimpleDomain) -> bool:
    """What one accepts that has words, too, but no order of them."""
    is_set = isinstance(part, Categorical) and not isinstance(part, Ordinal)
    return numbers(part) or (is_set and all(isinstance(value, str) for value in part.values))


def linear(part: SimpleDomain) -> bool:
    """What one accepts that has numbers, but no log scales."""
    return numbers(part) and not (isinstance(part, Real) and part.log)


def clicks(part: SimpleDomain) -> bool:
    """What one accepts that has integers alone."""
    return numbers(part) and isinstance(part, Grid)


ACCEPTED: dict[str, Callable[[SimpleDomain], bool]] = {
    "all": lambda _: True,
    "numbers": numbers,
    "words": words,
    "linear": linear,
    "clicks": clicks,
}
EXACT = ("all", "numbers", "words")
"""Those for which nothing is lost."""


@settings(LAW)
@given(domains(finite=False), st.data())
def test_each_reduction_alone_has_the_same_members(domain: Domain, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from(split_into_simple(domain)))
    for found in possible_reductions_of(part):
        if isinstance(found, GridReduction | LogarithmReduction):
            continue  # these are not exact, and have laws of their own
        if part.size is None or part.size > 100:
            values = [part.least, part.representative, part.greatest] if isinstance(part, Grid | Real) else []
        else:
            values = [*members(part)]
            assert [found.encode(value) for value in values] == [*members(found.domain)]
        for value in values:
            assert contains(found.domain, found.encode(value))
            assert repr(found.decode(found.encode(value))) == repr(value)


@settings(LAW)
@given(domains(finite=False), st.integers(2, 40), st.floats(0.0, 1.0))
def test_a_grid_keeps_the_ends_of_a_range_and_its_own_values(domain: Domain, points: int, place: float) -> None:
    for part in split_into_simple(domain):
        if not isinstance(part, Real) or part.least == part.greatest:
            continue
        found = GridReduction(part, points)
        kept = [found.decode(index) for index in members(found.domain)]
        assert kept == [*found.values]
        assert len(kept) == points or part.greatest - part.least < 1e-12 * max(map(abs, kept))
        assert (kept[0], kept[-1]) == (part.least, part.greatest)
        assert kept == sorted(kept)
        assert all(contains(part, value) for value in kept)
        assert [found.encode(value) for value in kept] == [*members(found.domain)]
        scale = to_unit_function(part)
        if part.greatest - part.least > 1e-6 * max(map(abs, kept)):  # even on its own scale, linear or logarithmic
            assert np.allclose([scale(value) for value in kept], np.linspace(0, 1, points), atol=1e-6)
        value = from_unit_function(part)(place)
        assert abs(scale(found.decode(found.encode(value))) - scale(value)) <= min(
            abs(scale(v) - scale(value)) for v in kept
        )
        for wrong in (-1, len(kept), 0.5, "1", None):
            with pytest.raises(LookupError):
                found.decode(wrong)


LOG_RANGES = st.builds(
    lambda lower, ratio, low, high: Real(lower, lower * ratio, low, high, log=True),
    st.floats(1e-300, 1e100),
    st.floats(1.001, 1e200),
    st.booleans(),
    st.booleans(),
)
LOG_GRIDS = st.builds(
    lambda lower, steps, step: Grid(lower, lower + steps * step, log=True, step=step),
    st.integers(1, 1000),
    st.integers(1, 10**6),
    st.integers(1, 5),
)


@settings(LAW)
@given(LOG_RANGES | LOG_GRIDS, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_logarithms_are_even_on_the_log_scale_and_stand_for_members(part: Grid | Real, places: list[float]) -> None:
    found = LogarithmReduction(part)
    whole = found.domain
    assert not whole.log
    assert found.decode(whole.lower) == part.least
    assert found.decode(whole.upper) == part.greatest
    for place in (0.0, *places, 1.0):
        exponent = whole.lower + (whole.upper - whole.lower) * place
        value = found.decode(exponent)
        assert contains(part, value)
        assert identity_key(found.decode(found.encode(value))) == identity_key(value)
        assert contains(whole, found.encode(value))
        number = math.exp(min(exponent, whole.upper))
        apart = part.step if isinstance(part, Grid) else 1e-12 * number
        assert abs(float(value) - number) <= apart  # type: ignore[arg-type]
        member = from_unit_function(part)(place)
        back = found.decode(found.encode(member))
        if isinstance(part, Grid):
            assert identity_key(back) == identity_key(member)
        else:
            assert math.isclose(float(back), float(member), rel_tol=1e-12)  # type: ignore[arg-type]


def test_a_grid_with_a_log_scale_is_drawn_as_from_itself() -> None:
    """Each member has the share of the logarithms that it has of draws of the space."""
    part = Grid(1, 6, log=True)
    found = LogarithmReduction(part)
    exponents = np.linspace(found.domain.lower, found.domain.upper, 200_001)
    drawn = np.array([found.decode(float(each)) for each in exponents])
    for value in members(part):
        assert math.isclose((drawn == value).mean(), log_uniform_probability(value, value, part), abs_tol=1e-4)  # type: ignore[arg-type]


@settings(LAW)
@given(domains(finite=False), st.sampled_from(sorted(ACCEPTED)))
def test_a_reduction_is_applied_only_where_it_is_needed(domain: Domain, label: str) -> None:
    accepts = ACCEPTED[label]
    for part in split_into_simple(domain):
        found = reduce_domain(part, accepts)
        assert accepts(found.domain)
        assert (type(found) is IdentityReduction) == accepts(part)
        assert isinstance(found, GridReduction) == (label == "clicks" and isinstance(part, Real))
        assert not isinstance(found, LogarithmReduction) or label == "linear"


@settings(LAW)
@given(domains(finite=False), st.sampled_from(EXACT), st.data())
def test_a_value_of_a_union_comes_back_from_its_part_and_its_place_there(
    domain: Domain, label: str, data: st.DataObject
) -> None:
    value = data.draw(member(domain))
    structures = Structures(make_space("one", hyperparameter("x", domain, value)))
    (draw,) = Questions(
        structures, PartsWithVaryingBounds(unfold_into_case_splits(structures)), ACCEPTED[label]
    ).draws.values()
    answers = draw.encode(value)
    assert repr(draw.ask_value(lambda name, _: answers[name])) == repr(value)
    assert answers.keys() <= draw.questions.keys()


@settings(LAW)
@given(domains(finite=False), st.data())
def test_a_value_comes_back_from_the_hyperparameters_of_configspace(domain: Domain, data: st.DataObject) -> None:
    found = encode_domain(domain, "x", lambda wish: wish)
    value = data.draw(member(domain))
    answers = found.encode(value)
    assert answers.keys() <= {parameter.name for parameter in found.parameters}
    assert identity_key(found.decode(answers)) == identity_key(value)


@settings(LAW)
@given(finite_spaces(), st.sampled_from((*EXACT, "clicks")))
def test_the_chain_has_the_members_of_the_space(space: Space, label: str) -> None:
    structures = Structures(space)
    if not structures.count:
        return
    chain = Questions(structures, PartsWithVaryingBounds(unfold_into_case_splits(structures)), ACCEPTED[label])
    assert all(ACCEPTED[label](slot.domain) for _, slot in chain.drawn_pieces())
    found = [*everything(chain)]
    assert len(found) == len(set(found))
    assert {brute.text(dict(each)) for each in found} == brute.configurations(space)
    for each in found:
        answers = chain.encode(each)
        assert chain.decode(answers) == each
        assert chain.are_answered(answers)
        for name in answers:
            assert not chain.are_answered({other: answers[other] for other in answers if other != name})
        assert not chain.are_answered({**answers, "another": 0})


def everything(chain: Questions) -> Iterator[Configuration]:
    """What all ways to answer the questions say, each taken once."""
    given: list[int] = []
    while True:
        said, asked = along(chain, given)
        yield said
        while asked and asked[-1][0] + 1 == asked[-1][1]:
            asked.pop()
        if not asked:
            return
        given = [*(place for place, _ in asked[:-1]), asked[-1][0] + 1]


def along(chain: Questions, given: list[int]) -> tuple[Configuration, list[tuple[int, int]]]:
    """What is said by the options at some places, then by the first ones; and what was taken, of how many options."""
    asked: list[tuple[int, int]] = []

    def answer(name: str, _: Question) -> Any:
        options = [*members(chain.domains[name])]
        place = given[len(asked)] if len(asked) < len(given) else 0
        asked.append((place, len(options)))
        return options[place]

    return Configuration(chain.ask_values(answer)), asked


@settings(LAW)
@given(finite_spaces())
def test_a_configuration_takes_one_of_the_alternatives_that_conditions_are_made(space: Space) -> None:
    found = [Configuration.from_json(text) for text in sorted(brute.configurations(space))[:100]]
    taken = [(stage, branch) for stage in space.stages for branch in stage.branch_indices]
    ways = {(stage.key, branch): flatten_branch(space, stage, branch, frozenset()).cases for stage, branch in taken}
    for each in found:
        lookup = Assignment.from_configuration(space, each)
        for stage in space.stages:
            assert sum(agrees(way, lookup) for way in ways[stage.key, str(each[stage.key])]) == 1


def agrees(way: BranchCase, lookup: Lookup) -> bool:
    """Whether a configuration takes an alternative; if so, what that says is never there is not."""
    for address, branch in way.branches.items():
        if lookup(address) != (INACTIVE if branch is None else branch):
            return False
    for address, domain in way.domains.items():
        worth = lookup(address)
        if isinstance(worth, InactiveValue) or domain is None:
            if not (isinstance(worth, InactiveValue) and domain is None):
                return False
        elif not contains(domain, worth):
            return False
    assert all(lookup(address) is INACTIVE for address in way.absent)
    return True


@settings(LAW)
@given(st.integers(1, 4), st.data())
def test_an_order_comes_back_from_its_variables(size: int, data: st.DataObject) -> None:
    labels = tuple("abcd"[:size])
    every = list(map(name_of_step_order, permutations(labels)))
    branches = tuple(data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True)))
    found = StepOrderDecision(labels, branches)
    assert found.nearest_order_indices(found.matrices).tolist() == [*range(len(branches))]
    assert (found.matrices.sum(axis=1) == 1).all()
    assert (found.matrices.sum(axis=2) == 1).all()
    assert {*branches, *map(name_of_step_order, found.missing_orders)} == set(every)
    assert len(found.missing_orders) == len(every) - len(branches)


@pytest.mark.parametrize(
    ("part", "accepts", "expected"),
    [
        (Grid(0.0, 0.3, step=0.1), numbers, MemberIndexReduction(Grid(0.0, 0.3, step=0.1))),
        (Real(0.0, 1.0, lower_open=True), numbers, ClosedRangeReduction(Real(0.0, 1.0, lower_open=True))),
        (Categorical((None, 1)), numbers, MemberIndexReduction(Categorical((None, 1)))),
        (Categorical((None, 1)), words, MemberRenamingReduction(Categorical((None, 1)), Categorical(("none", "1")))),
        (Ordinal(("low", "high")), words, MemberIndexReduction(Ordinal(("low", "high")))),
        (Real(0.1, 1.0, log=True), linear, LogarithmReduction(Real(0.1, 1.0, log=True))),
        (Grid(1, 9, log=True), linear, LogarithmReduction(Grid(1, 9, log=True))),
        (Grid(1, 9, log=True), numbers, MemberIndexReduction(Grid(1, 9, log=True))),
        (Real(0.1, 1.0, log=True), clicks, GridReduction(Real(0.1, 1.0, log=True))),
    ],
)
def test_the_first_that_is_accepted_is_taken(
    part: SimpleDomain, accepts: Callable[[SimpleDomain], bool], expected: Any
) -> None:
    assert reduce_domain(part, accepts) == expected


def test_what_nothing_makes_acceptable_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no accepted domain can replace .*`int\[0, 100\]` \(GridReduction\)"):
        reduce_domain(Real(0.0, 1.0), lambda part: isinstance(part, Categorical))


def test_what_stands_for_no_member_is_an_error() -> None:
    indices = MemberIndexReduction(Grid(1, 9, step=2))
    for wrong in (-1, 5, 0.5, "1", True):
        with pytest.raises(LookupError):
            indices.decode(wrong)
    named: Mapping[str, Any] = {"none": None}
    renamed = MemberRenamingReduction(Categorical((None,)), Categorical(("none",)))
    assert {name: renamed.decode(name) for name in named} == named
    with pytest.raises(LookupError):
        renamed.decode("null")
