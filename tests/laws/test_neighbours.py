"""The one-exchange neighbourhood (spacelang/optimizers/README.md, section "Neighbourhood")."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Union
from spacelang.ir.expr import INACTIVE
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.value import are_same_value
from spacelang.ir.walk import Assignment, structure_of
from spacelang.sampling.neighbours import MOVES_PER_NUMBER, Neighbourhood, NeighbouringValues
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter

from . import brute
from .crafted import one
from .settings import LAW
from .spaces import finite_spaces, general_spaces


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()), st.integers(0, 100), st.data())
def test_neighbours_are_one_exchange_away(space: Space, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    try:
        structures = Structures(space)
        centre = Sampler(structures).configuration(rng)
    except (UndecidableError, SamplingFailedError, ValueError):
        return
    fixed = frozenset(data.draw(st.lists(st.sampled_from(sorted(centre)), max_size=2)) if centre else ())
    found = Neighbourhood(structures).neighbours_of(centre, rng, fixed)
    assert len(set(found)) == len(found)
    for other in found:
        assert other != centre
        assert first_exclusion(space, other) is None
        assert brute.accepts(space, dict(other))
        assert all(other.get(key) == centre[key] and key in other for key in fixed)
        mine, theirs = structure_of(space, centre), structure_of(space, other)
        if mine == theirs:
            check_values(space, centre, other)
        else:
            check_structure(space, structures, mine, other, fixed)


def check_values(space: Space, centre: Configuration, other: Configuration) -> None:
    """One hyperparameter differs, and what it makes active has its default."""
    before, after = Assignment.from_configuration(space, centre), Assignment.from_configuration(space, other)
    worths = [(node, before(node.address), after(node.address)) for node in space.hyperparameters]
    in_both = [(old, new) for _, old, new in worths if old is not INACTIVE and new is not INACTIVE]
    assert sum(not are_same_value(old, new) for old, new in in_both) == 1
    assert all(
        are_same_value(new, node.default) for node, old, new in worths if old is INACTIVE and new is not INACTIVE
    )


def check_structure(
    space: Space, structures: Structures, mine: dict[str, str], other: Configuration, fixed: frozenset[str]
) -> None:
    """One decision differs that both reach, and everything has its default."""
    theirs = structure_of(space, other)
    assert len([address for address in mine.keys() & theirs.keys() if mine[address] != theirs[address]]) == 1
    if not any(node.key in fixed for node in space.hyperparameters):
        assert other == DefaultCompleter(structures).complete(theirs)


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()), st.integers(0, 100))
def test_what_was_asked_before_changes_nothing(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    try:
        structures = Structures(space)
        several = Sampler(structures).batch(12, rng).configurations()
    except (UndecidableError, SamplingFailedError, ValueError):
        return
    experienced = Neighbourhood(structures)
    for centre in (*several, *several[:4], *several[:4]):
        fixed = frozenset(rng.choice(sorted(centre), 1)) if centre and rng.integers(3) == 0 else frozenset()
        mine, theirs = (
            neighbourhood.neighbours_of(centre, np.random.default_rng(seed), fixed)
            for neighbourhood in (experienced, Neighbourhood(structures))
        )
        assert mine == theirs


@settings(LAW)
@given(finite_spaces(), st.integers(0, 100))
def test_every_admissible_alternative_is_a_neighbour(space: Space, seed: int) -> None:
    """Where nothing is nested, so that the changed decision's own defaults play no part."""
    structures, rng = Structures(space), np.random.default_rng(seed)
    if not structures.count or any(space.variables[choice.address].owners for choice in space.decisions):
        return
    centre = Sampler(structures).configuration(rng)
    mine = structure_of(space, centre)
    expected = {
        member for member in brute.structures(space) if sum(mine[address] != branch for address, branch in member) == 1
    }
    found = {
        frozenset(structure_of(space, other).items()) for other in Neighbourhood(structures).neighbours_of(centre, rng)
    }
    assert found - {frozenset(mine.items())} == expected


def test_moves_reach_every_value_of_a_set_and_stay_near_in_a_range() -> None:
    colours = NeighbouringValues(Hyperparameter("c", "s.A.c", "s.c", Categorical(("red", 1, True)), "red"))
    assert colours.unit_position(1) is None
    assert [*colours.other_values(1, ())] == ["red", True]
    mixed = NeighbouringValues(Hyperparameter("m", "s.A.m", "s.m", Union((Categorical((None,)), Grid(1, 101))), 7))
    assert mixed.unit_position(None) is None
    assert [*mixed.other_values(None, ())] == [7]
    assert mixed.unit_position(51) == 0.5
    assert mixed.other_values(51, (0.5, 0.25, 0.25, 1.0)) == [None, 26, 101]


def test_draws_are_normal_around_the_value_and_stay_inside() -> None:
    space = one(Real(0.0, 2.0))
    neighbourhood, rng = Neighbourhood(Structures(space)), np.random.default_rng(0)
    centre = Configuration({"s": "A", "s.x0": 1.0})
    found = [neighbourhood.neighbours_of(centre, rng) for _ in range(500)]
    assert all(len(others) == MOVES_PER_NUMBER for others in found)
    steps = [(other["s.x0"] - 1.0) / 2.0 for others in found for other in others]  # type: ignore[operator]
    # A normal deviation of 0.2, cut off at 2.5 deviations.
    assert stats.kstest(steps, stats.truncnorm(-2.5, 2.5, 0, 0.2).cdf).pvalue > 1e-3
    edge = Configuration({"s": "A", "s.x0": 0.0})
    assert all(0.0 < other["s.x0"] <= 2.0 for other in neighbourhood.neighbours_of(edge, rng))  # type: ignore[operator]
