"""A run that is kept goes on where it was stopped, as if it had never been."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from driving import answered, arbitrary, moody
from small_spaces import nested, plain, tuned

from spacelang.ir.defaults import default
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.loop import Ending, Outcome, Record, run

SIZE = 400
TRIALS = 24


@dataclass
class Kept:
    """A journal in memory."""

    records: Sequence[Record] = ()
    seconds: float = 0.0
    appended: list[Record] = field(default_factory=list)
    ended: str = ""

    def append(self, record: Record) -> None:
        self.appended.append(record)

    def end(self, ending: str, _: float) -> None:
        self.ended = ending

    def later(self) -> "Kept":
        return Kept((*self.records, *self.appended), 100.0)


class Clock:
    """A second passes whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def searched(name: str, space: Space, trials: int, journal: Kept | None = None, objective=moody) -> Outcome:  # type: ignore[no-untyped-def]
    search = OPTIMIZERS.load(name)().search(space, SIZE, np.random.default_rng(0))

    def evaluate(request: Request) -> Trial:
        return answered(request, objective(request))

    return run(search, evaluate, Budget(trials=trials), clock=Clock(), training_size=SIZE, journal=journal)


def told(records: Sequence[Record]) -> list[tuple[int, str, int | None, float | None, str]]:
    return [
        (
            each.index,
            each.trial.request.configuration.identity,
            each.trial.request.fidelity,
            each.trial.loss,
            each.trial.status,
        )
        for each in records
    ]


@pytest.mark.parametrize("name", OPTIMIZERS.names())
@pytest.mark.parametrize("space", [plain(2, 3, 2), nested(), tuned()], ids=lambda space: space.name)
@pytest.mark.parametrize("objective", [moody, arbitrary])
def test_a_run_that_was_stopped_after_any_trial_goes_on_as_one_that_was_not(name: str, space: Space, objective) -> None:  # type: ignore[no-untyped-def]
    whole = searched(name, space, TRIALS, objective=objective)
    for stop in range(1, len(whole.records)):
        first = Kept()
        searched(name, space, stop, first, objective)
        assert len(first.appended) == stop
        second = first.later()
        resumed = searched(name, space, TRIALS, second, objective)
        assert told(resumed.records) == told(whole.records)
        assert told(second.appended) == told(whole.records)[stop:]
        assert resumed.best is not None or whole.best is None
        assert (resumed.best and resumed.best.index) == (whole.best and whole.best.index)
        assert [point.trial for point in resumed.curve] == [point.trial for point in whole.curve]


def test_time_goes_on_where_it_stopped() -> None:
    first = Kept()
    searched("random", plain(2, 3, 2), 3, first)
    resumed = searched("random", plain(2, 3, 2), 5, first.later())
    assert [record.started > 100.0 for record in resumed.records] == [False] * 3 + [True] * 2
    assert resumed.seconds > 100.0


def test_what_is_stored_is_replayed_though_the_time_is_over() -> None:
    first = Kept()
    searched("random", plain(2, 3, 2), 5, first)
    search = OPTIMIZERS.load("random")().search(plain(2, 3, 2), SIZE, np.random.default_rng(0))

    def evaluate(request: Request) -> Trial:
        raise AssertionError("nothing new is evaluated")

    resumed = run(search, evaluate, Budget(seconds=1.0), clock=Clock(), training_size=SIZE, journal=first.later())
    assert told(resumed.records) == told(first.appended)
    assert resumed.ended is Ending.BUDGET


def test_the_journal_is_told_how_the_session_ended() -> None:
    kept = Kept()
    searched("random", plain(2, 2), 99, kept)
    assert kept.ended == "exhausted"


def test_a_trial_is_kept_before_the_optimizer_is_told() -> None:
    class Full(Kept):
        def append(self, _: Record) -> None:
            raise OSError("the disk is full")

    heard: list[Request] = []

    def search():  # type: ignore[no-untyped-def]
        answers = yield [Request(next(iter(configurations)))]
        heard.extend(answers)

    configurations = [default(plain(2, 2))]
    with pytest.raises(OSError, match="full"):
        run(search(), lambda request: answered(request, 0.5), Budget(trials=5), clock=Clock(), journal=Full())
    assert not heard
