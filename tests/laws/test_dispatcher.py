"""Whatever a search asks for, however many workers there are and in whichever order they end: what it is told."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, Search, SearchEvent
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import EndReason, Outcome
from spacelang.runtime.search_loop import run
from spacelang.testing.driving import flaky_loss, make_trial
from spacelang.testing.memory_storage import MemoryTrialStorage, events_of_first_trials
from spacelang.testing.simulated_workers import ShuffledWorkers

from .settings import LAW

KEYS = 12


def request(number: int) -> Request:
    return Request(Configuration({"x": number}))


@dataclass
class Whim:
    """A search that asks for whatever its seed and what it is told make it ask for, and remembers both."""

    seed: int
    steps: int
    asks: list[Ask] = field(default_factory=list)
    tolds: list[SearchEvent] = field(default_factory=list)

    def search(self) -> Search:
        out = 0
        told = SearchEvent(None, 0)
        for step in range(self.steps):
            heard = 0.0 if told.finished is None else (told.finished.loss or 1.0)
            rng = np.random.default_rng([self.seed, step, told.idle_workers, int(heard * 1000)])
            begin = rng.integers(0, KEYS, size=rng.integers(0 if out or not step else 1, 4)).tolist()
            ahead = rng.permutation(KEYS)[: rng.integers(0, 5)].tolist()
            told = yield from self._ask(Ask(tuple(map(request, begin)), tuple(map(request, ahead))))
            out += len(begin) - (told.finished is not None)
        while out:
            told = yield from self._ask(Ask())
            out -= told.finished is not None

    def _ask(self, ask: Ask):  # type: ignore[no-untyped-def]
        self.asks.append(ask)
        told = yield ask
        self.tolds.append(told)
        return told


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def evaluate(asked: Request) -> Trial:
    return make_trial(asked, flaky_loss(asked))


def route(asked: Request) -> tuple[str, ...]:
    return (str(asked.configuration["x"] // 4),)


def made(
    whim: Whim, workers: int, order: int, trials: int | None = None, journal: MemoryTrialStorage | None = None
) -> Outcome:
    crew = ShuffledWorkers(evaluate, workers, order)
    return run(whim.search(), crew, Budget(trials=trials), clock=Clock(), journal=journal, prefix_key=route)


WHIMS = {
    "seed": st.integers(0, 999),
    "steps": st.integers(1, 14),
    "workers": st.integers(1, 5),
    "order": st.integers(0, 99),
}


@given(**WHIMS)
@LAW
def test_what_is_begun_is_told_once_and_evaluated_once(seed: int, steps: int, workers: int, order: int) -> None:
    whim = Whim(seed, steps)
    outcome = made(whim, workers, order)
    begun = Counter(each for ask in whim.asks for each in ask.requests)
    assert Counter(told.finished.request for told in whim.tolds if told.finished) == begun
    evaluated = [record.trial.request for record in outcome.records]
    assert len(set(evaluated)) == len(evaluated)
    assert set(begun) <= set(evaluated)
    assert outcome.wasted_speculative == len(set(evaluated) - set(begun))
    assert outcome.answered_from_memory == begun.total() - len(begun)
    costs = Counter[Request]()
    for told in whim.tolds:
        if told.finished is not None and told.finished.cost:
            costs[told.finished.request] += 1
    assert costs == Counter(set(begun)), "who asks second is told for nothing"


@given(**WHIMS)
@LAW
def test_the_room_is_what_nobody_works_at_in_earnest(seed: int, steps: int, workers: int, order: int) -> None:
    whim = Whim(seed, steps)
    made(whim, workers, order)
    out = Counter[Request]()
    ended: set[Request] = set()
    for ask, told in zip(whim.asks, whim.tolds, strict=True):
        out.update(ask.requests)  # type: ignore[arg-type]
        if told.speculative is not None:
            assert told.finished is None
            assert told.speculative.request not in out
        if told.finished is not None:
            out -= Counter([told.finished.request])
        ended |= {trial.request for trial in (told.finished, told.speculative) if trial is not None}
        known = sum(count for each, count in out.items() if each in ended)
        assert told.idle_workers == max(workers - known - len({*out} - ended), 0)


@given(**WHIMS, more=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=3))
@LAW
def test_a_run_that_is_killed_anywhere_is_told_the_same_again(
    seed: int, steps: int, workers: int, order: int, more: list[tuple[int, int]]
) -> None:
    kept, told = MemoryTrialStorage(), Whim(seed, steps)
    made(told, workers, order, journal=kept)
    for cut, others in more:
        records: Sequence[object] = (*kept.earlier, *kept.appended)
        later = kept.killed_after(max(min(cut, len(records)), len(kept.earlier)))
        again = Whim(seed, steps)
        outcome = made(again, others, order + 1, journal=later)
        before = events_of_first_trials(told.tolds, len(later.earlier))
        assert again.tolds[: len(before)] == before
        assert [each.index for each in outcome.records] == [*range(1, len(outcome.records) + 1)]
        assert list(outcome.records[: len(later.earlier)]) == list(later.earlier)
        kept, told = later, again


@given(**WHIMS, trials=st.integers(1, 10))
@example(seed=967, steps=7, workers=4, order=69, trials=2)  # wanted late, ended together with the last one told
@LAW
def test_a_budget_of_trials_counts_what_is_told(seed: int, steps: int, workers: int, order: int, trials: int) -> None:
    whim = Whim(seed, steps)
    outcome = made(whim, workers, order, trials)
    needed = len(outcome.records) - outcome.wasted_speculative
    whole = Whim(seed, steps)
    made(whole, workers, order)
    wanted = len({each for ask in whole.asks for each in ask.requests})
    assert needed == trials if outcome.ended is EndReason.BUDGET else needed == wanted <= trials


@given(**WHIMS, trials=st.integers(1, 10))
@example(seed=967, steps=7, workers=4, order=69, trials=2)
@LAW
def test_all_that_has_ended_is_kept_and_a_finished_run_stays_so(
    seed: int, steps: int, workers: int, order: int, trials: int
) -> None:
    kept, evaluated = MemoryTrialStorage(), []

    def counted(asked: Request) -> Trial:
        evaluated.append(asked)
        return evaluate(asked)

    crew = ShuffledWorkers(counted, workers, order)
    whim = Whim(seed, steps)
    first = run(whim.search(), crew, Budget(trials=trials), clock=Clock(), journal=kept, prefix_key=route)
    assert sorted(map(str, evaluated)) == sorted(str(record.trial.request) for record in first.records)
    later = kept.next_session()
    again = made(Whim(seed, steps), workers, order + 1, trials, later)
    assert not later.appended
    assert [record.trial for record in again.records] == [record.trial for record in first.records]
    assert again.wasted_speculative == first.wasted_speculative
