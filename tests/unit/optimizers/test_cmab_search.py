"""CMAB: rewards, posteriors, the choice of a pipeline, and convergence.

See spacelang/optimizers/README.md, section "CMAB".
"""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trainings import best_is, trainings
from trying import few

from spacelang.ir.search_protocol import Problem, SearchEvent
from spacelang.ir.space import Space
from spacelang.optimizers.cmab import Bandit, Cmab, reward_of_loss
from spacelang.plugins import OptionError
from spacelang.solver.counting import Structures
from spacelang.targets.blds import NOT_REACHED, DiscrepancyTree, Pipeline
from spacelang.testing.driving import drive_search, failing_loss, hash_loss, make_trial
from spacelang.testing.small_spaces import plain_space, spaces


def bandit_over(space: Space, seed: int = 0, options: Cmab | None = None) -> Bandit:
    return Bandit(options or Cmab(), DiscrepancyTree(Structures(space)), default_rng(seed))


@pytest.mark.parametrize(
    ("loss", "f_hat", "expected"),
    [(0.35, 0.7, 0.5), (0.14, 0.7, 0.8), (0.7, 0.7, 0.0), (0.9, 0.7, 0.0), (-0.1, 0.7, 1.0), (0.15, 0.3, 0.5)],
)
def test_rewards(loss: float, f_hat: float, expected: float) -> None:
    assert reward_of_loss(loss, f_hat) == pytest.approx(expected)


def test_the_posterior_counts_successes_and_failures() -> None:
    bandit = bandit_over(plain_space(2, 3))
    assert bandit.posterior_parameters(0, 1) == (10.0, 10.0), "its mean is 10/20"
    bandit.pull((1, 2), normalized_loss=0.0)
    assert bandit.posterior_parameters(0, 1) == bandit.posterior_parameters(1, 2) == (11.0, 10.0), "its mean is 11/21"
    bandit.pull((1, 0), normalized_loss=1.0)
    assert bandit.posterior_parameters(0, 1) == (11.0, 11.0)
    assert bandit.posterior_parameters(1, 0) == (10.0, 11.0)
    assert bandit.posterior_parameters(0, 0) == bandit.posterior_parameters(1, 1) == (10.0, 10.0)


@pytest.mark.parametrize(("loss", "wins"), [(0.0, True), (0.7, False), (3.0, False)])
def test_a_sure_reward_needs_no_luck(loss: float, wins: bool) -> None:
    bandit = bandit_over(plain_space(1))
    for _ in range(200):
        bandit.pull((0,), loss)
    assert bandit.posterior_parameters(0, 0) == ((210.0, 10.0) if wins else (10.0, 210.0))


def test_a_pull_is_one_success_or_one_failure_of_every_arm_of_the_pipeline() -> None:
    sizes = (2, 3, 4)
    bandit = bandit_over(plain_space(*sizes))
    for number in range(300):
        pipeline = bandit.choose(bandit.draw_weights())
        bandit.pull(pipeline, normalized_loss=0.35)
        before = [
            sum(bandit.posterior_parameters(layer, place)) for layer, size in enumerate(sizes) for place in range(size)
        ]
        assert sum(before) - 20 * sum(sizes) == 3 * (number + 1)
    for layer, size in enumerate(sizes):
        assert sum(sum(bandit.posterior_parameters(layer, place)) - 20 for place in range(size)) == 300
    successes = [
        sum(bandit.posterior_parameters(layer, place)[0] - 10 for place in range(size))
        for layer, size in enumerate(sizes)
    ]
    assert len(set(successes)) == 1, "the same success for all stages"
    assert 100 < successes[0] < 200, "half of them, give or take"


@settings(max_examples=few(100), deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.1, 0.4, 0.7, 0.9]), min_size=1, max_size=4), min_size=1, max_size=4))
def test_the_choice_maximises_the_sum_of_the_weights(weights: list[list[float]]) -> None:
    sizes = [len(layer) for layer in weights]
    best = max(
        product(*map(range, sizes)), key=lambda pipeline: sum(w[p] for w, p in zip(weights, pipeline, strict=True))
    )
    chosen = bandit_over(plain_space(*sizes)).choose(weights)
    assert chosen == tuple(layer.index(max(layer)) for layer in weights), "the first of equals"
    assert sum(w[p] for w, p in zip(weights, chosen, strict=True)) == pytest.approx(
        sum(w[p] for w, p in zip(weights, best, strict=True))
    )


@settings(max_examples=few(100), deadline=None)
@given(spaces(), st.integers(0, 99))
def test_the_choice_is_the_best_alternative_that_leads_to_a_leaf_layer_by_layer(space: Space, seed: int) -> None:
    tree = DiscrepancyTree(Structures(space))
    if not tree.leaf_count:
        return
    # Few different weights, so that there are ties.
    rng = default_rng(seed)
    weights = [[float(rng.integers(3)) for _ in layer.alternatives] for layer in tree.layers]
    left = list(tree.iter_leaves())
    for number, layer in enumerate(weights):
        places = sorted({leaf[number] for leaf in left})
        if places != [NOT_REACHED]:
            taken = max(places, key=layer.__getitem__)
            left = [leaf for leaf in left if leaf[number] == taken]
    assert bandit_over(space).choose(weights) == left[0]
    assert len(left) == 1


