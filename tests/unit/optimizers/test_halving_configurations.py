"""Successive halving and Hyperband over configurations: a bracket may hold several of one structure."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trainings import brackets
from trying import few

from spacelang.api import load
from spacelang.ir.domain import Grid, Real
from spacelang.ir.membership import first_exclusion
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, sort_key
from spacelang.optimizers._draws import BATCH_SIZE
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers.hyperband import Hyperband
from spacelang.optimizers.random import Random
from spacelang.optimizers.successive_halving import SuccessiveHalving
from spacelang.testing.driving import drive_search, failing_loss, flaky_loss, hash_loss
from spacelang.testing.small_spaces import (
    admissible_structures,
    branch,
    brute_force_members,
    choice,
    continuous_space,
    hyperparameter,
    make_space,
    pinned_range_space,
    plain_space,
    spaces,
)

BOTH = pytest.mark.parametrize("make", [Hyperband, SuccessiveHalving])


def forest() -> Space:
    """One structure with numbers."""
    return load("boasf_random_forest").checked


def asked(make, space: Space, size: int, limit: int, seed: int = 0, objective=hash_loss) -> tuple[Request, ...]:  # type: ignore[no-untyped-def]
    return drive_search(make().search(Problem(space, size, default_rng(seed))), objective, limit).requests


@BOTH
def test_a_thousand_trials_of_a_single_structure_on_all_rows_are_a_thousand_configurations(make) -> None:  # type: ignore[no-untyped-def]
    requests = asked(make, forest(), 100, 1_000)
    assert len({request.configuration for request in requests}) == len(requests) == 1_000


@BOTH
def test_every_trial_on_a_first_rung_is_of_a_configuration_of_its_own(make) -> None:  # type: ignore[no-untyped-def]
    requests = asked(make, forest(), 800, 1_000)
    trials = Counter(request.configuration for request in requests)
    assert len(requests) == 1_000
    assert len(trials) > 400, "the others are of those that went on to more rows"
    assert len(set(requests)) == len(requests)


def test_a_bracket_holds_different_configurations_and_the_best_go_on() -> None:
    driven = drive_search(
        SuccessiveHalving(n=32).search(Problem(forest(), 400, default_rng(0))), flaky_loss, 32 + 16 + 8 + 32
    )
    first, second, third, again = (driven.trials[a:b] for a, b in ((0, 32), (32, 48), (48, 56), (56, 88)))
    for trials, rows, before in ((first, 100, ()), (second, 200, first), (third, None, second), (again, 100, ())):
        assert {trial.request.fidelity for trial in trials} == {rows}
        found = {trial.request.configuration for trial in trials}
        assert len(found) == len(trials)
        assert not before or found == {t.request.configuration for t in sorted(before, key=sort_key)[: len(trials)]}


@pytest.mark.parametrize("workers", [1, 8])
def test_the_brackets_of_hyperband_are_those_of_the_book(workers: int) -> None:
    made = list(brackets(Hyperband(), 800, 2.0))
    counts = [(bracket.candidates, *bracket.survivor_counts(2.0)[:-1]) for bracket in made]
    limit = sum(map(sum, counts))
    requests = drive_search(
        Hyperband().search(Problem(forest(), 800, default_rng(0))), hash_loss, limit, workers=workers
    ).requests
    whole = drive_search(Hyperband().search(Problem(forest(), 800, default_rng(0))), hash_loss, limit).requests
    assert [request.fidelity for request in whole] == [
        None if rows == 800 else rows
        for bracket, entering in zip(made, counts, strict=True)
        for rows, count in zip(bracket.sizes, entering, strict=True)
        for _ in range(count)
    ]
    assert len(set(requests) & set(whole)) >= limit - 2 * workers, "idle workers have begun the next iteration"


def test_on_a_single_rung_hyperband_is_random_search() -> None:
    first, second = (
        drive_search(
            each.search(Problem(continuous_space(), 100, default_rng(3))), hash_loss, 2 * BATCH_SIZE, workers=4
        ).requests
        for each in (Hyperband(), Random())
    )
    assert first == second


@BOTH
@settings(max_examples=few(30), deadline=None)
@given(spaces(), st.integers(0, 9), st.sampled_from([hash_loss, flaky_loss, failing_loss]), st.sampled_from([50, 400]))
def test_a_finite_space_is_exhausted_once_every_configuration_was_trained_on_all_rows(  # type: ignore[no-untyped-def]
    make, space: Space, seed: int, objective, size: int
) -> None:
    driven = drive_search(make().search(Problem(space, size, default_rng(seed))), objective, 20_000)
    whole = [request.configuration for request in driven.requests if request.fidelity is None]
    everything = {each for structure in admissible_structures(space) for each in brute_force_members(space, structure)}
    assert driven.returned
    assert len(set(driven.requests)) == len(driven.requests)
    assert set(whole) == everything
    assert all(request.fidelity in (None, *rungs(size, 100, 2.0)) for request in driven.requests)


@BOTH
def test_an_infinite_space_is_never_exhausted(make) -> None:  # type: ignore[no-untyped-def]
    endless = make_space("endless", choice("e", "a", branch("b", hyperparameter("e.b.x", Real(0.0, 1.0), 0.5))))
    requests = asked(make, endless, 400, 3_000)
    assert len(requests) == 3_000
    assert all(first_exclusion(endless, request.configuration) is None for request in requests)
    assert sum(request.configuration["e"] == "a" for request in requests) <= 3, "it is one configuration"
    assert drive_search(make().search(Problem(pinned_range_space(), 400, default_rng(0))), hash_loss, 3_000).returned, (
        "a constraint leaves two"
    )


@BOTH
@pytest.mark.parametrize("space", [plain_space(4, 4, 4), plain_space(*[10] * 20)], ids=["small", "large"])
def test_without_hyperparameters_a_configuration_is_a_pipeline(make, space: Space) -> None:  # type: ignore[no-untyped-def]
    drawn, kept = (
        drive_search(make(hyperparameters=rule).search(Problem(space, 500, default_rng(1))), hash_loss, 400).requests
        for rule in ("sample", "default")
    )
    assert drawn == kept


@BOTH
def test_the_rest_of_a_finite_space_comes_in_the_order_of_what_is_known_of_it(make) -> None:  # type: ignore[no-untyped-def]
    space = make_space(
        "s", choice("e", *(branch(name, hyperparameter(f"e.{name}.x", Grid(0.0, 3.0, step=1.0), 0.0)) for name in "ab"))
    )
    driven = drive_search(make().search(Problem(space, 400, default_rng(0))), hash_loss, 1_000)
    whole = [trial for trial in driven.trials if trial.request.fidelity is None]
    assert driven.returned
    assert len(whole) == 8
    further = Counter(request.configuration for request in driven.requests)
    late = whole[-3:]
    assert [further[each.request.configuration] for each in late] == sorted(
        (further[each.request.configuration] for each in late), reverse=True
    )
