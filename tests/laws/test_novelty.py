"""Parts of a search that run dry: each sits out, its share is that of the others, and without any the run ends."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Search
from spacelang.ir.trial import Request
from spacelang.optimizers._draws import DEFAULT_PATIENCE, NoveltyTracker
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import EndReason, Outcome
from spacelang.runtime.search_loop import run
from spacelang.testing.driving import hash_loss, make_trial
from spacelang.testing.simulated_workers import ShuffledWorkers

from .settings import LAW

PATIENCE = 25


def drawn(part: int, values: int, rng: np.random.Generator) -> Request:
    """A value of a part, one of so many; 0 are those of a range."""
    value = float(rng.random()) if values == 0 else int(rng.integers(values))
    return Request(Configuration({"part": part, "value": value}), memo=(part,))


def sharing(sizes: Sequence[int], novelty: NoveltyTracker[int], proposed: list[tuple[int, bool]]) -> Search:
    """A search that has its parts propose in turn, for whoever has nothing to do."""
    told, turn, out = (yield Ask()), 0, 0
    while True:
        active, begin = novelty.active, []
        for _ in range(told.idle_workers if active else 0):
            part = active[turn % len(active)]
            begin.append(LazyRequest(partial(drawn, part, sizes[part])))
            turn += 1
        out += len(begin)
        if not out:
            return
        told = yield Ask(tuple(begin))
        if told.finished is not None:
            out -= 1
            part = int(told.finished.request.memo[0])
            proposed.append((part, novelty.record(part, told.finished.request)))


def shared(
    sizes: Sequence[int],
    workers: int,
    trials: int | None,
    novelty: NoveltyTracker[int],
    proposed: list[tuple[int, bool]],
) -> Outcome:
    crew = ShuffledWorkers(lambda request: make_trial(request, hash_loss(request)), workers, seed=len(sizes))
    search = sharing(sizes, novelty, proposed)
    return run(search, crew, Budget(trials=trials), clock=iter(range(10**6)).__next__)


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5), workers=st.integers(1, 4))
@LAW
def test_a_run_is_exhausted_when_all_parts_sit_out(sizes: list[int], workers: int) -> None:
    novelty, proposed = NoveltyTracker(range(len(sizes)), PATIENCE), list[tuple[int, bool]]()
    outcome = shared(sizes, workers, None, novelty, proposed)
    assert outcome.ended is EndReason.EXHAUSTED
    assert novelty.active == ()
    news = Counter(part for part, is_new in proposed if is_new)
    assert sum(news.values()) == len(outcome.records)
    for part in range(len(sizes)):
        own = [is_new for each, is_new in proposed if each == part]
        barren = own[::-1].index(True)
        assert barren == PATIENCE if workers == 1 else barren >= PATIENCE, "it sits out, but for what is under way"


@given(
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(lambda sizes: 0 in sizes),
    workers=st.integers(1, 4),
)
@LAW
def test_the_share_of_those_that_sit_out_is_that_of_the_others(sizes: list[int], workers: int) -> None:
    novelty, proposed = NoveltyTracker(range(len(sizes)), PATIENCE), list[tuple[int, bool]]()
    trials = 150 * len(sizes)
    outcome = shared(sizes, workers, trials, novelty, proposed)
    endless = tuple(part for part, values in enumerate(sizes) if values == 0)
    assert outcome.ended is EndReason.BUDGET
    assert novelty.active == endless
    latest = Counter(part for part, _ in proposed[-50 * len(endless) :])
    assert {*latest} == {*endless}
    assert max(latest.values()) - min(latest.values()) <= 2 * workers


def test_a_pipeline_without_hyperparameters_is_proposed_a_thousand_times_and_no_more() -> None:
    novelty, proposed = NoveltyTracker([0]), list[tuple[int, bool]]()
    outcome = shared([1], 1, None, novelty, proposed)
    assert (outcome.ended, len(outcome.records), outcome.answered_from_memory) == (
        EndReason.EXHAUSTED,
        1,
        DEFAULT_PATIENCE,
    )


def test_parts_that_come_later_propose_too() -> None:
    novelty: NoveltyTracker[str] = NoveltyTracker("a", 2)
    one = Request(Configuration({"x": 1}))
    assert novelty.record("a", one)
    assert not novelty.record("a", one)
    assert not novelty.record("a", one)
    assert (novelty.active, novelty.is_exhausted("a")) == ((), True)
    novelty.add("b")
    novelty.add("a")
    assert novelty.active == ("b",)
    assert novelty.record("b", Request(Configuration({"x": 1}), 50)), "on fewer rows"
    assert not novelty.record("b", one), "another part has proposed it"
    assert novelty.record("b", Request(Configuration({"x": 2})))
    assert not novelty.record("b", one)
    assert novelty.active == ("b",), "in a row"
