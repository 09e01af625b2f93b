"""However many workers evaluate, and in whichever order they end: what the optimizers ask for and are told."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from spacelang.bench.simulated import Simulated
from spacelang.ir.asking import Search, together
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._halving import Race, Races
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import Executor
from spacelang.runtime.executors.here import Here
from spacelang.runtime.history import Outcome, Record
from spacelang.runtime.loop import run
from spacelang.testing.crews import Shuffled
from spacelang.testing.journals import Heard, MemoryJournal
from spacelang.testing.searching import SIZE, TRIALS, Clock, evaluate, ran, route, timed
from spacelang.testing.small_spaces import plain, spaces

from .settings import EXAMPLES, LAW

ONE_BY_ONE = ("blds", "daub", "lds", "mlds")
"""Those that want one trial at a time, whatever idle workers are given to do."""

HALVING = ("hyperband", "successive_halving")

FEW = settings(LAW, max_examples=EXAMPLES // 4, phases=[Phase.generate])


def kept(records: Sequence[Record]) -> set[tuple[str, int | None, float | None]]:
    trials = [each.trial for each in records]
    found = [(each.request.configuration.identity, each.request.fidelity, each.loss) for each in trials]
    assert len(set(found)) == len(found)
    return set(found)


def begun(name: str, space: Space, **options: object) -> Search:
    search: Search = OPTIMIZERS.load(name)(**options).search(Problem(space, SIZE, np.random.default_rng(0)))
    return search


def searched(
    name: str, space: Space, executor: Executor, trials: int = TRIALS, heard: Heard | None = None, **options: object
) -> Outcome:
    return ran(begun(name, space, **options), executor, trials, heard=heard, route=route)


# ---- rounds


def rounds(batches: Sequence[Sequence[int]], told: list[tuple[Trial, ...]]) -> Search:
    for batch in batches:
        answers = yield from together(Request(Configuration({"x": number})) for number in batch)
        told.append(answers)


BATCHES = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=6)


@given(BATCHES, st.integers(1, 5), st.integers(0, 99))
@LAW
def test_rounds_are_answered_in_their_own_order_and_everything_is_evaluated_once(
    batches: list[list[int]], workers: int, seed: int
) -> None:
    one: list[tuple[Trial, ...]] = []
    many: list[tuple[Trial, ...]] = []
    alone = run(rounds(batches, one), Here(evaluate), Budget(), clock=Clock())
    crew = Shuffled(evaluate, workers, seed)
    crowd = run(rounds(batches, many), crew, Budget(), clock=Clock(), route=route)
    assert [[each.loss for each in batch] for batch in many] == [[each.loss for each in batch] for batch in one]
    assert [[each.request for each in batch] for batch in many] == [[each.request for each in batch] for batch in one]
    assert kept(crowd.records) == kept(alone.records)
    assert (crowd.answered, crowd.ended, crowd.unfinished) == (alone.answered, alone.ended, 0)
    assert [each.index for each in crowd.records] == [*range(1, len(crowd.records) + 1)]
    assert crew.most_busy <= workers
    assert not crew.busy


@given(BATCHES, st.integers(1, 5), st.integers(1, 5), st.integers(0, 99), st.integers(1, 30), st.integers(1, 30))
@LAW
def test_rounds_that_were_killed_anywhere_go_on_as_those_that_were_not(
    batches: list[list[int]], workers: int, others: int, seed: int, stop: int, trials: int
) -> None:
    one: list[tuple[Trial, ...]] = []
    again: list[tuple[Trial, ...]] = []
    first = MemoryJournal()
    whole = run(rounds(batches, one), Here(evaluate), Budget(), clock=Clock())
    part = Budget(trials=trials)
    run(rounds(batches, []), Shuffled(evaluate, workers, seed), part, clock=Clock(), journal=first)
    second = first.cut(min(stop, len(first.appended)))
    resumed = run(rounds(batches, again), Shuffled(evaluate, others, seed), Budget(), clock=Clock(), journal=second)
    assert [[each.loss for each in batch] for batch in again] == [[each.loss for each in batch] for batch in one]
    assert kept(resumed.records) == kept(whole.records)


# ---- no method in disguise


def in_earnest(heard: Heard, name: str) -> list[tuple[Request, float | None, float]]:
    """What was told, as far as its order is decided: `daub` begins with rounds, which end in any order."""
    found = [(each.request, each.loss, each.cost) for each in heard.ended]
    if name != "daub":
        return found
    places = {request: place for place, request in reversed([*enumerate(heard.begun)])}
    return sorted(found, key=lambda each: places[each[0]])


@pytest.mark.parametrize("name", ONE_BY_ONE)
@given(space=spaces(), workers=st.integers(2, 9), order=st.integers(0, 99))
@FEW
def test_what_is_wanted_one_by_one_depends_neither_on_workers_nor_on_who_ends_first(
    name: str, space: Space, workers: int, order: int
) -> None:
    one, many = Heard(), Heard()
    trials = 2_000 if name == "daub" else TRIALS  # which of a round are told within a budget depends on who ends first
    alone = searched(name, space, Here(timed), trials, heard=one)
    crowd = searched(name, space, Shuffled(timed, workers, order), trials, heard=many)
    assert many.begun == one.begun
    assert in_earnest(many, name) == in_earnest(one, name)
    assert crowd.ended == alone.ended
    assert (alone.unneeded, {each.is_early for each in alone.records} - {False}) == (0, set())
    assert len(crowd.records) - crowd.unneeded == len(alone.records)


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_what_is_wanted_one_by_one_is_the_same_in_any_time(name: str) -> None:
    one, many = Heard(), Heard()
    trials = 2_000 if name == "daub" else 60
    searched(name, plain(4, 4, 3), Simulated(timed), trials, heard=one)
    outcome = searched(name, plain(4, 4, 3), Simulated(timed, workers=5), trials, heard=many)
    assert in_earnest(many, name) == in_earnest(one, name)
    assert any(each.is_early for each in outcome.records)


def in_brackets(name: str, space: Space, executor: Executor) -> tuple[Outcome, list[Race[Any]]]:
    """A run to its end, and its brackets, without what is left over when draws find nothing new any more."""
    races: list[Race[Any]] = []
    add = Races._add

    def watched(self: Races[Any], race: Race[Any]) -> None:
        if self._left is None:
            races.append(race)
        add(self, race)

    options = {"hyperparameters": "default", "b": 25} | ({"n": 4} if name == "successive_halving" else {})
    with patch.object(Races, "_add", watched):
        return searched(name, space, executor, 2_000, **options), races


@pytest.mark.parametrize("name", HALVING)
@given(space=spaces(), workers=st.integers(2, 9), order=st.integers(0, 99))
@FEW
def test_the_trainings_of_each_bracket_are_the_same_whoever_ends_first(
    name: str, space: Space, workers: int, order: int
) -> None:
    """More workers may have begun more brackets when everything is known; those that both have are the same."""
    alone, one = in_brackets(name, space, Here(timed))
    crowd, many = in_brackets(name, space, Shuffled(timed, workers, order))
    assert alone.ended == crowd.ended == "exhausted"
    both = list(zip(one, many, strict=False))
    assert [(each.candidates, each.sizes) for each, _ in both] == [(each.candidates, each.sizes) for _, each in both]
    for first, second in both:
        if first.is_over and second.is_over:
            assert first._known == second._known
    assert all(each.is_over for each in one)
    assert on_all_rows(crowd) == on_all_rows(alone)
    assert not crowd.unneeded


def on_all_rows(outcome: Outcome) -> set[tuple[str, int | None, float | None]]:
    return {each for each in kept(outcome.records) if each[1] is None}


@pytest.mark.parametrize("name", ["blds", "mlds"])
def test_what_nobody_wanted_is_counted_also_after_a_resume(name: str) -> None:
    space, first = plain(4, 4, 3), MemoryJournal()
    whole = ran(begun(name, space), Shuffled(evaluate, 4), journal=first, route=route)
    assert whole.unneeded
    again = ran(begun(name, space), Here(evaluate), journal=first.later(), route=route)
    assert (again.unneeded, again.records) == (whole.unneeded, whole.records)
