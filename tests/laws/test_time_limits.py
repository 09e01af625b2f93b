"""Requests that may take less than others: who is told that it took too long, and who is answered all the same."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Search, SearchEvent
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome, TrialRecord
from spacelang.runtime.search_loop import run
from spacelang.testing.driving import make_trial
from spacelang.testing.memory_storage import MemoryTrialStorage, events_of_first_trials
from spacelang.testing.simulated_workers import ShuffledWorkers

from .settings import LAW

KEYS = 5

ALLOWED = (0.5, 1.5, 2.5, 6.5, None)

MOST = 4.0
"""What the run allows every trial."""


def needed(request: Request) -> float:
    """The seconds that an evaluation takes if it may."""
    return float(request.configuration["x"])  # type: ignore[arg-type]


def allowed(request: Request) -> float:
    return MOST if request.seconds is None else min(MOST, request.seconds)


def evaluate(request: Request) -> Trial:
    if needed(request) > allowed(request):
        return Trial(request, None, allowed(request), Status.TIMEOUT, "it took too long")
    return replace(make_trial(request, needed(request)), cost=needed(request))


@dataclass
class Hurry:
    """A search that allows what it asks for as much time as its seed says, and remembers all that it hears."""

    seed: int
    steps: int
    begun: list[tuple[Request | LazyRequest, Request]] = field(default_factory=list)
    told: list[SearchEvent] = field(default_factory=list)

    def search(self) -> Search:
        out, told = 0, SearchEvent(None, 0)
        for step in range(self.steps):
            heard = "" if told.finished is None else told.finished.status
            rng = np.random.default_rng([self.seed, step, told.idle_workers, len(heard)])
            begin = [self.wish(rng, number) for number in range(rng.integers(0 if out or not step else 1, 4))]
            ahead = tuple(self.request(rng, -1) for _ in range(rng.integers(0, 4)))
            told = yield Ask(tuple(begin), ahead)
            out += len(begin) - self.hear(told)
        while out:
            told = yield Ask()
            out -= self.hear(told)

    def wish(self, rng: np.random.Generator, number: int) -> Request | LazyRequest:
        drawn = self.request(rng, number)
        wish = drawn if rng.random() < 0.5 else LazyRequest(lambda _: drawn)
        self.begun.append((wish, drawn))
        return wish

    def request(self, rng: np.random.Generator, number: int) -> Request:
        x, limit = int(rng.integers(1, KEYS + 1)), ALLOWED[rng.integers(len(ALLOWED))]
        return Request(Configuration({"x": x}), seconds=limit, memo=(number, float(rng.random())))

    def hear(self, told: SearchEvent) -> bool:
        self.told.append(told)
        return told.finished is not None


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def hurried(
    hurry: Hurry, workers: int, order: int, journal: MemoryTrialStorage | None = None, trials: int | None = None
) -> Outcome:
    crew = ShuffledWorkers(evaluate, workers, order)
    return run(hurry.search(), crew, Budget(trials=trials), clock=Clock(), journal=journal)


HURRIES = {
    "seed": st.integers(0, 999),
    "steps": st.integers(1, 14),
    "workers": st.integers(1, 5),
    "order": st.integers(0, 99),
}


@given(**HURRIES)
@LAW
def test_nobody_is_told_that_it_took_too_long_who_allows_what_it_takes(
    seed: int, steps: int, workers: int, order: int
) -> None:
    hurry = Hurry(seed, steps)
    outcome = hurried(hurry, workers, order)
    wishes = {id(wish): request for wish, request in hurry.begun}
    told = [each for each in hurry.told if each.finished is not None]
    assert sorted(id(each.request) for each in told) == sorted(wishes), "each is told once"
    for each in told:
        trial, request = each.finished, wishes[id(each.request)]
        assert trial is not None
        assert (trial.request, trial.request.seconds, trial.request.memo) == (request, request.seconds, request.memo)
        if needed(request) <= allowed(request):
            assert trial.status is Status.SUCCESS
    least(outcome.records)


def least(records: Sequence[TrialRecord]) -> None:
    """Nothing is evaluated again, unless it had too little time, and has more now."""
    before: dict[Request, Trial] = {}
    for record in records:
        trial = record.trial
        if trial.request in before:
            former = before[trial.request]
            assert former.status is Status.TIMEOUT
            assert former.request.seconds is not None
            assert former.cost >= former.request.seconds, "the run allows no more either"
            assert former.request.seconds < (inf if trial.request.seconds is None else trial.request.seconds)
        before[trial.request] = trial


@given(**HURRIES)
@LAW
def test_one_asker_pays_and_what_is_unneeded_was_wanted_by_nobody(
    seed: int, steps: int, workers: int, order: int
) -> None:
    hurry = Hurry(seed, steps)
    outcome = hurried(hurry, workers, order)
    paid: dict[Request, list[float]] = defaultdict(list)
    for told in hurry.told:
        if told.finished is not None and told.finished.cost:
            paid[told.finished.request].append(told.finished.cost)
    assert len(outcome.records) - outcome.wasted_speculative == sum(map(len, paid.values()))
    assert outcome.answered_from_memory == len(hurry.begun) - sum(map(len, paid.values()))
    kept: dict[Request, list[float]] = defaultdict(list)
    for record in outcome.records:
        kept[record.trial.request].append(record.trial.cost)
    assert all(set(costs) <= set(kept[request]) for request, costs in paid.items())


@given(**HURRIES, more=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=3))
@LAW
def test_a_run_that_is_killed_anywhere_is_told_the_same_again(
    seed: int, steps: int, workers: int, order: int, more: list[tuple[int, int]]
) -> None:
    kept, before = MemoryTrialStorage(), Hurry(seed, steps)
    hurried(before, workers, order, kept)
    for cut, others in more:
        later = kept.killed_after(max(min(cut, len(kept.earlier) + len(kept.appended)), len(kept.earlier)))
        again = Hurry(seed, steps)
        outcome = hurried(again, others, order + 1, later)
        same = len(events_of_first_trials(before.told, len(later.earlier)))
        assert heard(again.told[:same]) == heard(before.told[:same])
        assert list(outcome.records[: len(later.earlier)]) == list(later.earlier)
        assert [each.index for each in outcome.records] == [*range(1, len(outcome.records) + 1)]
        least(outcome.records)
        kept, before = later, again


def heard(told: Sequence[SearchEvent]) -> list[tuple[SearchEvent, object, object]]:
    requests = [None if each.finished is None else each.finished.request for each in told]
    return [(each, of and of.seconds, of and of.memo) for each, of in zip(told, requests, strict=True)]


@given(**HURRIES, trials=st.integers(1, 10))
@LAW
def test_a_run_whose_budget_is_over_stays_so(seed: int, steps: int, workers: int, order: int, trials: int) -> None:
    kept = MemoryTrialStorage()
    first = hurried(Hurry(seed, steps), workers, order, kept, trials)
    later = kept.next_session()
    again = hurried(Hurry(seed, steps), workers, order + 1, later, trials)
    assert not later.appended
    assert (again.records, again.wasted_speculative, again.ended) == (
        first.records,
        first.wasted_speculative,
        first.ended,
    )
