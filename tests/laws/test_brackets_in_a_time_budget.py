"""Brackets of successive halving in a time budget: they fit in, reach all rows and are not all overhead.

See spacelang/optimizers/README.md, section "Brackets in a time budget".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from trying import few

import spacelang as sl
from spacelang.api import experiment, load
from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.search_protocol import Problem, TotalBudget
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._fidelity import (
    OVERHEAD_FACTOR,
    PROBE_CANDIDATES,
    Bracket,
    TimeBudgetBracketPlan,
    TrainingCostModel,
    hyperband_brackets,
    rungs,
)
from spacelang.plugins import plugin_identity
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome
from spacelang.runtime.search_loop import run
from spacelang.testing.driving import drive_search, hash_loss, make_trial
from spacelang.testing.memory_storage import EventLog, MemoryTrialStorage
from spacelang.testing.small_spaces import plain_space

NAMES = ("hyperband", "successive_halving", "bohb")
EACH = pytest.mark.parametrize("name", NAMES)
CHEAP: dict[str, dict[str, str]] = {"bohb": {"candidates": "8", "random_fraction": "0.9"}}


@dataclass(frozen=True)
class FitCost:
    """The seconds of a fit: a part that does not depend on the rows, and a part for each row, times a spread."""

    overhead: float
    per_row: float
    spread: float = 1.0

    def __call__(self, request: Request, size: int) -> float:
        share = hash_loss(replace(request, fidelity=None))  # a configuration is slow or fast on any number of rows
        return (self.overhead + self.per_row * (request.fidelity or size)) * self.spread ** (2 * share - 1)


costs = st.builds(FitCost, st.floats(1e-3, 2.0), st.floats(1e-6, 1e-3))
etas = st.sampled_from([2.0, 3.0, 4.0])


def optimizer(name: str) -> Any:
    return OPTIMIZERS.configure(OPTIMIZERS.load(name), CHEAP.get(name, {}))


def searched(name: str, cost: FitCost, size: int, seconds: float, *, workers: int = 1, **how: Any) -> Outcome:
    """A run of a time budget in which a trial takes as long as `cost` says."""

    def evaluate(request: Request) -> Trial:
        return replace(make_trial(request, hash_loss(request)), cost=cost(request, size))

    budget = TotalBudget(seconds=seconds * workers)
    search = optimizer(name).search(Problem(load("boasf_random_forest").checked, size, default_rng(0), budget=budget))
    if (heard := how.pop("heard", None)) is not None:
        search = heard.log_search(search)
    executor = SimulatedExecutor(evaluate, workers=workers)
    return run(search, executor, Budget(seconds=seconds), clock=executor.clock, training_size=size, **how)


def bracket_cost(bracket: Bracket, eta: float, predict: Callable[[int], float]) -> float:
    counts = (bracket.candidates, *bracket.survivor_counts(eta)[:-1])
    return sum(count * predict(rows) for count, rows in zip(counts, bracket.sizes, strict=True))


@given(costs, st.integers(101, 100_000), etas, st.floats(1.0, 10_000.0))
@settings(max_examples=few(200), deadline=None)
def test_a_bracket_is_expected_to_reach_its_last_rung_within_what_is_left(
    cost: FitCost, size: int, eta: float, seconds: float
) -> None:
    """Costs are those of the formula: a bracket fits in the budget that is left, but for a single training."""
    grid = rungs(size, 100, eta)

    def fit(rows: int) -> float:
        return cost.overhead + cost.per_row * rows

    plan = TimeBudgetBracketPlan(lambda grid: hyperband_brackets(grid, eta, "ceil"), grid, (), eta, seconds)
    left, has_whole = seconds, False
    for _ in range(30):
        bracket = plan.next_bracket(())
        is_probe = bracket.sizes == (grid[0], grid[len(grid) // 2]) and bracket.candidates == PROBE_CANDIDATES
        if not is_probe:
            is_single = bracket.candidates == len(bracket.sizes) == 1
            assert is_single or bracket_cost(bracket, eta, fit) <= left * (1 + 1e-6)
            assert bracket.sizes[-1] == size or (fit(size) > left and not has_whole)
            for lower, upper in pairwise(bracket.sizes):
                assert fit(lower) >= OVERHEAD_FACTOR * cost.overhead * (1 - 1e-6)
                assert fit(lower) <= fit(upper) / eta * (1 + 1e-6), "a rung saves much of the next one's cost"
        for count, rows in zip((bracket.candidates, *bracket.survivor_counts(eta)), bracket.sizes, strict=False):
            for _ in range(count):
                plan.record(rows, fit(rows))
                left -= fit(rows)
        has_whole |= bracket.sizes[-1] == size
        if left <= 0:
            break


@given(costs, st.lists(st.sampled_from(rungs(20_000, 100, 2.0)), min_size=2, max_size=6, unique=True))
def test_linear_costs_are_predicted_and_their_overhead_is_found(cost: FitCost, known: list[int]) -> None:
    seen = TrainingCostModel()
    for rows in known:
        seen.record(rows, cost.overhead + cost.per_row * rows)
    assert seen.row_independent_cost == pytest.approx(cost.overhead, rel=1e-6)
    for rows in (*range(min(known), max(known), 777), 10 * max(known)):
        assert seen.predict(rows) == pytest.approx(cost.overhead + cost.per_row * rows)


def test_results_from_memory_say_nothing_of_costs() -> None:
    seen = TrainingCostModel()
    seen.record(100, 0.0)
    assert (seen.predict(100), seen.spent, seen.rows) == (0.0, 0.0, {100})


@EACH
@settings(max_examples=few(20), deadline=None)
@given(cost=costs, size=st.integers(1_000, 50_000), fits=st.floats(6.0, 40.0), workers=st.sampled_from([1, 2, 8]))
def test_a_budget_of_some_fits_trains_on_all_rows(
    name: str, cost: FitCost, size: int, fits: float, workers: int
) -> None:
    whole = cost.overhead + cost.per_row * size
    probe = 8 * cost.overhead + size / 2 * cost.per_row
    found = searched(name, cost, size, fits * whole + probe, workers=workers)
    assert any(each.trial.request.fidelity is None for each in found.records)


@EACH
def test_fits_that_are_all_overhead_are_only_those_that_measure_it(name: str) -> None:
    """A second for each fit and half a millisecond for each row: of 16,000 rows, those below 2,000 are overhead."""
    cost, size = FitCost(1.0, 5e-4, spread=2.0), 16_000
    found = searched(name, cost, size, 300.0)
    few_rows = [each for each in found.records if each.trial.request.fidelity in range(1, 1_000)]
    assert len(few_rows) == PROBE_CANDIDATES
    assert sum(each.trial.request.fidelity is None for each in found.records) >= 5


@EACH
@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_resumes_where_it_was_stopped(name: str, workers: int) -> None:
    cost, size = FitCost(0.2, 5e-4, spread=4.0), 8_000
    journal, heard = MemoryTrialStorage(), EventLog()
    searched(name, cost, size, 120.0, workers=workers, heard=heard, journal=journal)
    assert len(heard.finished_trials) > 20
    for stop in (3, 8, 20):
        again = EventLog()
        searched(name, cost, size, 120.0, workers=workers, heard=again, journal=journal.killed_after(stop))
        assert again.finished_trials[:stop] == heard.finished_trials[:stop]


@EACH
@pytest.mark.parametrize("seconds", [1.0, 1e6])
def test_a_finite_space_is_exhausted(name: str, seconds: float) -> None:
    """Also by a run that was resumed with a larger budget, beyond that of its problem."""
    problem = Problem(plain_space(3, 4), 800, default_rng(0), budget=TotalBudget(seconds=seconds))
    found = drive_search(optimizer(name).search(problem), hash_loss, 1_000)
    assert found.returned
    assert len({each.configuration for each in found.requests if each.fidelity is None}) == 12


@EACH
def test_a_store_without_the_option_goes_on_with_the_published_brackets(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions have made it, for which every time budget had the published brackets."""
    space, store = sl.load("boasf_random_forest"), tmp_path / "run.db"

    def found(trials: int, **more: Any) -> list[tuple[Any, ...]]:
        made = {
            "objective": lambda _, rows: 1 / rows,
            "fidelities": (100, 200, 400, 800),
            "time": 1_000.0,
            "workers": 0,
        }
        grid = {**CHEAP.get(name, {}), "b": 100, "eta": 2.0, **more.pop("optimizer_options", {})}
        result = sl.search(space, optimizer=name, optimizer_options=grid, trials=trials, **made, **more)
        return [tuple(row) for row in result.trials.filter(regex="fidelity|param_").fillna(0).to_numpy()]

    published = found(20, optimizer_options={"brackets": "published"})
    assert published != found(20)
    with monkeypatch.context() as earlier:
        earlier.setattr(experiment, "plugin_identity", lambda plugin: without_brackets(plugin_identity(plugin)))
        found(6, optimizer_options={"brackets": "published"}, store=store)
    assert found(20, store=store, resume=True) == published


def without_brackets(options: Mapping[str, object]) -> dict[str, object]:
    return {option: value for option, value in options.items() if option != "brackets"}
