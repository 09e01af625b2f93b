"""Proposals that depend on all that was told: a run that is killed and goes on makes the same ones, bit for bit."""

import struct
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from storing import kept

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Search, SearchEvent
from spacelang.ir.trial import Request, Status, Trial, sort_key
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import Executor
from spacelang.runtime.history import Outcome, TrialStorage
from spacelang.runtime.search_loop import run
from spacelang.testing.driving import hash_loss, make_trial
from spacelang.testing.memory_storage import MemoryTrialStorage, events_of_first_trials
from spacelang.testing.simulated_workers import RestartingWorkers, ShuffledWorkers

from .settings import EXAMPLES, LAW

TRIALS = 200

STOPS = range(1, TRIALS + 1) if EXAMPLES > 100 else (1, 2, 101, 199)


@dataclass
class Climb:
    """A search that proposes what is near to the best so far, for all that have nothing to do; and what it has made."""

    grid: int = 1_000
    """So many configurations lie between 0 and 1."""
    made: list[Request] = field(default_factory=list)
    told: list[SearchEvent] = field(default_factory=list)

    def search(self) -> Search:
        told, best = (yield Ask()), None
        while True:
            self.told.append(told)
            if told.finished is not None and (best is None or sort_key(told.finished) < sort_key(best)):
                best = told.finished
            told = yield Ask(
                tuple(LazyRequest(partial(self.propose, best, place)) for place in range(told.idle_workers))
            )

    def propose(self, best: Trial | None, place: int, rng: np.random.Generator) -> Request:
        """One in three may take half a second, and where one is evaluated says little of where it was proposed."""
        theta = (0.5 if best is None else float(best.request.memo[0])) + float(rng.normal()) / 10
        limit = 0.5 if rng.random() < 1 / 3 else None
        request = Request(
            Configuration({"x": round(theta * self.grid) / self.grid}), seconds=limit, memo=(theta, "near", place)
        )
        self.made.append(request)
        return request

    @property
    def bits(self) -> "list[Bits | None]":
        """What was told, to the last bit."""
        return [None if told.finished is None else bits(told.finished.request) for told in self.told]


Bits = tuple[str, float | None, tuple[object, ...]]


def bits(request: Request) -> Bits:
    memo = tuple(struct.pack("<d", each) if isinstance(each, float) else each for each in request.memo)
    return request.configuration.identity, request.seconds, memo


def evaluate(request: Request) -> Trial:
    """What takes longer than it may has failed by then; others take up to a second."""
    cost = 0.02 + hash_loss(replace(request, fidelity=7))
    allowed = request.seconds
    if allowed is not None and cost > allowed:
        return Trial(request, None, allowed, Status.TIMEOUT, "it took too long")
    return replace(make_trial(request, abs(float(request.configuration["x"]) - 0.9)), cost=cost)  # type: ignore[arg-type]


def climbed(
    climb: Climb, executor: Executor, trials: int, journal: TrialStorage | None = None, seed: int = 7
) -> Outcome:
    clock = executor.clock if isinstance(executor, SimulatedExecutor) else iter(range(10**6)).__next__
    return run(climb.search(), executor, Budget(trials=trials), clock=clock, journal=journal, seed=seed)


def times(outcome: Outcome) -> list[tuple[Bits, float | None, float]]:
    return [(bits(each.trial.request), each.trial.loss, each.trial.cost) for each in outcome.records]


@given(
    workers=st.integers(1, 5),
    order=st.integers(0, 99),
    kills=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 5)), min_size=1, max_size=3),
)
@LAW
def test_a_run_that_is_killed_anywhere_proposes_the_same_again(
    workers: int, order: int, kills: list[tuple[int, int]]
) -> None:
    journal, before = MemoryTrialStorage(), Climb()
    climbed(before, ShuffledWorkers(evaluate, workers, order), 60, journal)
    for place, (stop, others) in enumerate(kills):
        count = max(min(stop, len(journal.earlier) + len(journal.appended)), len(journal.earlier))
        journal, again = journal.killed_after(count), Climb()
        outcome = climbed(again, ShuffledWorkers(evaluate, others, order + place + 1), 60, journal)
        same = len(events_of_first_trials(before.told, count))
        assert again.bits[:same] == before.bits[:same]
        assert again.told[:same] == before.told[:same]
        assert outcome.records[:count] == tuple(journal.earlier)
        numbers = [record.proposal for record in outcome.records]
        assert None not in numbers
        assert len({*numbers}) == len(numbers), "each is kept once"
        before = again


@pytest.mark.parametrize("workers", [1, 4])
def test_two_hundred_trials_are_resumed_after_any_row_bit_for_bit(tmp_path: Path, workers: int) -> None:
    """With one worker as if nothing had happened; with several as if what they were at had been begun anew then."""
    journal, whole = MemoryTrialStorage(), Climb()
    outcome = climbed(whole, SimulatedExecutor(evaluate, workers=workers), TRIALS, journal)
    assert len(outcome.records) == TRIALS
    for stop in STOPS:
        path = tmp_path / f"{stop}.db"
        with kept(path) as store:
            store.start_session(workers)
            for record in outcome.records[:stop]:
                store.append(record)
        again, anew, expected = Climb(), whole, outcome
        if workers > 1:
            anew = Climb()
            expected = climbed(anew, RestartingWorkers(evaluate, workers, stop), TRIALS)
        now = outcome.records[stop - 1].finished
        with kept(path) as store:
            resumed = climbed(again, SimulatedExecutor(evaluate, workers=workers, now=now), TRIALS, store)
        assert again.bits == anew.bits
        assert times(resumed) == times(expected)


def test_nothing_is_made_again_that_has_a_row(tmp_path: Path) -> None:
    """So a thousand trials are told again in no time, however long each took to propose."""
    path = tmp_path / "run.db"
    first, again = Climb(10**9), Climb(10**9)
    with kept(path) as store:
        climbed(first, SimulatedExecutor(evaluate, workers=4), 1_000, store)
    with kept(path) as store:
        outcome = climbed(again, SimulatedExecutor(evaluate, workers=4), 1_000, store)
    assert len(outcome.records) == 1_000
    assert not outcome.answered_from_memory
    assert (len(first.made), len(again.made)) == (1_003, 3), "three were under way at the end"


def test_another_seed_makes_others() -> None:
    climbs = [Climb(), Climb()]
    for seed, climb in enumerate(climbs):
        climbed(climb, SimulatedExecutor(evaluate), 5, seed=seed)
    assert climbs[0].bits != climbs[1].bits
