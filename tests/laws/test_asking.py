"""Rounds, and parts of a search side by side: whatever they ask for, each is told of its own, once."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir.asking import Ask, Asking, Search, Told, side_by_side, together
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.testing.driving import answered, arbitrary, drive, moody

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
    asking = together(begun, [request(9)])
    out = [answered(each, place / 100) for place, each in enumerate(begun)]
    order.shuffle(out)
    answers: list[Trial] = []

    def search() -> Search:
        answers.extend((yield from asking))
        yield Ask()

    outer = search()
    asks = [next(outer)]
    if wanted:
        asks.append(outer.send(Told(None, 1)))
        asks += [outer.send(Told(trial, 0)) for trial in out]
        assert asks == [Ask(tuple(begun), (request(9),))] + [Ask((), (request(9),))] * len(wanted) + [Ask()]
    assert numbers(answers) == wanted
    assert [trial.loss for trial in answers] == [place / 100 for place in range(len(wanted))], "each object its own"


def part(seed: int, steps: int, heard: list[Told]) -> Asking[int]:
    """Asks for whatever chance makes it ask for, where it waits for nothing only as much as there is room; its seed."""
    out, rng = 0, np.random.default_rng(seed)
    told = Told(None, 0)
    for step in range(steps):
        most = 3 if out or not step else told.room
        least = int(step > 0 and not out and most > 0)
        begin = tuple(request(int(number)) for number in rng.integers(0, 6, size=rng.integers(least, most + 1)))
        out += len(begin)
        told = yield Ask(begin, tuple(map(request, rng.integers(0, 6, size=2).tolist())))
        heard.append(told)
        out -= told.ended is not None
    while out:
        told = yield Ask()
        heard.append(told)
        out -= told.ended is not None
    return seed


@given(seeds=st.lists(st.integers(0, 99), max_size=4), steps=st.integers(0, 6), workers=st.integers(1, 5))
@LAW
def test_parts_side_by_side_are_told_of_what_they_asked_for(seeds: list[int], steps: int, workers: int) -> None:
    heard: list[list[Told]] = [[] for _ in seeds]
    results: list[tuple[int, ...]] = []

    def search() -> Search:
        made = [part(seed, steps, each) for seed, each in zip(seeds, heard, strict=True)]
        results.append((yield from side_by_side(made)))
        yield from together([request(7)])

    driven = drive(search(), moody, 1_000, workers=workers)
    assert driven.ended
    assert results == [tuple(seeds)], "in their order"
    told = Counter(each.ended.request for some in heard for each in some if each.ended)
    assert told + Counter([request(7)]) == Counter(driven.requests), "each once"
    assert all(each.room <= workers for some in heard for each in some)


def asks(wanted: Sequence[int]) -> Asking[list[int]]:
    return numbers((yield from together(map(request, wanted))))


@given(wanted=st.lists(NUMBERS, max_size=4), workers=st.integers(1, 4))
@LAW
def test_rounds_side_by_side_are_as_they_are_alone(wanted: list[list[int]], workers: int) -> None:
    found: list[tuple[list[int], ...]] = []

    def search() -> Search:
        found.append((yield from side_by_side([asks(each) for each in wanted])))

    driven = drive(search(), arbitrary, 1_000, workers=workers)
    assert found == [tuple(wanted)]
    assert numbers(driven.trials) == [number for each in wanted for number in each], "those first that stand first"


def test_a_part_that_waits_for_room_has_what_those_before_leave() -> None:
    rooms: list[list[int]] = [[], []]

    def greedy(heard: list[int]) -> Asking[None]:
        told = yield Ask()
        heard.append(told.room)
        yield from together(request(number) for number in range(min(told.room, 3)))

    asking = side_by_side([greedy(heard) for heard in rooms])
    assert next(asking) == Ask()
    assert len(asking.send(Told(None, 4)).begin) == 4
    assert rooms == [[4], [1]]


def test_what_ended_early_is_told_to_those_who_wished_for_it() -> None:
    heard: list[list[Told]] = [[], []]

    def wishing(number: int, each: list[Told]) -> Asking[None]:
        told = Told(None, 0)
        begin = (request(number),)
        while told.ended is None:
            told = yield Ask(begin, (request(number + 10),))
            each.append(told)
            begin = ()

    asking = side_by_side([wishing(number, each) for number, each in enumerate(heard)])
    assert next(asking) == Ask((request(0), request(1)), (request(10), request(11)))
    early = answered(request(11), 0.5)
    asking.send(Told(None, 0, early))
    assert heard == [[], [Told(None, 0, early)]]


def test_closing_a_search_closes_its_parts() -> None:
    closed = []

    def endless() -> Asking[None]:
        try:
            while True:
                yield from together([request(0)])
        finally:
            closed.append(True)

    asking = side_by_side([endless(), endless()])
    next(asking)
    asking.close()
    assert closed == [True, True]
    with pytest.raises(StopIteration):
        next(asking)
