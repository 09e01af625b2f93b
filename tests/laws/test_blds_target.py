"""The discrepancy tree against brute force, on small spaces made by hand and drawn ones."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from trying import few

from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.solver.counting import Structures
from spacelang.targets.blds import NOT_REACHED, DiscrepancyTree, Leaf, Pipeline
from spacelang.testing.small_spaces import (
    FINITE,
    Structure,
    admissible_structures,
    all_structures,
    brute_force_members,
    spaces,
)


def tree_of(space: Space) -> DiscrepancyTree:
    return DiscrepancyTree(Structures(space))


def places(space: Space, structure: Structure) -> Pipeline:
    return tuple(
        d.branch_indices[structure[d.address]] if d.address in structure else NOT_REACHED for d in space.decisions
    )


def discrepancy(space: Space, leaf: Pipeline, reference: Pipeline) -> int:
    """The decisions in which a leaf differs; one that the reference does not reach, from its default."""
    usual = [
        decision.default if place == NOT_REACHED else place
        for place, decision in zip(reference, space.decisions, strict=True)
    ]
    return sum(place not in (NOT_REACHED, mine) for place, mine in zip(leaf, usual, strict=True))


def search(space: Space, leaves: set[Pipeline], reference: Pipeline, theta: int) -> Iterator[Pipeline]:
    """SEARCH of the BLDS paper, line for line: stages in order, alternatives in list order, nothing pruned."""

    def is_reached(prefix: Pipeline, number: int) -> bool:
        addresses = [decision.address for decision in space.decisions]
        return all(
            prefix[addresses.index(owner)] == space.decisions[addresses.index(owner)].branch_indices[taken]
            for owner, taken in space.variables[addresses[number]].owners
        )

    def usual(prefix: Pipeline, number: int) -> int:
        if not is_reached(prefix, number):
            return NOT_REACHED
        return space.decisions[number].default if reference[number] == NOT_REACHED else reference[number]

    def visit(prefix: Pipeline, left: int) -> Iterator[Pipeline]:
        number = len(prefix)
        if number == len(space.decisions):
            yield from [prefix] if prefix in leaves else []
        elif left == 0 or not is_reached(prefix, number):
            yield from visit((*prefix, usual(prefix, number)), left)
        else:
            for place in range(len(space.decisions[number].branches)):
                yield from visit((*prefix, place), left - (place != usual(prefix, number)))

    return visit((), theta)


def check_leaves(space: Space) -> None:
    tree = tree_of(space)
    expected = [places(space, structure) for structure in admissible_structures(space)]
    assert list(tree.iter_leaves()) == sorted(expected)
    assert tree.leaf_count == len(expected)
    for structure in all_structures(space):
        pipeline = places(space, structure)
        assert tree.is_leaf(pipeline) == (pipeline in expected)
        assert tree.structure_of(pipeline) == structure
        assert tree.pipeline_of(structure) == pipeline


def check_discrepancies(space: Space) -> None:
    tree = tree_of(space)
    leaves = {places(space, structure) for structure in admissible_structures(space)}
    for reference in [*sorted(leaves)[:6], tree.default_pipeline]:
        counts = Counter(discrepancy(space, leaf, reference) for leaf in leaves)
        for theta in range(len(space.decisions) + 2):
            assert tree.leaf_count_at(reference, theta) == counts[theta]
            assert tree.leaf_count_within(reference, theta) == sum(counts[k] for k in range(theta + 1))
            walked = list(tree.walk(reference, theta))
            assert walked == list(search(space, leaves, reference, theta))
            assert set(walked) == {leaf for leaf in leaves if discrepancy(space, leaf, reference) <= theta}
            assert len(walked) == len(set(walked))


def check_members_accepted(space: Space) -> None:
    tree = tree_of(space)
    for structure in admissible_structures(space):
        pipeline = places(space, structure)
        completed = tree.decode(Leaf(pipeline))
        assert first_exclusion(space, completed) is None
        assert completed == tree.complete(pipeline)
        for configuration in brute_force_members(space, structure):
            leaf = tree.encode(configuration)
            assert leaf.pipeline == pipeline
            assert tree.decode(leaf) == configuration
            assert (leaf == Leaf(pipeline)) == (configuration == completed)


@pytest.mark.parametrize("space", FINITE, ids=lambda space: space.name)
@pytest.mark.parametrize("check", [check_leaves, check_discrepancies, check_members_accepted])
def test_spaces_made_by_hand(space: Space, check) -> None:  # type: ignore[no-untyped-def]
    check(space)


@settings(max_examples=few(200), deadline=None)
@given(spaces())
def test_the_tree_reaches_exactly_the_admissible_structures(space: Space) -> None:
    check_leaves(space)


@settings(max_examples=few(100), deadline=None)
@given(spaces())
def test_counts_and_walks_agree_with_brute_force(space: Space) -> None:
    check_discrepancies(space)


@settings(max_examples=few(200), deadline=None)
@given(spaces())
def test_an_encoding_loses_nothing(space: Space) -> None:
    check_members_accepted(space)


@settings(max_examples=few(50), deadline=None)
@given(spaces())
def test_random_leaves_are_leaves(space: Space) -> None:
    tree, rng = tree_of(space), np.random.default_rng(0)
    if tree.leaf_count:
        assert all(tree.is_leaf(tree.random_leaf(rng)) for _ in range(10))
    else:
        with pytest.raises(ValueError, match="empty"):
            tree.random_leaf(rng)
