"""The arms of random spaces are disjoint and cover, each is a space of its own, and all of them can be printed."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.analysis import check
from spacelang.diagnostics.diagnostic import Severity
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Grid, Real, SimpleDomain, Union, contains, parts
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.plugins import OptionError
from spacelang.sampling.sampler import Sampler
from spacelang.serialization.space_text import space_to_text
from spacelang.solver.constraint_network import SamplingFailedError, TooManyConnectedVariablesError, UndecidableError
from spacelang.solver.counting import Structures
from spacelang.targets._boasf import split_into_pieces
from spacelang.targets._lowering import RefusedError
from spacelang.targets.blds import Blds
from spacelang.targets.boasf import ArmSpaces, Boasf
from spacelang.text import Source

from . import brute
from .restrictions import members_of
from .settings import EXAMPLES, LAW
from .spaces import domains, finite_spaces, general_spaces, member
from .test_whole import checked
from .whole import Drawn, drawings

WHOLE = settings(LAW, max_examples=EXAMPLES // 2)
FEW = 4
"""So many arms of one space are read again."""

options = st.builds(
    Boasf, arms=st.sampled_from(("models", "subspaces", "subspaces")), k=st.integers(1, 3), cap=st.just(24)
)

few = st.builds(Boasf, arms=st.sampled_from(("models", "subspaces")), k=st.just(2), cap=st.just(8))
"""Where arms take long to compile."""


def arms_of(space: Space, target: Boasf) -> ArmSpaces | None:
    structures = Structures(space)
    if not structures.count:
        return None
    try:
        return target.lower(structures).form
    except (OptionError, RefusedError):
        return None


@settings(LAW)
@given(finite_spaces(), options, st.integers(0, 99))
def test_arms_are_disjoint_and_cover_the_space(space: Space, target: Boasf, seed: int) -> None:
    try:
        arms = arms_of(space, target)
        if arms is None:
            return
        found = Counter(member for arm in arms.arms for member in brute.configurations(arm.space))
    except (UndecidableError, TooManyConnectedVariablesError, SamplingFailedError):
        return
    members = brute.configurations(space)
    assert found == Counter(members), (space, target)
    # The arm that a member is said to lie in has it, and no arm is empty.
    indices = {arms.index_of(Configuration.from_json(member)) for member in members}
    assert indices == set(range(len(arms.arms)))
    for text in sorted(members)[:20]:
        assert arms.accepts(arms.encode(Configuration.from_json(text)))
    drawn = arms.sample(10, np.random.default_rng(seed))
    assert all(arms.index_of(configuration) == index for index, configuration in drawn)


@settings(WHOLE)
@given(general_spaces(), few, st.integers(0, 99))
def test_every_sample_lies_in_exactly_one_arm(space: Space, target: Boasf, seed: int) -> None:
    """The same of spaces with ranges, whose members nobody can list."""
    try:
        arms = arms_of(space, target)
        if arms is None:
            return
        rng = np.random.default_rng(seed)
        several = Sampler(Structures(space)).batch(10, rng).configurations()
        for configuration in (*several, *(configuration for _, configuration in arms.sample(10, rng))):
            assert first_exclusion(space, configuration) is None
            reached = [index for index in range(len(arms.arms)) if arms.accepts((index, configuration))]
            assert reached == [arms.index_of(configuration)]
    except (UndecidableError, TooManyConnectedVariablesError, SamplingFailedError):
        return


@settings(WHOLE)
@given(drawings(files=False), options)
def test_an_arm_reads_back_and_compiles_to_another_target(drawn: Drawn, target: Boasf) -> None:
    space = checked(drawn).space
    arms = None if space is None else arms_of(space, target)
    if space is None or arms is None:
        return
    assert Counter(each for arm in arms.arms for each in members_of(arm.space)) == Counter(members_of(space)), drawn
    for arm in arms.arms[:: max(1, len(arms.arms) // FEW)]:
        text = space_to_text(arm.space)
        again = check(Source("arm.space", text))
        if {each.code for each in again.diagnostics if each.severity is Severity.ERROR} == {"SL601"}:
            continue  # an arm of which every step is left out is no pipeline
        assert again.space is not None, (drawn, text, again.diagnostics)
        assert again.space.title == arm.name
        assert members_of(again.space) == members_of(arm.space)
        tree = Blds().lower(again.structures).form  # type: ignore[arg-type]
        assert tree.leaf_count == arm.structures.count


@settings(LAW)
@given(st.booleans().flatmap(domains), st.integers(1, 5), st.data())
def test_pieces_are_disjoint_and_cover_the_domain(
    domain: SimpleDomain | Union, number: int, data: st.DataObject
) -> None:
    pieces = split_into_pieces(domain, number)
    assert len(pieces) == (number if domain.size is None else min(number, domain.size)) or isinstance(domain, Union)
    assert 1 <= len(pieces) <= number
    inside = data.draw(member(domain))
    inner = data.draw(st.sampled_from(pieces).flatmap(member))
    assert contains(domain, inner)
    for value in (inside, inner, *(piece.representative for piece in pieces)):
        assert sum(contains(piece, value) for piece in pieces) == 1
    if domain.size is not None:
        assert sum(piece.size or 0 for piece in pieces) == domain.size
    assert all(is_log(piece) or not is_log(domain) for piece in pieces if not isinstance(domain, Union))


def is_log(domain: SimpleDomain | Union) -> bool:
    return all(part.log for part in parts(domain) if isinstance(part, Real | Grid))


def test_ranges_with_log_are_cut_into_equal_ratios() -> None:
    assert split_into_pieces(Real(1e-4, 1e4, log=True), 4) == (
        Real(1e-4, 1e-2, upper_open=True, log=True),
        Real(1e-2, 1.0, upper_open=True, log=True),
        Real(1.0, 1e2, upper_open=True, log=True),
        Real(1e2, 1e4, log=True),
    )
    assert split_into_pieces(Grid(1, 100, log=True), 2) == (Grid(1, 9, log=True), Grid(10, 100, log=True))


@pytest.mark.parametrize("number", [2, 3, 7])
def test_integers_with_log_are_cut_near_equal_ratios(number: int) -> None:
    pieces = split_into_pieces(Grid(1, 10_000, log=True), number)
    ratios = [math.log((piece.upper + 1) / piece.lower) for piece in pieces]  # type: ignore[union-attr]
    assert max(ratios) - min(ratios) < math.log(2)


def test_the_names_of_pieces_are_told_in_json() -> None:
    space = check(Source("a.space", "stage e = SVC { C : float[0.01, 100] log = 1, shrinking : bool }")).space
    assert space is not None
    document = Boasf("subspaces").lower(Structures(space)).form.to_json()
    assert [arm["name"] for arm in document["arms"]] == [  # type: ignore[index, union-attr]
        "C [0.01, 1), shrinking true",
        "C [0.01, 1), shrinking false",
        "C [1, 100], shrinking true",
        "C [1, 100], shrinking false",
    ]
    assert json.dumps(document)
