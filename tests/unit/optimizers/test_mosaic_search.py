"""MOSAIC: what it begins with, where its playouts are, what becomes of failures, and what it finds."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

import spacelang as sl
from spacelang.ir.domain import Real
from spacelang.ir.membership import first_exclusion
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._mosaic import (
    Playout,
    RewardSurrogate,
    max_children,
    replay_trials,
)
from spacelang.optimizers.mosaic import Mosaic, _Run
from spacelang.plugins import OptionError
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.surrogates.forest import Forest
from spacelang.targets.mosaic import StructuralTree
from spacelang.testing.driving import SearchLog, drive_search, failing_loss, flaky_loss, hash_loss
from spacelang.testing.small_spaces import (
    branch,
    choice,
    conditional_space,
    continuous_space,
    hyperparameter,
    make_space,
    plain_space,
    spaces,
)

CHEAP = {"trees": 2, "n_s": 3, "n_r": 12}
FEW = settings(max_examples=5, deadline=None)


def estimators(count: int) -> Space:
    """So many estimators with a number each, behind another stage."""
    rates = [hyperparameter(f"e.e{k}.rate", Real(0.0, 1.0), 0.5) for k in range(count)]
    return make_space(
        "many", choice("s", "a", "b"), choice("e", *(branch(f"e{k}", each) for k, each in enumerate(rates)))
    )


def driven(optimizer: Mosaic, space: Space, objective: Any, trials: int, seed: int = 0, **how: Any) -> SearchLog:
    initial = how.pop("initial", ())
    search = optimizer.search(Problem(space, 100, default_rng(seed), initial))
    return drive_search(search, objective, trials, seed=seed, **how)


def tree_of(space: Space) -> StructuralTree:
    return StructuralTree(Structures(space))


def playouts(trials: tuple[Trial, ...], tree: StructuralTree) -> Iterator[tuple[Playout, Trial]]:
    """The trials that are playouts."""
    return ((Playout.from_request(trial.request, tree), trial) for trial in trials if trial.request.memo)


# ---- the initialization


def test_sixteen_estimators_begin_with_their_defaults_and_three_draws_of_each() -> None:
    space = estimators(16)
    tree = tree_of(space)
    found = driven(Mosaic(**CHEAP), space, hash_loss, 65)
    first, (after,) = found.trials[:64], found.trials[64:]
    assert [trial.request.configuration for trial in first[:16]] == [
        tree.default_completion((f"e{k}",)) for k in range(16)
    ]
    assert not any(trial.request.memo for trial in first)
    assert after.request.memo
    root = replay_trials(tree, first).root
    assert root.visits == 64
    assert [child.visits for child in root.children.values()] == [4] * 16
    assert len({trial.request for trial in first}) == 64


def test_a_slow_first_alternative_is_spared_its_draws() -> None:
    space = estimators(4)
    began = driven(Mosaic(**CHEAP), space, hash_loss, 4).trials
    slow = tuple(replace(trial, cost=3.0 if place == 2 else 1.0) for place, trial in enumerate(began))
    found = driven(Mosaic(slow_skip_seconds=2.0, **CHEAP), space, hash_loss, 14, known=slow)
    first = [trial.request for trial in found.trials if not trial.request.memo]
    assert Counter(str(each.configuration["e"]) for each in first) == {"e0": 4, "e1": 4, "e2": 1, "e3": 4}


def test_where_there_are_fewer_configurations_each_is_evaluated_once() -> None:
    found = driven(Mosaic(kappa=50, **CHEAP), conditional_space(), hash_loss, 1000)
    assert found.returned
    distinct = {*found.requests}
    assert len(distinct) == len([*found.requests][: len(distinct)]) == 26


@pytest.mark.parametrize("workers", [1, 8])
def test_with_an_archive_its_first_configurations_are_the_first_requests(workers: int) -> None:
    space = estimators(4)
    given_ = tuple(Sampler(Structures(space)).configurations(25, default_rng(3)))
    optimizer = Mosaic(variant="metalearning", **CHEAP)
    found = driven(optimizer, space, hash_loss, 60, initial=given_, workers=workers)
    assert [request.configuration for request in found.requests[:25]] == [*given_]
    tree = tree_of(space)
    root = replay_trials(tree, found.trials[:25]).root
    began = Counter(str(each["e"]) for each in given_)
    assert {name: child.visits for name, child in root.children.items()} == began
    rest = [request.configuration for request in found.requests[25:41]]
    assert rest[:4] == [tree.default_completion((f"e{k}",)) for k in range(4)]
    assert sorted(str(each["e"]) for each in rest) == sorted(f"e{k}" for k in range(4) for _ in range(4))


def test_without_an_archive_it_says_what_is_missing() -> None:
    search = Mosaic(variant="metalearning").search(Problem(continuous_space(), 100, default_rng(0)))
    with pytest.raises(OptionError, match="none are given") as caught:
        next(search)
    assert "--archive" in caught.value.help


def test_no_store_is_left_of_a_run_that_cannot_begin(tmp_path: Path) -> None:
    given_ = {"variant": "metalearning"}
    with pytest.raises(OptionError, match="none are given"):
        sl.search(
            "blds_table1",
            objective="artificial:1",
            optimizer="mosaic",
            optimizer_options=given_,
            trials=3,
            workers=0,
            store=tmp_path / "run.db",
        )
    assert not [*tmp_path.iterdir()]


# ---- playouts


@FEW
@given(spaces(), st.integers(0, 99), st.sampled_from([1, 8]), st.sampled_from([hash_loss, flaky_loss]))
def test_a_playout_is_below_the_node_that_was_selected(space: Space, seed: int, workers: int, objective: Any) -> None:
    assume(Structures(space).count)
    tree = tree_of(space)
    found = driven(Mosaic(kappa=1, **CHEAP), space, objective, 25, seed, workers=workers)
    for playout, trial in playouts(found.trials, tree):
        configuration = trial.request.configuration
        assert first_exclusion(space, configuration) is None
        assert tree.prefix_of(configuration)[: len(playout.prefix)] == playout.prefix
    for node in replay_trials(tree, found.trials).root:
        exhausted = sum(child.is_exhausted for child in node.children.values())
        assert {*node.children} <= {*tree.actions(node.prefix)}
        assert not node.prefix or len(node.children) <= max(1, max_children(node.visits, 0.6)) + exhausted
        assert sum(child.visits for child in node.children.values()) <= node.visits


@pytest.mark.parametrize(
    ("space", "objective", "workers"),
    [
        (estimators(3), hash_loss, 8),
        (plain_space(4, 4, 4), hash_loss, 1),
        (estimators(3), flaky_loss, 1),
        (plain_space(4, 4, 4), failing_loss, 1),
    ],
)
def test_the_tree_can_be_told_again_from_the_trials(space: Space, objective: Any, workers: int) -> None:
    for limit in range(40, 50):
        run = _Run(Mosaic(**CHEAP), Problem(space, 100, default_rng(0)), Structures(space))
        trials: dict[Request, Trial] = {}
        for each in drive_search(run.run(), objective, limit, workers=workers).trials:
            trials.setdefault(each.request, each)
        under_way = [each for each in run._running_playouts.values() if each is not None]
        if not run._failed_playouts and all(
            each.is_first_attempt and not any(dry[1] for dry in each.exhausted_nodes) for each in under_way
        ):
            break  # what is under way has left no trace yet but its visits
    live, again = (
        {node.prefix: node.rewards for node in root if node.rewards}
        for root in (run._nodes.root, replay_trials(tree_of(space), trials.values()).root)
    )
    assert len(live) > 4
    assert live == again


def test_after_a_failure_the_next_best_candidate_is_evaluated_three_times_at_most() -> None:
    space = continuous_space()
    tree = tree_of(space)
    found = driven(Mosaic(**CHEAP), space, failing_loss, 30)
    surrogate = RewardSurrogate(tree, 0, trees=2, features=0.5, draws=3)
    seen = {trial.request.configuration for trial in found.trials if not trial.request.memo}
    tried = [*playouts(found.trials, tree)]
    for (prefix, seed), several in groupby(tried, key=lambda each: (each[0].prefix, each[0].seed)):
        assert seed is not None
        ranked = (each for each in surrogate.ranked_candidates(prefix, None, seed, 12) if each not in seen)
        attempts, configurations = [], []
        for playout, trial in several:
            attempts.append(playout.attempt)
            configurations.append(trial.request.configuration)
        assert attempts == [1, 2, 3][: len(attempts)]
        assert len(attempts) == 3 or tried[-1][0].seed == seed
        assert configurations == [next(ranked) for _ in configurations]
        seen |= {*configurations}


def test_failures_are_rewards_of_nodes_and_nothing_to_the_surrogate(monkeypatch: pytest.MonkeyPatch) -> None:
    def fitted(*_: object) -> None:
        raise AssertionError("a forest of failures")

    monkeypatch.setattr(Forest, "fit", fitted)
    found = driven(Mosaic(**CHEAP), continuous_space(), failing_loss, 38)
    root = replay_trials(tree_of(continuous_space()), found.trials).root
    assert not any(root.rewards)
    assert root.visits == 6 + (38 - 6 + 2) // 3, "six to begin with, then one for three candidates"


def test_a_finite_space_is_evaluated_as_a_whole_and_nothing_twice() -> None:
    for workers in (1, 8):
        found = driven(Mosaic(**CHEAP), plain_space(3, 3, 2), hash_loss, 1000, workers=workers)
        assert found.returned
        assert len({*found.requests}) == 18


# ---- what it finds


def added(request: Request) -> float:
    """The losses of the alternatives, added up: 0 where each is the best of its stage."""
    best = {"s0": "a2", "s1": "a0", "s2": "a1"}
    apart = [abs(int(str(request.configuration[stage])[1:]) - int(name[1:])) for stage, name in best.items()]
    return sum(apart) / 10


def test_it_finds_the_best_of_a_small_table() -> None:
    """36 structures, of which 16 are evaluated at the beginning: ten more are enough."""
    found = [driven(Mosaic(**CHEAP), plain_space(4, 3, 3), added, 26, seed) for seed in range(10)]
    assert sum(any(trial.loss == 0 for trial in each.trials) for each in found) >= 9


def test_it_comes_closer_than_its_beginning() -> None:
    def distance(request: Request) -> float:
        values = request.configuration
        rate = next(float(value) for key, value in values.items() if key.endswith("rate"))  # type: ignore[arg-type]
        return abs(rate - 0.3) / 2 + 0.3 * (values["e"] != "e2") + 0.2 * (values["s"] == "a")

    for seed in (0, 2):
        losses = [
            trial.loss or 0.0 for trial in driven(Mosaic(trees=10, n_r=200), estimators(4), distance, 50, seed).trials
        ]
        assert min(losses) < min(0.1, *losses[:16])


def test_eight_workers_play_out_below_different_nodes() -> None:
    space = plain_space(6, 6, 6)
    tree = tree_of(space)
    found = driven(Mosaic(**CHEAP), space, hash_loss, 40, workers=8)
    first = [playout.prefix for playout, _ in playouts(found.trials, tree)][:8]
    assert len({*first}) >= 4
    assert found.idle_count <= 8, "before it has asked for anything"


@pytest.mark.parametrize(
    ("options", "telling"),
    [
        ({"c_ucb": -1.0}, "`c_ucb` is -1"),
        ({"c_ucb": np.inf}, "`c_ucb` is inf"),
        ({"pw": 0.0}, "`pw` is 0"),
        ({"pw": 1.5}, "`pw` is 1.5"),
        ({"n_s": 0}, "`n_s` is 0"),
        ({"n_r": 0}, "`n_r` is 0"),
        ({"trees": 0}, "`trees` is 0"),
        ({"kappa": -1}, "`kappa` is -1"),
        ({"slow_skip_seconds": -1.0}, "`slow_skip_seconds` is -1.0"),
        ({"features": 0.0}, "`features` is 0"),
    ],
)
def test_options_have_bounds(options: dict[str, Any], telling: str) -> None:
    with pytest.raises(OptionError, match=telling) as caught:
        Mosaic(**options)
    assert caught.value.help
