"""Which configuration stands for a pipeline, and leaves in random order."""

from collections import Counter

import pytest
from cheap import PARTIAL
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trying import few

from spacelang.ir.domain import Real
from spacelang.ir.membership import first_exclusion
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.optimizers import OPTIMIZERS, _draws
from spacelang.optimizers._draws import ConfigurationPerPipeline, RandomLeaves, repeat_first_unfinished_leaf
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree
from spacelang.testing.driving import drive_search, hash_loss
from spacelang.testing.small_spaces import (
    admissible_structures,
    branch,
    choice,
    constrained_space,
    hyperparameter,
    make_space,
    plain_space,
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
    one, other = (hyperparameter(f"e.{name}.rate", Real(0.0, 1.0), 0.5) for name in "fg")
    return make_space("ranged", choice("s", "a", "b", "c"), choice("e", branch("f", one), branch("g", other)))


@settings(max_examples=few(60), deadline=None)
@given(spaces(), st.integers(0, 9))
def test_a_drawn_configuration_is_a_member_of_its_structure_whenever_it_is_asked_for(space: Space, seed: int) -> None:
    tree = tree_of(space)
    if not tree.leaf_count:
        return
    forth, back = (ConfigurationPerPipeline(tree, "sample", default_rng(seed)) for _ in range(2))
    leaves = list(tree.iter_leaves())
    drawn = [forth.configuration_of(leaf) for leaf in leaves]
    assert [back.configuration_of(leaf) for leaf in reversed(leaves)] == drawn[::-1], "in any order of asking"
    for leaf, configuration in zip(leaves, drawn, strict=True):
        assert first_exclusion(space, configuration) is None
        assert tree.encode(configuration).pipeline == leaf


def test_drawn_hyperparameters_differ_from_pipeline_to_pipeline_and_from_seed_to_seed() -> None:
    tree = tree_of(ranged())
    rates = {
        configuration["e.f.rate"] if configuration["e"] == "f" else configuration["e.g.rate"]
        for seed in range(3)
        for completion in [ConfigurationPerPipeline(tree, "sample", default_rng(seed))]
        for configuration in map(completion.configuration_of, tree.iter_leaves())
    }
    assert len(rates) == 18


def test_values_are_uniform_over_their_range() -> None:
    tree = tree_of(ranged())
    (leaf, *_) = tree.iter_leaves()
    rates = [
        ConfigurationPerPipeline(tree, "sample", default_rng(seed)).configuration_of(leaf)["e.f.rate"]
        for seed in range(400)
    ]
    assert all(70 < sum(part / 4 <= rate < (part + 1) / 4 for rate in rates) < 130 for part in range(4))


def test_values_that_are_too_rare_to_be_drawn_are_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise SamplingFailedError(())

    monkeypatch.setattr(Sampler, "batch", never)
    tree = tree_of(ranged())
    drawn = ConfigurationPerPipeline(tree, "sample", default_rng(0))
    assert all(drawn.configuration_of(leaf) == tree.complete(leaf) for leaf in tree.iter_leaves())
    random = OPTIMIZERS.load("random")()
    requests = drive_search(random.search(Problem(ranged(), 100, default_rng(0))), hash_loss, 6).requests
    assert {request.configuration for request in requests} == {tree.complete(leaf) for leaf in tree.iter_leaves()}


@pytest.mark.parametrize("name", FIDELITIES)
def test_a_pipeline_keeps_its_drawn_hyperparameters_on_all_rungs(name: str) -> None:
    search = OPTIMIZERS.load(name)(hyperparameters="sample").search(Problem(ranged(), 450, default_rng(0)))
    requests = drive_search(search, hash_loss, 500).requests
    by_structure: dict[tuple[object, ...], set[str]] = {}
    for request in requests:
        structure = (request.configuration["s"], request.configuration["e"])
        by_structure.setdefault(structure, set()).add(request.configuration.identity)
    assert [len(found) for found in by_structure.values()] == [1] * 6
    assert len({request.configuration for request in requests}) == 6


@pytest.mark.parametrize("name", FIDELITIES)
def test_hyperparameters_keep_their_defaults_by_default(name: str) -> None:
    requests = drive_search(
        OPTIMIZERS.load(name)().search(Problem(ranged(), 450, default_rng(0))), hash_loss, 500
    ).requests
    rates = {request.configuration.get(f"e.{branch}.rate") for request in requests for branch in "fg"}
    assert rates == {0.5, None}


@pytest.mark.parametrize("is_large", [False, True])
def test_every_leaf_comes_once_in_random_order(is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_large:
        monkeypatch.setattr(_draws, "MAX_LISTED_LEAVES", 0)
    for space in (plain_space(2, 3, 2), constrained_space(), make_space("none")):
        tree = tree_of(space)
        orders = [list(RandomLeaves(tree, default_rng(seed)).each_once_in_random_order()) for seed in range(20)]
        assert all(sorted(order) == sorted(tree.iter_leaves()) for order in orders)
        assert len({tuple(order) for order in orders}) == (20 if tree.leaf_count > 1 else 1)


@pytest.mark.parametrize("is_large", [False, True])
def test_drawn_leaves_are_different_and_uniform(is_large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_large:
        monkeypatch.setattr(_draws, "MAX_LISTED_LEAVES", 0)
    space = constrained_space()
    leaves, count = RandomLeaves(tree_of(space), default_rng(0)), len(admissible_structures(space))
    drawn = [leaves.draw(3) for _ in range(600)]
    assert all(len(set(found)) == 3 for found in drawn)
    times = Counter(leaf for found in drawn for leaf in found)
    expected = 1800 / count
    assert len(times) == count
    assert all(abs(found - expected) < 6 * expected**0.5 for found in times.values())
    assert sorted(leaves.draw(1000)) == sorted(tree_of(space).iter_leaves()), "all that there are"


def test_the_first_unfinished_leaf_comes_until_it_is_finished() -> None:
    tree = tree_of(plain_space(2, 2))
    done: set[tuple[int, ...]] = {(0, 1)}
    found = repeat_first_unfinished_leaf(tree, done.__contains__)
    assert [next(found), next(found)] == [(0, 0), (0, 0)]
    done.add((0, 0))
    assert next(found) == (1, 0)
    done |= {(1, 0), (1, 1)}
    assert list(found) == []