def test_the_better_of_two_arms_gets_most_pulls() -> None:
    shares = []
    for seed in range(10):
        bandit = bandit_over(plain_space(2), seed)
        for _ in range(500):
            pipeline = bandit.choose(bandit.draw_weights())
            bandit.pull(pipeline, normalized_loss=0.1 if pipeline == (0,) else 0.6)
        shares.append((sum(bandit.posterior_parameters(0, 0)) - 20) / 500)
    assert sum(share > 0.8 for share in shares) >= 9


def test_it_finds_the_best_pipeline_early() -> None:
    """Losses that are sums over the stages are what a bandit with an arm for each alternative can learn."""
    best = (3, 1, 4)

    def loss(pipeline: Pipeline, _: int) -> float:
        return sum(mine != theirs for mine, theirs in zip(pipeline, best, strict=True)) / 5

    found = [
        [pipeline for pipeline, _ in trainings(Cmab(), plain_space(6, 6, 6), 100, loss, 216, seed)].index(best)
        for seed in range(10)
    ]
    assert np.median(found) < 108 / 2, "random search takes 108 in the middle"


@pytest.mark.parametrize("objective", [hash_loss, failing_loss])
def test_every_pipeline_is_asked_for_once_and_then_it_ends(objective) -> None:  # type: ignore[no-untyped-def]
    driven = drive_search(Cmab().search(Problem(plain_space(4, 4, 4), 100, default_rng(0))), objective, 1_000)
    assert driven.returned
    assert len(set(driven.requests)) == len(driven.requests) == 64


def test_a_bandit_that_is_sure_still_reaches_what_it_would_never_choose() -> None:
    settings = Cmab(alpha0=1e-3, delta0=1e-3)
    assert len(trainings(settings, plain_space(5, 5, 5), 100, best_is((0, 0, 0)), 1_000)) == 125


@pytest.mark.parametrize("workers", [2, 8])
@pytest.mark.parametrize("objective", [hash_loss, failing_loss])
def test_it_draws_while_others_are_busy(objective, workers: int) -> None:  # type: ignore[no-untyped-def]
    driven = drive_search(
        Cmab().search(Problem(plain_space(4, 4, 4), 100, default_rng(0))), objective, 1_000, workers=workers
    )
    assert driven.returned
    assert len(set(driven.requests)) == len(driven.requests) == 64
    assert driven.idle_count <= workers + sum(range(workers)), "only before the first wish, and once nothing is left"


def test_whoever_is_drawn_in_flight_is_pulled_when_it_is_answered() -> None:
    """A bandit of two arms that is sure of one: with both in flight every further draw is owed to it."""
    search = Cmab(alpha0=1e-3, delta0=1e-3).search(Problem(plain_space(3), 100, default_rng(0)))
    next(search)
    (first,) = search.send(SearchEvent(None, 1)).requests
    begun = search.send(SearchEvent(None, 2)).requests
    assert len({first, *begun}) == 3, "after 10 draws of what is in flight the unknown ones are begun"
    assert search.send(SearchEvent(make_trial(first, 0.0), 1)).requests == ()
    for request in begun:
        search.send(SearchEvent(make_trial(request, 0.0), 1)) if request != begun[-1] else None
    with pytest.raises(StopIteration):
        search.send(SearchEvent(make_trial(begun[-1], 0.0), 3))


@pytest.mark.parametrize("workers", [1, 3])
def test_whoever_is_drawn_is_pulled_as_often(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others are in flight, what is drawn again is owed, not once but each time."""
    drawn, pulled = Counter[Pipeline](), Counter[Pipeline]()
    choose, pull = Bandit.choose, Bandit.pull

    def chosen(bandit: Bandit, weights: list[list[float]]) -> Pipeline:
        pipeline = choose(bandit, weights)
        drawn[pipeline] += 1
        return pipeline

    def noted(bandit: Bandit, pipeline: Pipeline, standing: float) -> None:
        pulled[pipeline] += 1
        pull(bandit, pipeline, standing)

    monkeypatch.setattr(Bandit, "choose", chosen)
    monkeypatch.setattr(Bandit, "pull", noted)
    problem = Problem(plain_space(2, 3), 100, default_rng(0))
    assert drive_search(Cmab(alpha0=1e-2, delta0=1e-2).search(problem), hash_loss, 100, workers=workers).returned
    assert len(pulled) == 6
    assert max(drawn.values()) > 2
    more = {pipeline: count - drawn[pipeline] for pipeline, count in pulled.items()}
    assert {*more.values()} <= {0, 1}, "one more where it was begun as an unknown one"


@pytest.mark.parametrize("name", ["f_hat", "alpha0", "delta0"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_options_out_of_bounds(name: str, value: float) -> None:
    with pytest.raises(OptionError) as caught:
        Cmab(**{name: value})
    assert caught.value.help
    assert name in caught.value.message
