"""However many workers evaluate, and in whichever order they end: what the optimizers ask for and are told."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Problem, Search, ask_all
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._candidates import BracketRun, ConcurrentBrackets
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import Executor
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.search_loop import run
from spacelang.testing.memory_storage import EventLog, MemoryTrialStorage
from spacelang.testing.search_tests import (
    SIZE,
    TRIALS,
    TickingClock,
    configuration_prefix,
    evaluate,
    evaluate_with_varied_cost,
    run_search,
)
from spacelang.testing.simulated_workers import ShuffledWorkers
from spacelang.testing.small_spaces import plain_space, spaces

from .settings import EXAMPLES, LAW

ONE_BY_ONE = ("blds", "daub", "lds", "mlds")
"""Those that want one trial at a time, whatever idle workers are given to do."""

HALVING = ("hyperband", "successive_halving")

FEW = settings(LAW, max_examples=EXAMPLES // 3, phases=[Phase.generate])


def kept(records: Sequence[TrialRecord]) -> set[tuple[str, int | None, float | None]]:
    trials = [each.trial for each in records]
    found = [(each.request.configuration.identity, each.request.fidelity, each.loss) for each in trials]
    assert len(set(found)) == len(found)
    return set(found)


def begun(name: str, space: Space, **options: object) -> Search:
    search: Search = OPTIMIZERS.load(name)(**options).search(Problem(space, SIZE, np.random.default_rng(0)))
    return search


def searched(
    name: str, space: Space, executor: Executor, trials: int = TRIALS, heard: EventLog | None = None, **options: object
) -> Outcome:
    return run_search(begun(name, space, **options), executor, trials, heard=heard, prefix_key=configuration_prefix)


# ---- rounds


def rounds(batches: Sequence[Sequence[int]], told: list[tuple[Trial, ...]]) -> Search:
    for batch in batches:
        answers = yield from ask_all(Request(Configuration({"x": number})) for number in batch)
        told.append(answers)


BATCHES = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=6)


@given(BATCHES, st.integers(1, 5), st.integers(0, 99))
@LAW
def test_rounds_are_answered_in_their_own_order_and_everything_is_evaluated_once(
    batches: list[list[int]], workers: int, seed: int
) -> None:
    one: list[tuple[Trial, ...]] = []
    many: list[tuple[Trial, ...]] = []
    alone = run(rounds(batches, one), InProcess(evaluate), Budget(), clock=TickingClock())
    crew = ShuffledWorkers(evaluate, workers, seed)
    crowd = run(rounds(batches, many), crew, Budget(), clock=TickingClock(), prefix_key=configuration_prefix)
    assert [[each.loss for each in batch] for batch in many] == [[each.loss for each in batch] for batch in one]
    assert [[each.request for each in batch] for batch in many] == [[each.request for each in batch] for batch in one]
    assert kept(crowd.records) == kept(alone.records)
    assert (crowd.answered_from_memory, crowd.ended, crowd.unfinished) == (alone.answered_from_memory, alone.ended, 0)
    assert [each.index for each in crowd.records] == [*range(1, len(crowd.records) + 1)]
    assert crew.max_busy <= workers
    assert not crew.busy


@given(BATCHES, st.integers(1, 5), st.integers(1, 5), st.integers(0, 99), st.integers(1, 30), st.integers(1, 30))
@LAW
def test_rounds_that_were_killed_anywhere_go_on_as_those_that_were_not(
    batches: list[list[int]], workers: int, others: int, seed: int, stop: int, trials: int
) -> None:
    one: list[tuple[Trial, ...]] = []
    again: list[tuple[Trial, ...]] = []
    first = MemoryTrialStorage()
    whole = run(rounds(batches, one), InProcess(evaluate), Budget(), clock=TickingClock())
    part = Budget(trials=trials)
    run(rounds(batches, []), ShuffledWorkers(evaluate, workers, seed), part, clock=TickingClock(), journal=first)
    second = first.killed_after(min(stop, len(first.appended)))
    resumed = run(
        rounds(batches, again), ShuffledWorkers(evaluate, others, seed), Budget(), clock=TickingClock(), journal=second
    )
    assert [[each.loss for each in batch] for batch in again] == [[each.loss for each in batch] for batch in one]
    assert kept(resumed.records) == kept(whole.records)


# ---- no method in disguise


def in_earnest(heard: EventLog, name: str) -> list[tuple[Request, float | None, float]]:
    """What was told, as far as its order is decided: `daub` begins with rounds, which end in any order."""
    found = [(each.request, each.loss, each.cost) for each in heard.finished_trials]
    if name != "daub":
        return found
    places = {request: place for place, request in reversed([*enumerate(heard.committed_requests)])}
    return sorted(found, key=lambda each: places[each[0]])


@pytest.mark.parametrize("name", ONE_BY_ONE)
@given(space=spaces(), workers=st.integers(2, 9), order=st.integers(0, 99))
@FEW
def test_what_is_wanted_one_by_one_depends_neither_on_workers_nor_on_who_ends_first(
    name: str, space: Space, workers: int, order: int
) -> None:
    one, many = EventLog(), EventLog()
    trials = 2_000 if name == "daub" else TRIALS  # which of a round are told within a budget depends on who ends first
    alone = searched(name, space, InProcess(evaluate_with_varied_cost), trials, heard=one)
    crowd = searched(name, space, ShuffledWorkers(evaluate_with_varied_cost, workers, order), trials, heard=many)
    assert many.committed_requests == one.committed_requests
    assert in_earnest(many, name) == in_earnest(one, name)
    assert crowd.ended == alone.ended
    assert (alone.wasted_speculative, {each.is_speculative for each in alone.records} - {False}) == (0, set())
    assert len(crowd.records) - crowd.wasted_speculative == len(alone.records)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_what_is_wanted_one_by_one_is_the_same_in_any_time(name: str) -> None:
    one, many = EventLog(), EventLog()
    trials = 2_000 if name == "daub" else 60
    searched(name, plain_space(4, 4, 3), SimulatedExecutor(evaluate_with_varied_cost), trials, heard=one)
    outcome = searched(
        name, plain_space(4, 4, 3), SimulatedExecutor(evaluate_with_varied_cost, workers=5), trials, heard=many
    )
    assert in_earnest(many, name) == in_earnest(one, name)
    assert any(each.is_speculative for each in outcome.records)


def in_brackets(name: str, space: Space, executor: Executor) -> tuple[Outcome, list[BracketRun[Any]]]:
    """A run to its end, and its brackets, without what is left over when draws find nothing new any more."""
    races: list[BracketRun[Any]] = []
    add = ConcurrentBrackets._add_bracket

    def watched(self: ConcurrentBrackets[Any], race: BracketRun[Any]) -> None:
        if self._remaining is None:
            races.append(race)
        add(self, race)

    options = {"hyperparameters": "default", "b": 25} | ({"n": 4} if name == "successive_halving" else {})
    with patch.object(ConcurrentBrackets, "_add_bracket", watched):
        return searched(name, space, executor, 2_000, **options), races


@pytest.mark.parametrize("name", HALVING)
@given(space=spaces(), workers=st.integers(2, 9), order=st.integers(0, 99))
@FEW
def test_the_trainings_of_each_bracket_are_the_same_whoever_ends_first(
    name: str, space: Space, workers: int, order: int
) -> None:
    """More workers may have begun more brackets when everything is known; those that both have are the same."""
    alone, one = in_brackets(name, space, InProcess(evaluate_with_varied_cost))
    crowd, many = in_brackets(name, space, ShuffledWorkers(evaluate_with_varied_cost, workers, order))
    assert alone.ended == crowd.ended == "exhausted"
    both = list(zip(one, many, strict=False))
    assert [(each.candidates, each.sizes) for each, _ in both] == [(each.candidates, each.sizes) for _, each in both]
    for first, second in both:
        if first.is_over and second.is_over:
            assert first._results == second._results
    assert all(each.is_over for each in one)
    assert on_all_rows(crowd) == on_all_rows(alone)
    assert not crowd.wasted_speculative


def on_all_rows(outcome: Outcome) -> set[tuple[str, int | None, float | None]]:
    return {each for each in kept(outcome.records) if each[1] is None}


@pytest.mark.parametrize("name", ["blds", "mlds"])
def test_what_nobody_wanted_is_counted_also_after_a_resume(name: str) -> None:
    space, first = plain_space(4, 4, 3), MemoryTrialStorage()
    whole = run_search(begun(name, space), ShuffledWorkers(evaluate, 4), journal=first, prefix_key=configuration_prefix)
    assert whole.wasted_speculative
    again = run_search(
        begun(name, space), InProcess(evaluate), journal=first.next_session(), prefix_key=configuration_prefix
    )
    assert (again.wasted_speculative, again.records) == (whole.wasted_speculative, whole.records)
