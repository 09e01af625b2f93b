"""Enumeration: as good as brute force, in the order of the tree, and no more than it may."""

from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacelang.ir.asking import Search
from spacelang.ir.problem import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.optimizers._selection import Selection
from spacelang.optimizers.enumerate import Enumerate
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline
from spacelang.testing.driving import arbitrary, drive, moody
from spacelang.testing.small_spaces import admissible_structures, plain, spaces


def selected(tree: DiscrepancyTree, iterations: int, **options: bool) -> tuple[list[Pipeline], Pipeline]:
    """The pipelines that one call asks for, and the one that it returns."""
    selection, found = Selection(tree, tree.complete, 100, np.random.default_rng(0)), []

    def search() -> Search:
        found.append((yield from Enumerate(**options).selector().select(selection, iterations)))

    requests = drive(search(), moody, 1000).requests
    return [tree.encode(request.configuration).pipeline for request in requests], found[0]


@given(spaces(), st.integers(0, 2))
def test_finds_what_brute_force_finds(space: Space, more: int) -> None:
    tree, by_force = DiscrepancyTree(Structures(space)), admissible_structures(space)
    assume(by_force)
    leaves = [tree.pipeline_of(structure) for structure in by_force]
    losses = [moody(Request(tree.complete(leaf))) for leaf in leaves]
    best = leaves[int(np.argmin([inf if loss is None else loss for loss in losses]))]
    assert selected(tree, len(leaves) + more) == (leaves, best)


@pytest.mark.parametrize(("options", "taken"), [({}, 5), ({"all": True}, 12)])
def test_takes_all_of_more_than_it_may_only_where_it_is_forced_to(options: dict[str, bool], taken: int) -> None:
    tree = DiscrepancyTree(Structures(plain(3, 2, 2)))
    asked, found = selected(tree, 5, **options)
    assert asked == list(tree.leaves_in_order())[:taken]
    assert found in asked


def test_by_itself_it_evaluates_every_pipeline_in_the_order_of_the_text() -> None:
    search = Enumerate().search(Problem(plain(2, 3), 100, np.random.default_rng(0)))
    driven = drive(search, arbitrary, 100)
    assert driven.ended
    asked = [(request.configuration["s0"], request.configuration["s1"]) for request in driven.requests]
    assert asked == sorted(asked)
    assert len(asked) == 6
