"""Rounds, and parts of a search side by side: whatever they ask for, each is told of its own, once."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, Search, SearchCoroutine, SearchEvent, ask_all, gather
from spacelang.ir.trial import Request, Trial
from spacelang.testing.driving import drive_search, flaky_loss, hash_loss, make_trial

from .settings import LAW

NUMBERS = st.lists(st.integers(0, 5), max_size=12)


def request(number: int) -> Request:
    return Request(Configuration({"x": number}))


def numbers(trials: Sequence[Trial]) -> list[int]:
    return [trial.request.configuration["x"] for trial in trials]  # type: ignore[misc]


@given(wanted=NUMBERS, order=st.randoms(use_true_random=False))
@LAW
def test_a_round_is_answered_in_its_own_order_whatever_ends_first(wanted: list[int], order) -> None:  # type: ignore[no-untyped-def]
    begun = [*map(request, wanted)]
    asking = ask_all(begun, [request(9)])
    out = [make_trial(each, place / 100) for place, each in enumerate(begun)]
    order.shuffle(out)
    answers: list[Trial] = []

    def search() -> Search:
        answers.extend((yield from asking))
        yield Ask()

    outer = search()
    asks = [next(outer)]
    if wanted:
        asks.append(outer.send(SearchEvent(None, 1)))
        asks += [outer.send(SearchEvent(trial, 0)) for trial in out]
        assert asks == [Ask(tuple(begun), (request(9),))] + [Ask((), (request(9),))] * len(wanted) + [Ask()]
    assert numbers(answers) == wanted
    assert [trial.loss for trial in answers] == [place / 100 for place in range(len(wanted))], "each object its own"


def part(seed: int, steps: int, heard: list[SearchEvent]) -> SearchCoroutine[int]:
    """Asks for whatever chance makes it ask for, where it waits for nothing only as much as there is room; its seed."""
    out, rng = 0, np.random.default_rng(seed)
    told = SearchEvent(None, 0)
    for step in range(steps):
        most = 3 if out or not step else told.idle_workers
        least = int(step > 0 and not out and most > 0)
        begin = tuple(request(int(number)) for number in rng.integers(0, 6, size=rng.integers(least, most + 1)))
        out += len(begin)
        told = yield Ask(begin, tuple(map(request, rng.integers(0, 6, size=2).tolist())))
        heard.append(told)
        out -= told.finished is not None
    while out:
        told = yield Ask()
        heard.append(told)
        out -= told.finished is not None
    return seed


@given(seeds=st.lists(st.integers(0, 99), max_size=4), steps=st.integers(0, 6), workers=st.integers(1, 5))
@LAW
def test_parts_side_by_side_are_told_of_what_they_asked_for(seeds: list[int], steps: int, workers: int) -> None:
    heard: list[list[SearchEvent]] = [[] for _ in seeds]
    results: list[tuple[int, ...]] = []

    def search() -> Search:
        made = [part(seed, steps, each) for seed, each in zip(seeds, heard, strict=True)]
        results.append((yield from gather(made)))
        yield from ask_all([request(7)])

    driven = drive_search(search(), flaky_loss, 1_000, workers=workers)
    assert driven.returned
    assert results == [tuple(seeds)], "in their order"
    told = Counter(each.finished.request for some in heard for each in some if each.finished)
    assert told + Counter([request(7)]) == Counter(driven.requests), "each once"
    assert all(each.idle_workers <= workers for some in heard for each in some)


def asks(wanted: Sequence[int]) -> SearchCoroutine[list[int]]:
    return numbers((yield from ask_all(map(request, wanted))))


@given(wanted=st.lists(NUMBERS, max_size=4), workers=st.integers(1, 4))
@LAW
def test_rounds_side_by_side_are_as_they_are_alone(wanted: list[list[int]], workers: int) -> None:
    found: list[tuple[list[int], ...]] = []

    def search() -> Search:
        found.append((yield from gather([asks(each) for each in wanted])))

    driven = drive_search(search(), hash_loss, 1_000, workers=workers)
    assert found == [tuple(wanted)]
    assert numbers(driven.trials) == [number for each in wanted for number in each], "those first that stand first"


def test_a_part_that_waits_for_room_has_what_those_before_leave() -> None:
    rooms: list[list[int]] = [[], []]

    def greedy(heard: list[int]) -> SearchCoroutine[None]:
        told = yield Ask()
        heard.append(told.idle_workers)
        yield from ask_all(request(number) for number in range(min(told.idle_workers, 3)))

    asking = gather([greedy(heard) for heard in rooms])
    assert next(asking) == Ask()
    assert len(asking.send(SearchEvent(None, 4)).requests) == 4
    assert rooms == [[4], [1]]


def test_what_ended_early_is_told_to_those_who_wished_for_it() -> None:
    heard: list[list[SearchEvent]] = [[], []]

    def wishing(number: int, each: list[SearchEvent]) -> SearchCoroutine[None]:
        told = SearchEvent(None, 0)
        begin = (request(number),)
        while told.finished is None:
            told = yield Ask(begin, (request(number + 10),))
            each.append(told)
            begin = ()

    asking = gather([wishing(number, each) for number, each in enumerate(heard)])
    assert next(asking) == Ask((request(0), request(1)), (request(10), request(11)))
    early = make_trial(request(11), 0.5)
    asking.send(SearchEvent(None, 0, early))
    assert heard == [[], [SearchEvent(None, 0, early)]]


def test_closing_a_search_closes_its_parts() -> None:
    closed = []

    def endless() -> SearchCoroutine[None]:
        try:
            while True:
                yield from ask_all([request(0)])
        finally:
            closed.append(True)

    asking = gather([endless(), endless()])
    next(asking)
    asking.close()
    assert closed == [True, True]
    with pytest.raises(StopIteration):
        next(asking)
