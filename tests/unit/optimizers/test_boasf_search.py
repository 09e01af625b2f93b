"""BOASF: rounds, shares and who stays, beside a toy of its own; failures, limits, and budgets that are none."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from math import exp, floor, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trying import few

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real
from spacelang.ir.search_protocol import Problem, TotalBudget
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Status, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers.boasf import arm_score, draw_surviving_arms, softmax_shares, survival_probabilities
from spacelang.plugins import OptionError, plugin_identity
from spacelang.report.run_facts import unsupported_features
from spacelang.runtime.budget import Budget
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Evaluate
from spacelang.runtime.history import EndReason, Outcome
from spacelang.runtime.search_loop import run
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import member_nearest_to_default
from spacelang.targets.boasf import Boasf
from spacelang.testing.driving import drive_search, hash_loss
from spacelang.testing.search_tests import SIZE, evaluate
from spacelang.testing.small_spaces import (
    branch,
    choice,
    continuous_space,
    hyperparameter,
    make_space,
    plain_space,
    spaces,
)

NOTHING_SAID = TotalBudget()
LAW = settings(max_examples=few(15), deadline=None)

# ---- scores


def test_shares_and_chances_of_the_paper() -> None:
    assert softmax_shares([0.9, 0.8, 0.5], 100) == pytest.approx([38.8326, 35.1372, 26.0303], abs=1e-4)
    assert sum(softmax_shares([0.9, 0.8, 0.5], 100)) == pytest.approx(100)
    assert survival_probabilities([0.9, 0.8, 0.5]) == pytest.approx([1, 0.75, 0])


def test_the_best_stays_the_worst_does_not_and_others_as_their_scores_say() -> None:
    rng = np.random.default_rng(0)
    stays = Counter(place for _ in range(10_000) for place in draw_surviving_arms([0.9, 0.8, 0.5], "keep", rng))
    assert (stays[0], stays[2]) == (10_000, 0)
    assert stays[1] / 10_000 == pytest.approx(0.75, abs=0.03)


def test_the_score_of_some_rewards() -> None:
    assert np.std([0.7, 0.8, 0.9]) == pytest.approx(0.0816497, abs=1e-7)
    assert arm_score([0.7, 0.8, 0.9], 2) == pytest.approx(0.8942809, abs=1e-7)
    assert arm_score([0.7, 0.8, 0.9], 2, "log2") == pytest.approx(0.8703292, abs=1e-7)
    assert arm_score([0.6], 2) == pytest.approx(0.6)
    assert arm_score([], 2) == 0


@LAW
@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.floats(-3, 3), st.integers(0, 9))
def test_a_constant_more_for_all_changes_nothing(scores: list[float], more: float, seed: int) -> None:
    scores = [round(each, 6) for each in scores]
    others = [each + more for each in scores]
    assert softmax_shares(others, 10) == pytest.approx(softmax_shares(scores, 10))
    assert sum(softmax_shares(scores, 10)) == pytest.approx(10)
    likely = survival_probabilities(scores)
    if likely is not None:
        assert survival_probabilities(others) == pytest.approx(likely, abs=1e-6)
        stays = draw_surviving_arms(scores, "keep", np.random.default_rng(seed))
        assert 0 < len(stays) < len(scores), "somebody stays, somebody does not"


def test_where_all_are_alike_all_stay_or_some_by_chance() -> None:
    assert draw_surviving_arms([0.5, 0.5, 0.5], "keep", np.random.default_rng(0)) == [0, 1, 2]
    assert draw_surviving_arms([0.0], "reference", np.random.default_rng(0)) == [0]
    rng = np.random.default_rng(0)
    sizes = Counter(len(draw_surviving_arms([0.5] * 3, "reference", rng)) for _ in range(2000))
    one, two, three = ((sizes[each] / 2000) for each in (1, 2, 3))
    # Of 27 ways 8 leave nobody, and are drawn again.
    assert (one, two, three) == (
        pytest.approx(12 / 19, abs=0.04),
        pytest.approx(6 / 19, abs=0.04),
        pytest.approx(1 / 19, abs=0.03),
    )


# ---- searches


def arms(count: int) -> Space:
    """So many models, each with a number of its own."""
    rates = [hyperparameter(f"e.m{place}.rate", Real(0.0, 1.0), 0.5, key="e.rate") for place in range(count)]
    return make_space("arms", choice("e", *(branch(f"m{place}", rate) for place, rate in enumerate(rates))))


def model(each: Request | Trial) -> str:
    request = each if isinstance(each, Request) else each.request
    return str(request.configuration["e"])


def drawing(**options: Any) -> Any:
    """BOASF whose arms draw alone, in no time."""
    return OPTIMIZERS.load("boasf")(startup=1000, **{"clock": lambda: 0.0, **options})


def searched(
    space: Space,
    answer: Evaluate,
    *,
    workers: int = 1,
    trials: int = 10_000,
    budget: TotalBudget = NOTHING_SAID,
    seed: int = 0,
    **options: Any,
) -> Outcome:
    """What BOASF comes to, its arms drawing alone."""
    crew = SimulatedExecutor(answer, workers=workers)
    optimizer = drawing(**options)
    problem = Problem(space, SIZE, np.random.default_rng(seed), budget=budget)
    return run(optimizer.search(problem), crew, Budget(trials=trials), clock=crew.clock, training_size=SIZE)


def requests(outcome: Outcome) -> list[Request]:
    return [record.trial.request for record in outcome.records]


class Table:
    """Rewards that depend on the model and on how many times it was pulled before."""

    def __init__(self, rewards: Sequence[Sequence[float]]) -> None:
        self._rewards = rewards
        self._pulls: Counter[str] = Counter()

    def __call__(self, request: Request) -> Trial:
        found = model(request)
        row = self._rewards[int(found.removeprefix("m"))]
        self._pulls[found] += 1
        return Trial(request, 1 - row[(self._pulls[found] - 1) % len(row)], 1.0)


def toy(rewards: Sequence[Sequence[float]], total: int, rounds: int, c: float, seed: int) -> list[dict[str, int]]:
    """The pulls of each arm in each round by the book, its rewards from a table."""
    rng = np.random.default_rng(seed)
    seen: dict[int, list[float]] = {place: [] for place in range(len(rewards))}
    left, found = [*seen], []
    ucb = dict.fromkeys(left, 0.0)
    for turn in range(rounds):
        weight = {arm: exp(ucb[arm]) for arm in left}
        pulls = {
            arm: total / rounds / len(left) if turn == 0 else total / rounds * weight[arm] / sum(weight.values())
            for arm in left
        }
        for arm in left:
            for _ in range(max(1, floor(pulls[arm] + 1e-9))):
                seen[arm].append(rewards[arm][len(seen[arm]) % len(rewards[arm])])
        found.append({f"m{arm}": max(1, floor(pulls[arm] + 1e-9)) for arm in left})
        for arm in left:
            mean = sum(seen[arm]) / len(seen[arm])
            spread = sqrt(sum((each - mean) ** 2 for each in seen[arm]) / len(seen[arm]))
            ucb[arm] = mean + c * spread / sqrt(len(seen[arm]))
        if turn < rounds - 1 and len(left) > 1:
            low, high = min(ucb[arm] for arm in left), max(ucb[arm] for arm in left)
            draws = rng.random(len(left))
            keeps = [(ucb[arm] - low) / (high - low) for arm in left]
            left = [arm for arm, p, u in zip(left, keeps, draws, strict=True) if p == 1 or (p > 0 and u <= p)]
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("workers", [1, 3])
def test_arms_are_pulled_as_in_a_toy(seed: int, workers: int) -> None:
    rewards = np.random.default_rng(seed).random((6, 7)).tolist()
    expected = toy(rewards, 90, 3, 2.0, seed)
    outcome = searched(
        arms(6), Table(rewards), workers=workers, seed=seed, resource="evaluations", total=90.0, trials=pulls(expected)
    )
    found, made_so_far = [model(each) for each in requests(outcome)], 0
    for turn in expected:
        number_of = sum(turn.values())
        assert Counter(found[made_so_far : made_so_far + number_of]) == turn
        made_so_far += number_of
    assert len(found) == made_so_far
    assert [len(turn) for turn in expected] == sorted({len(turn) for turn in expected}, reverse=True)


def pulls(rounds: Sequence[dict[str, int]]) -> int:
    return sum(sum(turn.values()) for turn in rounds)


def test_in_the_first_round_all_have_the_same() -> None:
    """120 evaluations in 3 rounds over 4 arms: 10 each, side by side."""
    outcome = searched(arms(4), evaluate, trials=40, budget=TotalBudget(trials=120))
    assert Counter(map(model, requests(outcome))) == {f"m{place}": 10 for place in range(4)}
    assert [model(each) for each in requests(outcome)][:8] == [f"m{place}" for place in range(4)] * 2


def dear(request: Request) -> Trial:
    """An evaluation of up to 2 s."""
    return Trial(request, hash_loss(request), 2 * hash_loss(replace(request, fidelity=7)))


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_seconds_are_overdrawn_by_no_more_than_what_is_under_way(workers: int) -> None:
    crew = SimulatedExecutor(dear, workers=workers)
    problem = Problem(arms(4), SIZE, np.random.default_rng(0), budget=TotalBudget(seconds=120.0))
    outcome = run(drawing(rounds=1).search(problem), crew, Budget(trials=60), clock=crew.clock, training_size=SIZE)
    first = Counter[str]()
    for record in outcome.records:
        found = model(record.trial)
        assert first[found] < 30, "whoever has overdrawn sits out"
        first[found] += record.trial.cost


def test_an_evaluation_may_take_what_its_arm_has_left_and_no_more_than_the_limit() -> None:
    left, limit, begun = Counter({f"m{place}": 10.0 for place in range(4)}), 8.0, set[str]()
    outcome = searched(arms(4), dear, trials=30, budget=TotalBudget(seconds=120.0), limit=limit)
    for record in outcome.records[:20]:
        found = model(record.trial)
        assert record.trial.request.seconds == pytest.approx(min(limit, left[found]) if found in begun else limit)
        left[found] -= record.trial.cost
        begun.add(found)
    counted = searched(arms(4), dear, trials=10, budget=TotalBudget(trials=120))
    assert {each.seconds for each in requests(counted)} == {120.0}
    unbounded = searched(arms(4), dear, trials=10, budget=TotalBudget(trials=120), limit=0.0)
    assert {each.seconds for each in requests(unbounded)} == {None}


def test_a_share_that_is_less_than_a_trial_takes_does_not_end_it() -> None:
    """Of 6 s in 3 rounds each of 4 arms has half a second in the first, where a trial takes at least one."""

    def slow(request: Request) -> Trial:
        if request.seconds is not None and request.seconds < 1:
            return Trial(request, None, request.seconds, Status.TIMEOUT)
        return Trial(request, 0.5, 1.0)

    outcome = searched(arms(4), slow, trials=4, budget=TotalBudget(seconds=6.0))
    assert {each.seconds for each in requests(outcome)} == {2.0}, "no more than all arms have in the round"
    assert {model(record.trial) for record in outcome.records} == {f"m{place}" for place in range(4)}
    assert all(record.trial.loss is not None for record in outcome.records)


@pytest.mark.parametrize("rounds", [1, 2])
def test_proposals_are_charged_so_that_rounds_end_where_trials_cost_nothing(rounds: int) -> None:
    """Half a second a proposal: of 60 s in 3 rounds over 4 arms each has 10 in the first round, and the best in all."""
    clock = count(step=0.5)
    budget = TotalBudget(seconds=60.0)
    outcome = searched(arms(4), free, trials=40 * rounds, budget=budget, clock=lambda: next(clock))
    found = [model(each) for each in requests(outcome)]
    assert Counter(found[:40]) == {f"m{place}": 10 for place in range(4)}
    assert len({*found[40:]}) < 4


def free(request: Request) -> Trial:
    """An evaluation that takes no time."""
    return Trial(request, (int(model(request)[1:]) + hash_loss(request)) / 4)


def test_what_proposals_took_is_told_again_and_not_measured_again() -> None:
    def told(known: Sequence[Trial], step: float) -> tuple[Trial, ...]:
        clock = count(step=step)
        problem = Problem(arms(4), SIZE, np.random.default_rng(0), budget=TotalBudget(seconds=60.0))
        return drive_search(drawing(clock=lambda: next(clock)).search(problem), hash_loss, 70, known=known).trials

    whole = told((), 0.5)
    assert told(whole, 99.0) == whole
    assert told((), 99.0) != whole


def test_a_clock_tells_nobody_apart() -> None:
    """A run that is kept goes on by any clock."""
    usual, drawn = OPTIMIZERS.load("boasf")(), OPTIMIZERS.load("boasf")(clock=lambda: 0.0)
    assert usual == drawn
    assert plugin_identity(usual) == plugin_identity(drawn)
    assert "clock" not in plugin_identity(usual)


def test_who_was_dropped_is_not_evaluated_again_and_may_have_been_the_best() -> None:
    """One reward of 1 and then none for the first arm: it is dropped, and stays the answer."""
    rewards = [[0.99, *[0.0] * 99], [0.7, 0.71], [0.8, 0.81]]
    outcome = searched(arms(3), Table(rewards), trials=90, budget=TotalBudget(trials=90), c=0.0)
    found = [model(each) for each in requests(outcome)]
    assert "m0" not in found[30:]
    assert outcome.best is not None
    assert model(outcome.best.trial) == "m0"


# ---- what goes wrong


def test_all_failing_all_stay_and_the_search_goes_on() -> None:
    outcome = searched(
        arms(3), lambda request: Trial(request, None, 1.0, Status.ERROR), trials=90, budget=TotalBudget(trials=90)
    )
    assert Counter(map(model, requests(outcome))) == {f"m{place}": 30 for place in range(3)}


def test_an_arm_whose_trials_all_time_out_is_charged_and_dropped() -> None:
    def slow(request: Request) -> Trial:
        if model(request) == "m1":
            assert request.seconds is not None
            return Trial(request, None, request.seconds, Status.TIMEOUT)
        return Trial(request, 0.5 * hash_loss(request), 1.0)

    outcome = searched(arms(2), slow, trials=60, budget=TotalBudget(seconds=60.0))
    own = [record.trial for record in outcome.records if model(record.trial) == "m1"]
    assert [each.cost for each in own] == [20.0], (
        "one attempt takes all that it has, and what all have in the round at most"
    )
    assert len(outcome.records) == 60


def test_rounds_that_are_longer_than_the_budget_have_one_trial_an_arm() -> None:
    outcome = searched(arms(5), evaluate, trials=3, budget=TotalBudget(trials=3))
    assert len({model(each) for each in requests(outcome)}) == 3
    assert outcome.ended is EndReason.BUDGET


def test_without_a_budget_an_arm_has_twenty_evaluations() -> None:
    outcome = searched(arms(3), evaluate, trials=60)
    assert Counter(map(model, requests(outcome))) == {f"m{place}": 20 for place in range(3)}


def test_what_the_rounds_leave_goes_to_those_that_are_left() -> None:
    outcome = searched(arms(3), evaluate, trials=120, resource="evaluations", total=30.0)
    found = [model(each) for each in requests(outcome)]
    assert len(found) == 120
    assert {*found[60:]} <= {*found[20:30]}


def test_arms_without_anything_new_sit_out() -> None:
    """One arm has two configurations, the other one any number: it goes on alone."""
    outcome = searched(continuous_space(), evaluate, trials=100, budget=TotalBudget(trials=100))
    assert len(outcome.records) == 100


@pytest.mark.parametrize(
    "options",
    [{"rounds": 0}, {"c": -1.0}, {"total": -1.0}, {"limit": -1.0}, {"startup": 0}, {"gamma": 0.0}, {"k": 0}],
    ids=str,
)
def test_options_have_bounds(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError) as caught:
        OPTIMIZERS.load("boasf")(**options)
    assert f"`{next(iter(options))}`" in caught.value.message


def test_too_many_arms_and_no_stage_are_refused() -> None:
    problem = Problem(plain_space(4, 4), SIZE, np.random.default_rng(0))
    for options in ({"cap": 3}, {"stage": "nobody"}):
        with pytest.raises(OptionError):
            next(OPTIMIZERS.load("boasf")(**options).search(problem))


def test_a_run_says_so_where_its_optimizer_cannot_search_the_space() -> None:
    giant = make_space("giant", hyperparameter("x", Grid(0, 2**70), 1))
    for name in ("tpe", "boasf", "random_forest_tpe"):
        with pytest.raises(InputError) as caught:
            unsupported_features(OPTIMIZERS.load(name)(), giant)
        assert caught.value.help


# ---- baselines


def forests() -> Space:
    """A space whose last stage has a random forest under a name of its own."""
    depth = hyperparameter("e.RandomForestClassifier.depth", Grid(1, 40), 3, key="e.depth")
    rate = hyperparameter("e.other.rate", Real(0.0, 1.0), 0.5, key="e.rate")
    kind = hyperparameter("e.RandomForestClassifier.kind", Categorical(("gini", "entropy")), "gini", key="e.kind")
    forest = branch("RandomForestClassifier", depth, kind)
    return make_space("forests", choice("s", "none", "scale"), choice("e", branch("other", rate), forest))


def told(name: str, space: Space, trials: int, workers: int = 1, **options: Any) -> list[Configuration]:
    search = OPTIMIZERS.load(name)(**options).search(Problem(space, SIZE, np.random.default_rng(1)))
    return [each.configuration for each in drive_search(search, hash_loss, trials, workers=workers, seed=4).requests]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_a_random_forest_by_tpe_is_boasf_with_one_arm_and_one_round(workers: int) -> None:
    whole = forests()
    (stage,) = [each for each in whole.stages if each.key == "e"]
    alone = make_space("alone", whole.stages[0], replace(stage, branches=stage.branches[1:]))
    expected = told("boasf", alone, 26, workers, rounds=1, resource="evaluations", total=26.0)
    assert told("random_forest_tpe", whole, 26, workers) == expected
    assert {each["e"] for each in expected} == {"RandomForestClassifier"}
    assert told("tpe", alone, 26, workers) == expected


def test_a_space_without_a_random_forest_is_refused_and_says_what_it_has() -> None:
    search = OPTIMIZERS.load("random_forest_tpe")().search(Problem(plain_space(2, 3), SIZE, np.random.default_rng(0)))
    with pytest.raises(OptionError) as caught:
        next(search)
    assert "random forest" in caught.value.message
    assert caught.value.help == "the last stage has the models `a0`, `a1`, `a2`"


@pytest.mark.parametrize("seed", [0, 1])
def test_the_undivided_space_by_tpe_is_boasf_with_one_piece_and_one_round(seed: int) -> None:
    space = forests()
    problem = Problem(space, SIZE, np.random.default_rng(seed))
    found = [
        drive_search(optimizer.search(problem), hash_loss, 26, seed=seed).requests
        for optimizer in (
            OPTIMIZERS.load("tpe")(),
            OPTIMIZERS.load("boasf")(arms="subspaces", k=1, rounds=1, resource="evaluations", total=26.0),
        )
    ]
    assert found[0] == found[1]


@LAW
@given(spaces(), st.sampled_from((1, 3)))
def test_select_best_tries_every_model_once_with_its_defaults(space: Space, workers: int) -> None:
    structures = Structures(space)
    driven = drive_search(
        OPTIMIZERS.load("select_best")().search(Problem(space, SIZE, np.random.default_rng(0))),
        hash_loss,
        50,
        workers=workers,
    )
    assert driven.returned
    if not structures.count:
        assert not driven.trials
        return
    models = Boasf().lower(structures).form.arms
    assert [each.configuration for each in driven.requests] == [
        member_nearest_to_default(arm.structures)[1] for arm in models
    ]


# ---- workers


@pytest.mark.parametrize(("name", "trials"), [("tpe", 160), ("boasf", 480)])
def test_eight_workers_are_busy_nine_tenths_of_the_time(name: str, trials: int) -> None:
    """Where a round of `boasf` has 20 trials for each of them, at whose end they wait for each other."""
    workers = 8
    crew = SimulatedExecutor(dear, workers=workers)
    problem = Problem(arms(4), SIZE, np.random.default_rng(0), budget=TotalBudget(trials=trials))
    outcome = run(
        OPTIMIZERS.load(name)(startup=1000).search(problem),
        crew,
        Budget(trials=trials),
        clock=crew.clock,
        training_size=SIZE,
    )
    busy = sum(record.trial.cost for record in outcome.records if not record.is_speculative)
    assert busy >= 0.9 * workers * outcome.seconds
