"""Reductions: what they make of a domain, or of a space, has the same members, and each of them comes back."""

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, contains, members
from spacelang.ir.expr import INACTIVE, InactiveValue, Lookup
from spacelang.ir.space import Space, order_name
from spacelang.ir.value import identity_key
from spacelang.ir.walk import Assignment
from spacelang.reductions.domains import (
    REDUCTIONS,
    ClosedRangeReduction,
    IdentityReduction,
    MemberIndexReduction,
    MemberRenamingReduction,
    reduce_domain,
    split_into_simple,
)
from spacelang.reductions.flattening import BranchCase, flatten_branch
from spacelang.reductions.questions import Question, Questions
from spacelang.reductions.unfolding import unfold
from spacelang.solver.counting import Structures
from spacelang.targets._admm.layout import PermutationSet
from spacelang.targets._configspace.pieces import encode_domain
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


ACCEPTED: dict[str, Callable[[SimpleDomain], bool]] = {"all": lambda _: True, "numbers": numbers, "words": words}


@settings(LAW)
@given(domains(finite=False), st.data())
def test_each_reduction_alone_has_the_same_members(domain: Domain, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from(split_into_simple(domain)))
    for link in REDUCTIONS:
        found = link(part)
        if found is None:
            continue
        if part.size is None or part.size > 100:
            values = [part.least, part.representative, part.greatest] if isinstance(part, Grid | Real) else []
        else:
            values = [*members(part)]
            assert [found.encode(value) for value in values] == [*members(found.domain)]
        for value in values:
            assert contains(found.domain, found.encode(value))
            assert repr(found.decode(found.encode(value))) == repr(value)


@settings(LAW)
@given(domains(finite=False), st.sampled_from(sorted(ACCEPTED)))
def test_a_reduction_is_applied_only_where_it_is_needed(domain: Domain, label: str) -> None:
    accepts = ACCEPTED[label]
    for part in split_into_simple(domain):
        found = reduce_domain(part, accepts)
        assert accepts(found.domain)
        assert (type(found) is IdentityReduction) == accepts(part)


@settings(LAW)
@given(domains(finite=False), st.sampled_from(sorted(ACCEPTED)), st.data())
def test_a_value_of_a_union_comes_back_from_its_part_and_its_place_there(
    domain: Domain, label: str, data: st.DataObject
) -> None:
    value = data.draw(member(domain))
    structures = Structures(make_space("one", hyperparameter("x", domain, value)))
    (draw,) = Questions(structures, unfold(structures), ACCEPTED[label]).draws.values()
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
@given(finite_spaces(), st.sampled_from(sorted(ACCEPTED)))
def test_the_chain_has_the_members_of_the_space(space: Space, label: str) -> None:
    structures = Structures(space)
    if not structures.count:
        return
    chain = Questions(structures, unfold(structures), ACCEPTED[label])
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
    every = list(map(order_name, permutations(labels)))
    branches = tuple(data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True)))
    found = PermutationSet(labels, branches)
    assert found.nearest_order_indices(found.matrices).tolist() == [*range(len(branches))]
    assert (found.matrices.sum(axis=1) == 1).all()
    assert (found.matrices.sum(axis=2) == 1).all()
    assert {*branches, *map(order_name, found.missing_orders)} == set(every)
    assert len(found.missing_orders) == len(every) - len(branches)


@pytest.mark.parametrize(
    ("part", "accepts", "expected"),
    [
        (Grid(0.0, 0.3, step=0.1), numbers, MemberIndexReduction(Grid(0.0, 0.3, step=0.1))),
        (Real(0.0, 1.0, lower_open=True), numbers, ClosedRangeReduction(Real(0.0, 1.0, lower_open=True))),
        (Categorical((None, 1)), numbers, MemberIndexReduction(Categorical((None, 1)))),
        (Categorical((None, 1)), words, MemberRenamingReduction(Categorical((None, 1)), Categorical(("none", "1")))),
        (Ordinal(("low", "high")), words, MemberIndexReduction(Ordinal(("low", "high")))),
    ],
)
def test_the_first_that_is_accepted_is_taken(
    part: SimpleDomain, accepts: Callable[[SimpleDomain], bool], expected: Any
) -> None:
    assert reduce_domain(part, accepts) == expected


def test_what_nothing_makes_acceptable_is_an_error() -> None:
    with pytest.raises(ValueError, match="no accepted domain can replace"):
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
