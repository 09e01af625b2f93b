"""Selectors: what an iteration is, and what lasts from one call to the next.

See spacelang/optimizers/README.md, section "Selectors".
"""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trainings import brackets
from trying import few

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import LossScale, Request, Status, Trial
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers._selection import SelectionProblem, Selector, TrialMemory
from spacelang.optimizers.blds import Blds
from spacelang.optimizers.cmab import Cmab
from spacelang.optimizers.daub import Daub
from spacelang.optimizers.hyperband import Hyperband
from spacelang.optimizers.lds import Lds
from spacelang.optimizers.mlds import Mlds
from spacelang.optimizers.random import Random
from spacelang.optimizers.successive_halving import SuccessiveHalving
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree
from spacelang.testing.driving import flaky_loss, hash_loss
from spacelang.testing.search_tests import SIZE
from spacelang.testing.selectors import (
    SelectorCallArguments,
    SelectorConformance,
    exactly_summable_penalty,
    theta_always_one,
    theta_always_zero,
    theta_differing_for_some_pipelines,
)
from spacelang.testing.small_spaces import plain_space

RUNGS = rungs(SIZE, 100, 2.0)


class Of(SelectorConformance):
    """Calls of one selector."""

    def __init__(self, optimizer: Blds | Cmab | Daub | Hyperband | Lds | Mlds | Random | SuccessiveHalving) -> None:
        self.optimizer = optimizer

    def selector(self) -> Selector:
        return self.optimizer.selector()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 9), st.sampled_from([1, 3]))
def test_random_draws_so_many_pipelines(iterations: int, seed: int, workers: int) -> None:
    made = Of(Random()).run_calls(
        plain_space(3, 3, 3), SelectorCallArguments(iterations=iterations), seed=seed, workers=workers
    )
    assert len(made.trials[0]) == len(made.full_trials_of_call(0)) == min(iterations, 27)


@pytest.mark.parametrize("optimizer", [Lds(), Lds(disc=2), Blds(b=SIZE), Mlds(b=SIZE)], ids=str)
def test_a_descent_is_an_iteration_and_ends_in_a_local_optimum(optimizer: Lds) -> None:
    for seed in range(5):
        made = Of(optimizer).run_calls(
            plain_space(4, 4, 3), SelectorCallArguments(iterations=1, start=(0, 0, 0)), seed=seed, objective=flaky_loss
        )
        requests = made.requests(0)
        assert made.pipeline(requests[0]) == (0, 0, 0), "it begins where it is told to"
        losses = {leaf: trial.loss for leaf, trial in made.full_trials_of_call(0).items()}
        around = made.tree.walk(made.results[0], optimizer.disc)
        best = losses[made.results[0]]
        assert best is not None
        assert all(losses[leaf] is None or losses[leaf] >= best for leaf in around), "all around it was looked at"


def test_with_enough_descents_the_best_of_all_is_found() -> None:
    for optimizer in (Blds(), Mlds(), Lds()):
        made = Of(optimizer).run_calls(plain_space(3, 3, 3), SelectorCallArguments(iterations=None))
        losses = {leaf: hash_loss(Request(made.configuration(leaf))) for leaf in made.tree.iter_leaves()}
        assert losses[made.results[0]] == min(losses.values())


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_hyperband_makes_so_many_passes(iterations: int) -> None:
    made = Of(Hyperband()).run_calls(plain_space(9, 9, 9, 9), SelectorCallArguments(iterations=iterations))
    one = [
        count
        for bracket in brackets(Hyperband(), SIZE, 2.0)
        for count in (bracket.candidates, *bracket.survivor_counts(2.0)[:-1])
    ]
    assert len(made.trials[0]) <= iterations * sum(one)
    assert len(made.trials[0]) >= 0.95 * iterations * sum(one), "hardly any pipeline is drawn twice"


def test_successive_halving_makes_so_many_brackets() -> None:
    made = Of(SuccessiveHalving(n=16)).run_calls(plain_space(9, 9, 9, 9), SelectorCallArguments(iterations=1))
    assert len(made.trials[0]) == 16 + 8 + 4 + 2


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60), st.integers(0, 9), st.sampled_from([1, 3]))
def test_a_pull_is_an_iteration_also_of_what_is_known(iterations: int, seed: int, workers: int) -> None:
    of = Of(Cmab(alpha0=0.1, delta0=0.1))
    made = of.run_calls(
        plain_space(3, 3), *[SelectorCallArguments(iterations=iterations)] * 3, seed=seed, workers=workers
    )
    assert sum(map(len, made.trials)) <= min(3 * iterations, 9)


