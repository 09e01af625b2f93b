"""Counting equals brute force."""

import pickle
from collections import Counter

import pytest
from hypothesis import given, settings

from spacelang.ir.space import Choice, Space
from spacelang.solver.counting import Structures

from . import brute
from .settings import LAW
from .spaces import finite_spaces

pytestmark = pytest.mark.usefixtures("branches")


@settings(LAW)
@given(finite_spaces())
def test_counts_equal_brute_force(space: Space) -> None:
    structures = Structures(space)
    assert structures.count == len(brute.structures(space))
    assert structures.configuration_count == len(brute.configurations(space))


@settings(LAW)
@given(finite_spaces())
def test_a_pickle_is_the_same_whatever_was_asked(space: Space) -> None:
    structures = Structures(space)
    before = pickle.dumps(structures)
    assert structures.count == len(brute.structures(space))
    assert set(structures.supported_branches) == {each.address for each in space.decisions}
    assert pickle.dumps(structures) == before
    again = pickle.loads(before)
    assert (again.space, again.count) == (space, structures.count)


@settings(LAW)
@given(finite_spaces())
def test_what_has_no_say_in_structures_changes_none(space: Space) -> None:
    structures = Structures(space)
    assert structures.count == structures.existence_solver.total_weight()
    if structures.count:
        decided, known = structures.supported_branches, structures.existence_solver.supported_branches()
        assert reached(space, decided) == reached(space, known)


def reached(space: Space, supported: dict[str, frozenset[int]]) -> dict[str, frozenset[int]]:
    """What is supported, of the decisions that are reached: of others nothing is said."""
    return {
        address: places
        for address, places in supported.items()
        if all(
            isinstance(node := space.variables[owner].node, Choice) and node.branch_indices[branch] in supported[owner]
            for owner, branch in space.variables[address].owners
        )
    }


@settings(LAW)
@given(finite_spaces())
def test_admits_equals_brute_force(space: Space) -> None:
    structures, members = Structures(space), brute.structures(space)
    for taken, _ in brute.pipelines(space.root):
        assert structures.is_admissible(taken) == (frozenset(taken.items()) in members)


@settings(LAW)
@given(finite_spaces())
def test_by_discrepancy_equals_brute_force(space: Space) -> None:
    structures, members = Structures(space), brute.structures(space)
    usual = {choice.address: choice.branches[choice.default].name for choice in space.decisions}
    for reference, _ in brute.pipelines(space.root)[:5]:
        told = {**usual, **reference}
        distances = Counter(sum(told[address] != branch for address, branch in member) for member in members)
        expected = tuple(distances[distance] for distance in range(max(distances, default=-1) + 1))
        assert structures.count_by_discrepancy(reference) == expected


@settings(LAW)
@given(finite_spaces())
def test_supported_branches_equal_brute_force(space: Space) -> None:
    solution = Structures(space).existence_solver
    found = solution.supported_states()
    reached = {
        (address, node.branches[state].name)
        for address, states in found.items()
        for state in states
        if state >= 0 and isinstance(node := space.variables[address].node, Choice)
    }
    # What is supported is so given that it is reached: a branch counts where all branches above it do.
    alive = {
        (address, branch)
        for address, branch in reached
        if solution.total_weight() and all(owner in reached for owner in space.variables[address].owners)
    }
    assert alive == {pair for member in brute.structures(space) for pair in member}
