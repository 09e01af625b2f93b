"""What a space is unfolded into says each of its configurations exactly once, without a condition or a constraint."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, Grid, Real
from spacelang.ir.domain_properties import is_finite
from spacelang.ir.expr import Compare, Constant, Not, Or, Reference, is_true
from spacelang.ir.space import Choice, Space
from spacelang.ir.walk import Assignment
from spacelang.reductions.case_splits import (
    CaseSplit,
    GuardedParts,
    IndependentHyperparameter,
    RangeComparison,
    UnfoldedParts,
    all_parts,
    count_combinations,
    parts_on_path,
    unfold_into_case_splits,
)
from spacelang.reductions.guarded_case_splits import unfold_with_condition_guards
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.constraint_network import TooManyConnectedVariablesError, UndecidableError
from spacelang.solver.counting import Structures
from spacelang.solver.domain_cells import join_cells, singleton_cells, split_into_cells
from spacelang.testing.small_spaces import branch, choice, forbid, hyperparameter, make_space

from . import brute
from .settings import LAW
from .spaces import domains, finite_spaces, general_spaces

pytestmark = pytest.mark.usefixtures("branches")


def said(parts: UnfoldedParts) -> Iterator[dict[str, Any]]:
    """Every combination of cases with every combination of values."""
    if not parts:
        yield {}
        return
    first, *others = parts
    for document in said(tuple(others)):
        for own in said_by(first):
            assert not own.keys() & document.keys()
            yield {**document, **own}


def said_by(part: CaseSplit | IndependentHyperparameter | RangeComparison) -> Iterator[dict[str, Any]]:
    if isinstance(part, IndependentHyperparameter):
        yield from ({part.node.key: value} for value in brute.members(part.domain))
    elif isinstance(part, CaseSplit):
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
    parts = unfold_into_case_splits(structures)
    found = [brute.text(document) for document in said(parts)]
    assert len(found) == len(set(found))
    assert set(found) == brute.configurations(space)
    assert count_combinations(parts) <= len(found)


@settings(LAW)
@given(general_spaces(), st.integers(0, 2**32 - 1))
def test_members_of_any_space_have_one_route(space: Space, seed: int) -> None:
    try:
        structures = Structures(space)
        parts = unfold_into_case_splits(structures) if structures.count else ()
    except (UndecidableError, TooManyConnectedVariablesError):
        return
    if not structures.count:
        return
    known = set(map(id, all_parts(parts)))
    try:
        drawn = Sampler(structures).batch(5, np.random.default_rng(seed)).configurations()
    except SamplingFailedError:
        return
    for configuration in drawn:
        assignment = Assignment.from_configuration(space, configuration)
        taken = [*parts_on_path(parts, assignment)]
        assert {id(part) for part, _ in taken} <= known
        for part, _ in taken:
            if isinstance(part, RangeComparison):
                assert is_true(part.atom, assignment) is part.truth
            elif isinstance(part, IndependentHyperparameter):
                assert brute.inside(part.domain, configuration[part.node.key])
        keys = {part.node.key for part, _ in taken if isinstance(part, IndependentHyperparameter)}
        branches = {
            part.node.key
            for part, place in taken
            if isinstance(part, CaseSplit) and isinstance(part.node, Choice) and part.cases[place].branch is not None
        }
        assert keys | branches == set(configuration)


@given(st.lists(st.sampled_from((0.1, 0.5, 0.9)), min_size=4, max_size=4))
def test_comparisons_on_the_route_hold_where_either_of_two_suffices(values: list[float]) -> None:
    """What a fork tells apart that no configuration says: whether the first comparison holds, or the second must."""
    v, w, x, y = (hyperparameter(f"e.f.{name}", Real(0.0, 1.0), 0.5, key=name) for name in "vwxy")
    pairs = (("e.f.v", "e.f.w"), ("e.f.x", "e.f.y"))
    either = Or(tuple(Compare("<", Reference(one), Reference(other)) for one, other in pairs))
    space = make_space("either", choice("e", branch("f", v, w, x, y)), constraints=(forbid(Not(either)),))
    configuration = Configuration({"e": "f", **dict(zip("vwxy", values, strict=True))})
    assignment, parts = Assignment.from_configuration(space, configuration), unfold_into_case_splits(Structures(space))
    assert any(isinstance(part, CaseSplit) and part.node is None for part in all_parts(parts))
    if not is_true(either, assignment):
        with pytest.raises(LookupError):
            [*parts_on_path(parts, assignment)]
        return
    related = [part for part, _ in parts_on_path(parts, assignment) if isinstance(part, RangeComparison)]
    assert related
    assert all(is_true(part.atom, assignment) is part.truth for part in related)


def test_what_a_condition_asks_for_is_told_before_what_it_switches() -> None:
    """Names and sizes would have it the other way round."""
    nodes = (
        hyperparameter("x", Grid(0, 1), 0),
        hyperparameter("y", Grid(0, 1), 0, when=Compare("==", Reference("x"), Constant(1))),
        hyperparameter("z", Grid(0, 1), 0, when=Compare("==", Reference("y"), Constant(1))),
    )
    parts = unfold_into_case_splits(Structures(make_space("chain", *nodes)))
    assert outline(parts) == {"x": {"0": {"x": {}}, "1": {"x": {}, "y": {"0": {"y": {}}, "1": {"y": {}, "z": {}}}}}}


def test_a_branch_below_which_nothing_is_left_is_no_case() -> None:
    x = hyperparameter("e.f.x", Grid(0, 1), 0)
    nothing = forbid(Compare(">=", Reference("e.f.x"), Constant(0)))
    space = make_space("dead", choice("e", branch("f", x), "g"), constraints=(nothing,))
    assert outline(unfold_into_case_splits(Structures(space))) == {"e": {"g": {}}}


def outline(parts: UnfoldedParts) -> dict[str, Any]:
    """What is told where: the cases of forks by what they say, and what they leave."""
    found: dict[str, Any] = {}
    for part in parts:
        match part:
            case CaseSplit(node=node) if node is not None:
                cases = {
                    case.branch or str(case.domain and case.domain.representative): outline(case.parts)
                    for case in part.cases
                }
                found[node.address] = cases
            case IndependentHyperparameter():
                found[part.node.address] = {}
    return found


@settings(LAW)
@given(domains(finite=False), st.data())
def test_cells_put_together_again_are_the_domain(domain: Domain, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.sampled_from((-1.0, 0.0, 0.3, 0.5, 1.0, 3.0, 100.0)), max_size=3))
    is_small = is_finite(domain) and (domain.size or 0) <= 100
    one_by_one = is_small and data.draw(st.booleans())
    pieces = singleton_cells(domain) if one_by_one else split_into_cells(domain, cuts, lambda value: (value,))
    assert join_cells(domain, pieces) == domain
    some = data.draw(st.lists(st.sampled_from(pieces), min_size=1, unique_by=id))
    part = join_cells(domain, some)
    for piece in pieces:
        assert brute.inside(part, piece.representative) == any(piece is each for each in some)
    if is_small:
        assert brute.members(part) == [v for v in brute.members(domain) if any(brute.inside(p, v) for p in some)]


@settings(LAW)
@given(finite_spaces())
def test_without_constraints_each_hyperparameter_is_chosen_once_from_its_whole_domain(space: Space) -> None:
    free = replace(space, constraints=())
    parts = [*all_parts(unfold_with_condition_guards(Structures(free), lambda *_: True))]
    chosen = [part for part in parts if isinstance(part, IndependentHyperparameter)]
    assert sorted(part.node.address for part in chosen) == sorted(node.address for node in space.hyperparameters)
    assert all(part.domain == part.node.domain for part in chosen)
    assert all(isinstance(part, IndependentHyperparameter | GuardedParts | CaseSplit) for part in parts)
    assert all(isinstance(part.node, Choice) for part in parts if isinstance(part, CaseSplit))