def posterior(persistent: bool) -> list[tuple[int, ...]]:
    """Which pipelines a second call draws whose first one has seen that the last alternatives are the best."""

    def loss(request: Request) -> float:
        return 0.0 if request.configuration["s0"] == "a4" and request.configuration["s1"] == "a4" else 0.7

    of = Of(Cmab(alpha0=0.1, delta0=0.1, persistent=persistent))
    made = of.run_calls(
        plain_space(5, 5),
        SelectorCallArguments(iterations=200),
        SelectorCallArguments(theta_always_one, iterations=1),
        objective=loss,
    )
    return [made.pipeline(request) for request in made.requests(1)]


def test_arms_begin_anew_unless_they_persist() -> None:
    assert posterior(persistent=True) == [(4, 4)]
    assert posterior(persistent=False) != [(4, 4)]


def test_daub_returns_so_many_pipelines_and_goes_on_from_there() -> None:
    halves = Of(Daub(b=10)).run_calls(
        plain_space(3, 4), SelectorCallArguments(iterations=2), SelectorCallArguments(iterations=3)
    )
    whole = Of(Daub(b=10)).run_calls(plain_space(3, 4), SelectorCallArguments(iterations=5))
    assert [*halves.requests(0), *halves.requests(1)] == whole.requests(0)
    assert len(halves.full_trials_of_call(0)) == 2
    assert len(halves.full_trials_of_call(1)) == 3
    assert min(request.fidelity or SIZE for request in halves.requests(1)) > rungs(SIZE, 10, 2.0)[2], "no bootstrap"


@settings(max_examples=few(30), deadline=None)
@given(st.integers(0, 9), st.integers(0, 99), st.integers(0, 2))
def test_after_tuning_a_pipeline_its_bounds_begin_anew_and_all_others_are_as_they_were(
    seed: int, place: int, changed: int
) -> None:
    """The next run never uses the stale value of what was tuned, and uses all others."""
    leaves = list(product(range(3), range(3), range(2)))
    tuned = leaves[place % len(leaves)]
    theta = [lambda leaf: int(leaf == tuned), theta_differing_for_some_pipelines(1), theta_always_zero][changed]
    made = Of(Blds()).run_calls(
        plain_space(3, 3, 2),
        SelectorCallArguments(iterations=None),
        SelectorCallArguments(theta, iterations=None),
        seed=seed,
    )
    again = [leaf for leaf in leaves if theta(leaf)]
    trained = [(made.pipeline(request), request.fidelity or SIZE) for request in made.requests(1)]
    assert sorted(trained) == sorted(product(again, RUNGS)), "from the first rung to the last, and nothing else"


def test_seconds_of_a_part_are_those_that_its_trials_have_cost() -> None:
    """An answer from memory costs nothing, and what came before the call is no cost of it."""
    call = SelectorCallArguments(iterations=None, seconds=5.0)
    made = Of(Lds()).run_calls(plain_space(4, 4, 4), *[call] * 4)
    assert [len(trials) for trials in made.trials] == [5, 5, 5, 5]


def test_numbers_and_standings_bear_the_penalty_in_the_unit_of_the_run() -> None:
    tree = DiscrepancyTree(Structures(plain_space(2)))
    selection = SelectionProblem(tree, tree.complete, SIZE, default_rng(0), lambda _: 0.25)
    trial = Trial(Request(tree.complete((0,))), 20.0, scale=LossScale(0.0, 40.0))
    failed = replace(trial, loss=None, status=Status.ERROR)
    assert (selection.penalized_loss(trial), selection.normalized_penalized_loss(trial)) == (30.0, 0.75)
    assert (selection.penalized_loss(failed), selection.normalized_penalized_loss(failed)) == (float("inf"), 1.0)
    assert selection.sort_key(trial) < selection.sort_key(replace(trial, loss=1e9)) < selection.sort_key(failed)
    assert replace(selection, penalty=exactly_summable_penalty).penalized_loss(
        trial
    ) == 20 + 40 * exactly_summable_penalty(trial)


def test_what_is_remembered_holds_no_predictions() -> None:
    memory: TrialMemory[tuple[int, ...]] = TrialMemory()
    trial = Trial(Request(Configuration({"s0": "a0"})), 0.5, predictions=[1, 2, 3])
    memory.record((0,), trial)
    assert memory.trials_of((0,)) == {trial.request: trial}
    assert all(kept.predictions is None for kept in memory.trials_of((0,)).values())
