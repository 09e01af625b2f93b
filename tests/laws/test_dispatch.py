"""Whatever a search asks for, however many workers there are and in whichever order they end: what it is told."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from spacelang.ir.asking import Ask, Search, Told
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Ending, Outcome
from spacelang.runtime.loop import run
from spacelang.testing.crews import Shuffled
from spacelang.testing.driving import answered, moody
from spacelang.testing.journals import MemoryJournal, until

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
    tolds: list[Told] = field(default_factory=list)

    def search(self) -> Search:
        out = 0
        told = Told(None, 0)
        for step in range(self.steps):
            heard = 0.0 if told.ended is None else (told.ended.loss or 1.0)
            rng = np.random.default_rng([self.seed, step, told.room, int(heard * 1000)])
            begin = rng.integers(0, KEYS, size=rng.integers(0 if out or not step else 1, 4)).tolist()
            ahead = rng.permutation(KEYS)[: rng.integers(0, 5)].tolist()
            told = yield from self._ask(Ask(tuple(map(request, begin)), tuple(map(request, ahead))))
            out += len(begin) - (told.ended is not None)
        while out:
            told = yield from self._ask(Ask())
            out -= told.ended is not None

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
    return answered(asked, moody(asked))


def route(asked: Request) -> tuple[str, ...]:
    return (str(asked.configuration["x"] // 4),)


def made(
    whim: Whim, workers: int, order: int, trials: int | None = None, journal: MemoryJournal | None = None
) -> Outcome:
    crew = Shuffled(evaluate, workers, order)
    return run(whim.search(), crew, Budget(trials=trials), clock=Clock(), journal=journal, route=route)


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
    begun = Counter(each for ask in whim.asks for each in ask.begin)
    assert Counter(told.ended.request for told in whim.tolds if told.ended) == begun
    evaluated = [record.trial.request for record in outcome.records]
    assert len(set(evaluated)) == len(evaluated)
    assert set(begun) <= set(evaluated)
    assert outcome.unneeded == len(set(evaluated) - set(begun))
    assert outcome.answered == begun.total() - len(begun)
    costs = Counter[Request]()
    for told in whim.tolds:
        if told.ended is not None and told.ended.cost:
            costs[told.ended.request] += 1
    assert costs == Counter(set(begun)), "who asks second is told for nothing"


@given(**WHIMS)
@LAW
def test_the_room_is_what_nobody_works_at_in_earnest(seed: int, steps: int, workers: int, order: int) -> None:
    whim = Whim(seed, steps)
    made(whim, workers, order)
    out = Counter[Request]()
    ended: set[Request] = set()
    for ask, told in zip(whim.asks, whim.tolds, strict=True):
        out.update(ask.begin)  # type: ignore[arg-type]
        if told.early is not None:
            assert told.ended is None
            assert told.early.request not in out
        if told.ended is not None:
            out -= Counter([told.ended.request])
        ended |= {trial.request for trial in (told.ended, told.early) if trial is not None}
        known = sum(count for each, count in out.items() if each in ended)
        assert told.room == max(workers - known - len({*out} - ended), 0)


@given(**WHIMS, more=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=3))
@LAW
def test_a_run_that_is_killed_anywhere_is_told_the_same_again(
    seed: int, steps: int, workers: int, order: int, more: list[tuple[int, int]]
) -> None:
    kept, told = MemoryJournal(), Whim(seed, steps)
    made(told, workers, order, journal=kept)
    for cut, others in more:
        records: Sequence[object] = (*kept.earlier, *kept.appended)
        later = kept.cut(max(min(cut, len(records)), len(kept.earlier)))
        again = Whim(seed, steps)
        outcome = made(again, others, order + 1, journal=later)
        before = until(told.tolds, len(later.earlier))
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
    needed = len(outcome.records) - outcome.unneeded
    whole = Whim(seed, steps)
    made(whole, workers, order)
    wanted = len({each for ask in whole.asks for each in ask.begin})
    assert needed == trials if outcome.ended is Ending.BUDGET else needed == wanted <= trials


@given(**WHIMS, trials=st.integers(1, 10))
@example(seed=967, steps=7, workers=4, order=69, trials=2)
@LAW
def test_all_that_has_ended_is_kept_and_a_finished_run_stays_so(
    seed: int, steps: int, workers: int, order: int, trials: int
) -> None:
    kept, evaluated = MemoryJournal(), []

    def counted(asked: Request) -> Trial:
        evaluated.append(asked)
        return evaluate(asked)

    crew = Shuffled(counted, workers, order)
    whim = Whim(seed, steps)
    first = run(whim.search(), crew, Budget(trials=trials), clock=Clock(), journal=kept, route=route)
    assert sorted(map(str, evaluated)) == sorted(str(record.trial.request) for record in first.records)
    later = kept.later()
    again = made(Whim(seed, steps), workers, order + 1, trials, later)
    assert not later.appended
    assert [record.trial for record in again.records] == [record.trial for record in first.records]
    assert again.unneeded == first.unneeded
