"""Which configuration stands for a pipeline, and leaves in random order."""

from collections import Counter

import pytest
from cheap import PARTIAL
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trying import few

from spacelang.draws.sampling import Sampler, UnlikelyError
from spacelang.ir.domain import Real
from spacelang.ir.membership import exclusion
from spacelang.ir.problem import Problem
from spacelang.ir.space import Space
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers import _leaves as leaves_module
from spacelang.optimizers._completion import Completion
from spacelang.optimizers._leaves import Leaves, unfinished
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree
from spacelang.testing.driving import arbitrary, drive
from spacelang.testing.small_spaces import (
    admissible_structures,
    branch,
    choice,
    constrained,
    made,
    number,
    plain,
    spaces,
)

DRAWN = {"random", "hyperband", "successive_halving"}
"""Those that draw configurations."""
TUNING = PARTIAL | {name for name in OPTIMIZERS.names() if not hasattr(OPTIMIZERS.load(name), "hyperparameters")}
"""Those that search them."""
FIDELITIES = [name for name in OPTIMIZERS.names() if name not in DRAWN | TUNING]


def tree_of(space: Space) -> DiscrepancyTree:
    return DiscrepancyTree(Structures(space))


def ranged() -> Space:
    """Two alternatives with a range each, and a decision beside them."""
    one, other = (number(f"e.{name}.rate", Real(0.0, 1.0), 0.5) for name in "fg")
    return made("ranged", choice("s", "a", "b", "c"), choice("e", branch("f", one), branch("g", other)))


@settings(max_examples=few(60), deadline=None)
@given(spaces(), st.integers(0, 9))
def test_a_drawn_configuration_is_a_member_of_its_structure_whenever_it_is_asked_for(space: Space, seed: int) -> None:
    tree = tree_of(space)
    if not tree.leaves:
        return
    forth, back = (Completion(tree, "sample", default_rng(seed)) for _ in range(2))
    leaves = list(tree.leaves_in_order())
    drawn = [forth.of(leaf) for leaf in leaves]
    assert [back.of(leaf) for leaf in reversed(leaves)] == drawn[::-1], "in any order of asking"
    for leaf, configuration in zip(leaves, drawn, strict=True):
        assert exclusion(space, configuration) is None
        assert tree.encode(configuration).pipeline == leaf


def test_drawn_hyperparameters_differ_from_pipeline_to_pipeline_and_from_seed_to_seed() -> None:
    tree = tree_of(ranged())
    rates = {
        configuration["e.f.rate"] if configuration["e"] == "f" else configuration["e.g.rate"]
        for seed in range(3)
        for completion in [Completion(tree, "sample", default_rng(seed))]
        for configuration in map(completion.of, tree.leaves_in_order())
    }
    assert len(rates) == 18


def test_values_are_uniform_over_their_range() -> None:
    tree = tree_of(ranged())
    (leaf, *_) = tree.leaves_in_order()
    rates = [Completion(tree, "sample", default_rng(seed)).of(leaf)["e.f.rate"] for seed in range(400)]
    assert all(70 < sum(part / 4 <= rate < (part + 1) / 4 for rate in rates) < 130 for part in range(4))


def test_values_that_are_too_rare_to_be_drawn_are_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise UnlikelyError(())

    monkeypatch.setattr(Sampler, "columns", never)
    tree = tree_of(ranged())
    drawn = Completion(tree, "sample", default_rng(0))
    assert all(drawn.of(leaf) == tree.complete(leaf) for leaf in tree.leaves_in_order())
    random = OPTIMIZERS.load("random")()
    requests = drive(random.search(Problem(ranged(), 100, default_rng(0))), arbitrary, 6).requests
    assert {request.configuration for request in requests} == {tree.complete(leaf) for leaf in tree.leaves_in_order()}


@pytest.mark.parametrize("name", FIDELITIES)
def test_a_pipeline_keeps_its_drawn_hyperparameters_on_all_rungs(name: str) -> None:
    search = OPTIMIZERS.load(name)(hyperparameters="sample").search(Problem(ranged(), 450, default_rng(0)))
    requests = drive(search, arbitrary, 500).requests
    by_structure: dict[tuple[object, ...], set[str]] = {}
    for request in requests:
        structure = (request.configuration["s"], request.configuration["e"])
        by_structure.setdefault(structure, set()).add(request.configuration.identity)
    assert [len(found) for found in by_structure.values()] == [1] * 6
    assert len({request.configuration for request in requests}) == 6


@pytest.mark.parametrize("name", FIDELITIES)
def test_hyperparameters_keep_their_defaults_by_default(name: str) -> None:
    requests = drive(OPTIMIZERS.load(name)().search(Problem(ranged(), 450, default_rng(0))), arbitrary, 500).requests
    rates = {request.configuration.get(f"e.{branch}.rate") for request in requests for branch in "fg"}
    assert rates == {0.5, None}


@pytest.mark.parametrize("is_large", [False, True])
def test_every_leaf_comes_once_in_random_order(is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_large:
        monkeypatch.setattr(leaves_module, "LISTABLE", 0)
    for space in (plain(2, 3, 2), constrained(), made("none")):
        tree = tree_of(space)
        orders = [list(Leaves(tree, default_rng(seed)).each_once()) for seed in range(20)]
        assert all(sorted(order) == sorted(tree.leaves_in_order()) for order in orders)
        assert len({tuple(order) for order in orders}) == (20 if tree.leaves > 1 else 1)


@pytest.mark.parametrize("is_large", [False, True])
def test_drawn_leaves_are_different_and_uniform(is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_large:
        monkeypatch.setattr(leaves_module, "LISTABLE", 0)
    space = constrained()
    leaves, count = Leaves(tree_of(space), default_rng(0)), len(admissible_structures(space))
    drawn = [leaves.draw(3) for _ in range(600)]
    assert all(len(set(found)) == 3 for found in drawn)
    times = Counter(leaf for found in drawn for leaf in found)
    expected = 1800 / count
    assert len(times) == count
    assert all(abs(found - expected) < 6 * expected**0.5 for found in times.values())
    assert sorted(leaves.draw(1000)) == sorted(tree_of(space).leaves_in_order()), "all that there are"


def test_the_first_unfinished_leaf_comes_until_it_is_finished() -> None:
    tree = tree_of(plain(2, 2))
    done: set[tuple[int, ...]] = {(0, 1)}
    found = unfinished(tree, done.__contains__)
    assert [next(found), next(found)] == [(0, 0), (0, 0)]
    done.add((0, 0))
    assert next(found) == (1, 0)
    done |= {(1, 0), (1, 1)}
    assert list(found) == []
