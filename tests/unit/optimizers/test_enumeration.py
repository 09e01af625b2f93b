"""Enumeration: as good as brute force, in the order of the tree, and no more than it may."""

from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.optimizers._selection import SelectionProblem
from spacelang.optimizers.enumerate import Enumerate
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import drive_search, flaky_loss, hash_loss
from spacelang.testing.small_spaces import admissible_structures, plain_space, spaces


def selected(tree: DiscrepancyTree, iterations: int, **options: bool) -> tuple[list[Pipeline], Pipeline]:
    """The pipelines that one call asks for, and the one that it returns."""
    selection, found = SelectionProblem(tree, tree.complete, 100, np.random.default_rng(0)), []

    def search() -> Search:
        found.append((yield from Enumerate(**options).selector().select(selection, iterations)))

    requests = drive_search(search(), flaky_loss, 1000).requests
    return [tree.encode(request.configuration).pipeline for request in requests], found[0]


@given(spaces(), st.integers(0, 2))
def test_finds_what_brute_force_finds(space: Space, more: int) -> None:
    tree, by_force = DiscrepancyTree(Structures(space)), admissible_structures(space)
    assume(by_force)
    leaves = [tree.pipeline_of(structure) for structure in by_force]
    losses = [flaky_loss(Request(tree.complete(leaf))) for leaf in leaves]
    best = leaves[int(np.argmin([inf if loss is None else loss for loss in losses]))]
    assert selected(tree, len(leaves) + more) == (leaves, best)


@pytest.mark.parametrize(("options", "taken"), [({}, 5), ({"all": True}, 12)])
def test_takes_all_of_more_than_it_may_only_where_it_is_forced_to(options: dict[str, bool], taken: int) -> None:
    tree = DiscrepancyTree(Structures(plain_space(3, 2, 2)))
    asked, found = selected(tree, 5, **options)
    assert asked == list(tree.iter_leaves())[:taken]
    assert found in asked


def test_by_itself_it_evaluates_every_pipeline_in_the_order_of_the_text() -> None:
    search = Enumerate().search(Problem(plain_space(2, 3), 100, np.random.default_rng(0)))
    driven = drive_search(search, hash_loss, 100)
    assert driven.returned
    asked = [(request.configuration["s0"], request.configuration["s1"]) for request in driven.requests]
    assert asked == sorted(asked)
    assert len(asked) == 6
