"""A run that is kept goes on where it was stopped, as if it had never been."""

import os
from collections.abc import Sequence

import numpy as np
import pytest
from cheap import NAMES, cheap

from spacelang.ir.search_protocol import Problem, ask_all
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import EndReason, Outcome, TrialRecord
from spacelang.runtime.search_loop import run
from spacelang.solver.defaults import default_configuration
from spacelang.testing.driving import flaky_loss, hash_loss, make_trial
from spacelang.testing.memory_storage import MemoryTrialStorage
from spacelang.testing.small_spaces import conditional_space, nested_space, plain_space

SIZE = 400
TRIALS = 24
STEP = 1 if os.environ.get("SPACELANG_FULL") else 5
"""After every so many trials a run is stopped."""


class Clock:
    """A second passes whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def searched(
    name: str, space: Space, trials: int, journal: MemoryTrialStorage | None = None, objective=flaky_loss
) -> Outcome:  # type: ignore[no-untyped-def]
    search = cheap(name).search(Problem(space, SIZE, np.random.default_rng(0)))

    def evaluate(request: Request) -> Trial:
        return make_trial(request, objective(request))

    return run(search, InProcess(evaluate), Budget(trials=trials), clock=Clock(), training_size=SIZE, journal=journal)


def told(records: Sequence[TrialRecord]) -> list[tuple[int, str, int | None, float | None, str]]:
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


@pytest.mark.takes_turns("space")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "space", [plain_space(2, 3, 2), nested_space(), conditional_space()], ids=lambda space: space.name
)
@pytest.mark.takes_turns("objective")
@pytest.mark.parametrize("objective", [flaky_loss, hash_loss])
def test_a_run_that_was_stopped_after_any_trial_goes_on_as_one_that_was_not(name: str, space: Space, objective) -> None:  # type: ignore[no-untyped-def]
    whole = searched(name, space, TRIALS, objective=objective)
    for stop in range(1, len(whole.records), STEP):
        first = MemoryTrialStorage()
        searched(name, space, stop, first, objective)
        assert len(first.appended) == stop
        second = first.next_session()
        resumed = searched(name, space, TRIALS, second, objective)
        assert told(resumed.records) == told(whole.records)
        assert told(second.appended) == told(whole.records)[stop:]
        assert resumed.best is not None or whole.best is None
        assert (resumed.best and resumed.best.index) == (whole.best and whole.best.index)
        assert [point.trial for point in resumed.curve] == [point.trial for point in whole.curve]


def test_time_goes_on_where_it_stopped() -> None:
    first = MemoryTrialStorage()
    searched("random", plain_space(2, 3, 2), 3, first)
    resumed = searched("random", plain_space(2, 3, 2), 5, first.next_session())
    assert [record.started > 100.0 for record in resumed.records] == [False] * 3 + [True] * 2
    assert resumed.seconds > 100.0


def test_what_is_stored_is_replayed_though_the_time_is_over() -> None:
    first = MemoryTrialStorage()
    searched("random", plain_space(2, 3, 2), 5, first)
    search = OPTIMIZERS.load("random")().search(Problem(plain_space(2, 3, 2), SIZE, np.random.default_rng(0)))

    def evaluate(request: Request) -> Trial:
        raise AssertionError("nothing new is evaluated")

    resumed = run(
        search,
        InProcess(evaluate),
        Budget(seconds=1.0),
        clock=Clock(),
        training_size=SIZE,
        journal=first.next_session(),
    )
    assert told(resumed.records) == told(first.appended)
    assert resumed.ended is EndReason.BUDGET


def test_the_journal_is_told_how_the_session_ended() -> None:
    kept = MemoryTrialStorage()
    searched("random", plain_space(2, 2), 99, kept)
    assert kept.end_reason == "exhausted"


def test_a_trial_is_kept_before_the_optimizer_is_told() -> None:
    class Full(MemoryTrialStorage):
        def append(self, _: TrialRecord) -> None:
            raise OSError("the disk is full")

    heard: list[Request] = []

    def search():  # type: ignore[no-untyped-def]
        answers = yield from ask_all([Request(next(iter(configurations)))])
        heard.extend(answers)

    configurations = [default_configuration(plain_space(2, 2))]
    with pytest.raises(OSError, match="full"):
        run(
            search(),
            InProcess(lambda request: make_trial(request, 0.5)),
            Budget(trials=5),
            clock=Clock(),
            journal=Full(),
        )
    assert not heard


@pytest.mark.parametrize("is_safe", [True, False])
def test_an_interrupt_while_a_trial_is_kept_loses_nothing_that_is_safe(is_safe: bool) -> None:
    class Interrupted(MemoryTrialStorage):
        def append(self, record: TrialRecord) -> None:
            if record.index < 3 or is_safe:
                super().append(record)
            if record.index == 3:
                raise KeyboardInterrupt

    kept = Interrupted()
    outcome = searched("random", plain_space(2, 3, 2), 9, kept)
    assert outcome.ended is EndReason.INTERRUPTED
    assert told(outcome.records) == told(kept.appended)
    assert len(outcome.records) == 2 + is_safe
