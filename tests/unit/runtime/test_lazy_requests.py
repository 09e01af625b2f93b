"""What is begun later is made when it is its turn, from the generator of its number, and told to whom it concerns."""

from collections.abc import Callable, Sequence

import numpy as np

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Search, SearchCoroutine, SearchEvent, ask_all, gather
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import Outcome
from spacelang.runtime.request_queue import LazyRequestRegistry
from spacelang.runtime.search_loop import run
from spacelang.testing.driving import drive_search, hash_loss, make_trial
from spacelang.testing.memory_storage import MemoryTrialStorage
from spacelang.testing.simulated_workers import ShuffledWorkers


def drawn(rng: np.random.Generator) -> Request:
    """A request whose memo is the very number that was drawn."""
    number = float(rng.random())
    return Request(Configuration({"x": round(number * 1_000)}), memo=(number, "drawn"))


def evaluate(request: Request) -> Trial:
    return make_trial(request, hash_loss(request))


def made(search: Search, seed: int = 3, **options: object) -> Outcome:
    return run(search, InProcess(evaluate), Budget(), clock=iter(range(10_000)).__next__, seed=seed, **options)  # type: ignore[arg-type]


def test_each_is_made_from_the_seed_and_its_number() -> None:
    told: list[Trial] = []

    def search() -> Search:
        plain = Request(Configuration({"x": -1}))
        told.extend((yield from ask_all([LazyRequest(drawn), plain, LazyRequest(drawn)])))
        told.extend((yield from ask_all([LazyRequest(drawn)])))

    made(search())
    numbers = [trial.request.memo for trial in told]
    assert numbers == [
        (np.random.default_rng([3, 1]).random(), "drawn"),
        (),
        (np.random.default_rng([3, 2]).random(), "drawn"),
        (np.random.default_rng([3, 3]).random(), "drawn"),
    ]
    assert np.random.default_rng([3, 1]).random() != np.random.default_rng(3).random()


def test_it_is_made_when_it_is_begun_and_not_before() -> None:
    heard: list[str] = []

    def make(_: np.random.Generator) -> Request:
        heard.append("made")
        return Request(Configuration({"x": 1}))

    def search() -> Search:
        later = LazyRequest(make)
        yield from ask_all([Request(Configuration({"x": 0}))])
        heard.append("begun")
        yield from ask_all([later])
        heard.append("told")

    made(search())
    assert heard == ["begun", "made", "told"]


def test_the_very_object_is_told() -> None:
    """Also where two of them make the same request, which is evaluated once."""
    laters = [LazyRequest(lambda _: Request(Configuration({"x": 0}), memo=("a",))) for _ in range(3)]
    told: list[SearchEvent] = []

    def search() -> Search:
        ask = Ask(tuple(laters))
        while len(told) < len(laters):
            told.append((yield ask))
            ask = Ask()

    outcome = made(search())
    assert [each.request for each in told] == laters
    assert (len(outcome.records), outcome.answered_from_memory) == (1, 2)


def parts(heard: list[list[SearchEvent]]) -> Search:
    def part(name: str, each: list[SearchEvent]) -> SearchCoroutine[None]:
        for _ in range(4):
            later = LazyRequest(lambda _: Request(Configuration({"x": 0}), memo=(name,)))
            told = yield Ask((later,))
            while told.finished is None:
                told = yield Ask()
            each.append(told)
            assert told.request is later

    yield from gather([part(name, each) for name, each in zip("ab", heard, strict=True)])


def test_parts_are_told_of_their_own_objects_though_their_requests_are_equal() -> None:
    by_run: list[list[SearchEvent]] = [[], []]
    run(parts(by_run), ShuffledWorkers(evaluate, 2), Budget(), clock=iter(range(1_000)).__next__)
    by_driving: list[list[SearchEvent]] = [[], []]
    assert drive_search(parts(by_driving), hash_loss, 100).returned
    for heard in (by_run, by_driving):
        memos: list[Sequence[object]] = [
            [told.finished.request.memo for told in each if told.finished] for each in heard
        ]
        assert memos == [[("a",)] * 4, [("b",)] * 4]


def test_what_a_journal_has_is_not_made_again() -> None:
    asked: list[int] = []

    def counted(make: Callable[[np.random.Generator], Request]) -> LazyRequest:
        def counting(rng: np.random.Generator) -> Request:
            asked.append(1)
            return make(rng)

        return LazyRequest(counting)

    def search(told: list[Trial]) -> Search:
        for _ in range(5):
            told.extend((yield from ask_all([counted(drawn)])))

    whole: list[Trial] = []
    kept = MemoryTrialStorage()
    made(search(whole), journal=kept)
    assert len(asked) == 5
    again: list[Trial] = []
    made(search(again), journal=kept.killed_after(3))
    assert len(asked) == 5 + 2
    assert again == whole
    assert [each.request.memo for each in again] == [each.request.memo for each in whole]


def test_what_is_begun_is_told_at_once_whether_it_is_made_or_kept() -> None:
    def search(begun: list[Request]) -> Search:
        first, second = LazyRequest(drawn, begun.append), LazyRequest(drawn, begun.append)
        told = yield Ask((first, second))
        assert len(begun) == 2, "nothing has ended yet"
        while told.request is not second:
            told = yield Ask()
        yield from ask_all([LazyRequest(drawn, begun.append)])

    whole: list[Request] = []
    kept = MemoryTrialStorage()
    made(search(whole), journal=kept)
    for count in range(4):
        again: list[Request] = []
        made(search(again), journal=kept.killed_after(count))
        assert [each.memo for each in again] == [each.memo for each in whole]


def test_numbers_are_of_a_run() -> None:
    proposals = LazyRequestRegistry(1, {2: Request(Configuration({"x": 7}))})
    found = [
        proposals.commit(each) for each in (LazyRequest(drawn), Request(Configuration({"x": 0})), LazyRequest(drawn))
    ]
    assert [each.proposal for each in found] == [1, None, 2]
    assert found[2].request.configuration["x"] == 7
