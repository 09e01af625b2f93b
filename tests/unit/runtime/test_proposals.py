"""What is begun later is made when it is its turn, from the generator of its number, and told to whom it concerns."""

from collections.abc import Callable, Sequence

import numpy as np

from spacelang.ir.asking import Ask, Asking, Later, Search, Told, side_by_side, together
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.here import Here
from spacelang.runtime.history import Outcome
from spacelang.runtime.loop import run
from spacelang.runtime.proposals import Proposals
from spacelang.testing.crews import Shuffled
from spacelang.testing.driving import answered, arbitrary, drive
from spacelang.testing.journals import MemoryJournal


def drawn(rng: np.random.Generator) -> Request:
    """A request whose memo is the very number that was drawn."""
    number = float(rng.random())
    return Request(Configuration({"x": round(number * 1_000)}), memo=(number, "drawn"))


def evaluate(request: Request) -> Trial:
    return answered(request, arbitrary(request))


def made(search: Search, seed: int = 3, **options: object) -> Outcome:
    return run(search, Here(evaluate), Budget(), clock=iter(range(10_000)).__next__, seed=seed, **options)  # type: ignore[arg-type]


def test_each_is_made_from_the_seed_and_its_number() -> None:
    told: list[Trial] = []

    def search() -> Search:
        plain = Request(Configuration({"x": -1}))
        told.extend((yield from together([Later(drawn), plain, Later(drawn)])))
        told.extend((yield from together([Later(drawn)])))

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
        later = Later(make)
        yield from together([Request(Configuration({"x": 0}))])
        heard.append("begun")
        yield from together([later])
        heard.append("told")

    made(search())
    assert heard == ["begun", "made", "told"]


def test_the_very_object_is_told() -> None:
    """Also where two of them make the same request, which is evaluated once."""
    laters = [Later(lambda _: Request(Configuration({"x": 0}), memo=("a",))) for _ in range(3)]
    told: list[Told] = []

    def search() -> Search:
        ask = Ask(tuple(laters))
        while len(told) < len(laters):
            told.append((yield ask))
            ask = Ask()

    outcome = made(search())
    assert [each.asked for each in told] == laters
    assert (len(outcome.records), outcome.answered) == (1, 2)


def parts(heard: list[list[Told]]) -> Search:
    def part(name: str, each: list[Told]) -> Asking[None]:
        for _ in range(4):
            later = Later(lambda _: Request(Configuration({"x": 0}), memo=(name,)))
            told = yield Ask((later,))
            while told.ended is None:
                told = yield Ask()
            each.append(told)
            assert told.asked is later

    yield from side_by_side([part(name, each) for name, each in zip("ab", heard, strict=True)])


def test_parts_are_told_of_their_own_objects_though_their_requests_are_equal() -> None:
    by_run: list[list[Told]] = [[], []]
    run(parts(by_run), Shuffled(evaluate, 2), Budget(), clock=iter(range(1_000)).__next__)
    by_driving: list[list[Told]] = [[], []]
    assert drive(parts(by_driving), arbitrary, 100).ended
    for heard in (by_run, by_driving):
        memos: list[Sequence[object]] = [[told.ended.request.memo for told in each if told.ended] for each in heard]
        assert memos == [[("a",)] * 4, [("b",)] * 4]


def test_what_a_journal_has_is_not_made_again() -> None:
    asked: list[int] = []

    def counted(make: Callable[[np.random.Generator], Request]) -> Later:
        def counting(rng: np.random.Generator) -> Request:
            asked.append(1)
            return make(rng)

        return Later(counting)

    def search(told: list[Trial]) -> Search:
        for _ in range(5):
            told.extend((yield from together([counted(drawn)])))

    whole: list[Trial] = []
    kept = MemoryJournal()
    made(search(whole), journal=kept)
    assert len(asked) == 5
    again: list[Trial] = []
    made(search(again), journal=kept.cut(3))
    assert len(asked) == 5 + 2
    assert again == whole
    assert [each.request.memo for each in again] == [each.request.memo for each in whole]


def test_what_is_begun_is_told_at_once_whether_it_is_made_or_kept() -> None:
    def search(begun: list[Request]) -> Search:
        first, second = Later(drawn, begun.append), Later(drawn, begun.append)
        told = yield Ask((first, second))
        assert len(begun) == 2, "nothing has ended yet"
        while told.asked is not second:
            told = yield Ask()
        yield from together([Later(drawn, begun.append)])

    whole: list[Request] = []
    kept = MemoryJournal()
    made(search(whole), journal=kept)
    for count in range(4):
        again: list[Request] = []
        made(search(again), journal=kept.cut(count))
        assert [each.memo for each in again] == [each.memo for each in whole]


def test_numbers_are_of_a_run() -> None:
    proposals = Proposals(1, {2: Request(Configuration({"x": 7}))})
    found = [proposals.wish(each) for each in (Later(drawn), Request(Configuration({"x": 0})), Later(drawn))]
    assert [each.proposal for each in found] == [1, None, 2]
    assert found[2].request.configuration["x"] == 7
