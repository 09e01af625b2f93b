"""The one-exchange neighbourhood (ALGORITHMS.md 2.7)."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.compiled import UndecidableError
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.defaults import Completer
from spacelang.ir.domain import Categorical, Integer, Real, Union
from spacelang.ir.expr import INACTIVE
from spacelang.ir.membership import exclusion
from spacelang.ir.neighbours import DRAWS, Neighbourhood, moves
from spacelang.ir.sampling import Sampler, UnlikelyError
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.value import same
from spacelang.ir.walk import Assignment, structure_of

from . import brute
from .settings import LAW
from .spaces import finite_spaces, general_spaces


@settings(LAW)
@given(st.one_of(finite_spaces(), general_spaces()), st.integers(0, 100), st.data())
def test_neighbours_are_one_exchange_away(space: Space, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    try:
        structures = Structures(space)
        centre = Sampler(structures).configuration(rng)
    except (UndecidableError, UnlikelyError, ValueError):
        return
    fixed = frozenset(data.draw(st.lists(st.sampled_from(sorted(centre)), max_size=2)) if centre else ())
    found = Neighbourhood(structures).of(centre, rng, fixed)
    assert len(set(found)) == len(found)
    for other in found:
        assert other != centre
        assert exclusion(space, other) is None
        assert brute.accepts(space, dict(other))
        assert all(other.get(key) == centre[key] and key in other for key in fixed)
        mine, theirs = structure_of(space, centre), structure_of(space, other)
        if mine == theirs:
            check_values(space, centre, other)
        else:
            check_structure(space, structures, mine, other, fixed)


def check_values(space: Space, centre: Configuration, other: Configuration) -> None:
    """One hyperparameter differs, and what it makes active has its default."""
    before, after = Assignment.of(space, centre), Assignment.of(space, other)
    worths = [(node, before(node.address), after(node.address)) for node in space.hyperparameters]
    in_both = [(old, new) for _, old, new in worths if old is not INACTIVE and new is not INACTIVE]
    assert sum(not same(old, new) for old, new in in_both) == 1
    assert all(same(new, node.default) for node, old, new in worths if old is INACTIVE and new is not INACTIVE)


def check_structure(
    space: Space, structures: Structures, mine: dict[str, str], other: Configuration, fixed: frozenset[str]
) -> None:
    """One decision differs that both reach, and everything has its default."""
    theirs = structure_of(space, other)
    assert len([address for address in mine.keys() & theirs.keys() if mine[address] != theirs[address]]) == 1
    if not any(node.key in fixed for node in space.hyperparameters):
        assert other == Completer(structures).complete(theirs)


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
    found = {frozenset(structure_of(space, other).items()) for other in Neighbourhood(structures).of(centre, rng)}
    assert found - {frozenset(mine.items())} == expected


def test_moves_reach_every_value_of_a_set_and_stay_near_in_a_range() -> None:
    rng = np.random.default_rng(0)
    colours = Hyperparameter("c", "s.A.c", "s.c", Categorical(("red", 1, True)), "red")
    assert moves(colours, 1, rng) == ["red", True]
    mixed = Hyperparameter("m", "s.A.m", "s.m", Union((Categorical((None,)), Integer(1, 100))), 7)
    assert moves(mixed, None, rng) == [7]
    from_number = moves(mixed, 50, rng)
    assert from_number[0] is None
    assert 50 not in from_number
    assert len(from_number) <= 1 + DRAWS
    real = Hyperparameter("r", "s.A.r", "s.r", Real(0.0, 1.0), 0.5)
    steps = [other - 0.5 for _ in range(500) for other in moves(real, 0.5, rng)]  # type: ignore[operator]
    assert len(steps) == 500 * DRAWS
    # A normal deviation of 0.2, cut off at 2.5 deviations.
    assert abs(float(np.std(steps)) - 0.191) < 0.01
