"""However many workers evaluate, and in whichever order they end: the search is told the same."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from crews import Shuffled
from driving import answered, moody
from hypothesis import given
from hypothesis import strategies as st
from journals import Kept
from small_spaces import nested, plain, tuned

from spacelang.ir.configuration import Configuration
from spacelang.ir.scale import UNIT, Scale
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Search, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import Executor
from spacelang.runtime.executors.here import Here
from spacelang.runtime.history import Outcome, Record
from spacelang.runtime.loop import run

from .settings import LAW

SIZE = 400


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def evaluate(request: Request) -> Trial:
    return answered(request, moody(request))


def errors(request: Request) -> Trial:
    """Losses that no unit is known of."""
    loss = moody(request)
    return answered(request, None if loss is None else 40 * loss)


def rounds(batches: Sequence[Sequence[int]], told: list[list[Trial]]) -> Search:
    for batch in batches:
        answers = yield [Request(Configuration({"x": number})) for number in batch]
        told.append(list(answers))


def route(request: Request) -> tuple[str, ...]:
    return tuple(request.configuration.identity[:20])


def kept(records: Sequence[Record]) -> set[tuple[str, int | None, float | None]]:
    trials = [each.trial for each in records]
    found = [(each.request.configuration.identity, each.request.fidelity, each.loss) for each in trials]
    assert len(set(found)) == len(found)
    return set(found)


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=6),
    st.integers(1, 5),
    st.integers(0, 99),
    st.none() | st.integers(1, 20),
)
@LAW
def test_rounds_are_answered_in_their_own_order_and_everything_is_evaluated_once(
    batches: list[list[int]], workers: int, seed: int, trials: int | None
) -> None:
    one: list[list[Trial]] = []
    many: list[list[Trial]] = []
    alone = run(rounds(batches, one), Here(evaluate), Budget(trials=trials), clock=Clock())
    crew = Shuffled(evaluate, workers, seed)
    together = run(rounds(batches, many), crew, Budget(trials=trials), clock=Clock(), route=route)
    assert many == one
    assert kept(together.records) == kept(alone.records)
    assert (together.answered, together.ended, together.unfinished) == (alone.answered, alone.ended, 0)
    assert [each.index for each in together.records] == [*range(1, len(together.records) + 1)]
    assert crew.most_busy <= workers
    assert not crew.busy


def searched(
    name: str,
    space: Space,
    executor: Executor,
    trials: int,
    journal: Kept | None = None,
    scale: Scale | None = UNIT,
    **options: object,
) -> Outcome:
    search = OPTIMIZERS.load(name)(**options).search(space, SIZE, np.random.default_rng(0))
    return run(
        search,
        executor,
        Budget(trials=trials),
        clock=Clock(),
        training_size=SIZE,
        journal=journal,
        route=route,
        scale=scale,
    )


@pytest.mark.parametrize("name", ["blds", "cmab", "daub"])
def test_what_is_the_first_success_depends_neither_on_workers_nor_on_where_a_run_was_stopped(name: str) -> None:
    space = plain(3, 3, 2)
    more = {"ahead": 2} if name == "blds" else {}
    alone = searched(name, space, Here(errors), 60, scale=None)
    together = searched(name, space, Shuffled(errors, 3, seed=3), 60, scale=None, **more)
    assert alone.scale == together.scale
    assert alone.scale is not None
    assert alone.scale != UNIT
    assert more or kept(together.records) == kept(alone.records)
    for stop in range(1, 20):
        second = Kept(tuple(together.records[:stop]), 100.0)
        resumed = searched(name, space, Here(errors), 60, second, scale=None)
        assert resumed.scale == alone.scale


@pytest.mark.parametrize("name", OPTIMIZERS.names())
@pytest.mark.parametrize("space", [plain(2, 3, 2), nested(), tuned()], ids=lambda space: space.name)
@pytest.mark.parametrize("workers", [2, 5])
def test_an_optimizer_asks_for_the_same_with_any_number_of_workers(name: str, space: Space, workers: int) -> None:
    alone = searched(name, space, Here(evaluate), 40)
    together = searched(name, space, Shuffled(evaluate, workers, seed=3), 40)
    assert kept(together.records) == kept(alone.records)
    assert (together.best and together.best.trial.loss) == (alone.best and alone.best.trial.loss)


@pytest.mark.parametrize("name", OPTIMIZERS.names())
@pytest.mark.parametrize("space", [plain(2, 3, 2), nested(), tuned()], ids=lambda space: space.name)
def test_a_run_of_several_workers_that_was_killed_anywhere_goes_on_to_the_same_trials(name: str, space: Space) -> None:
    whole = searched(name, space, Shuffled(evaluate, 3, seed=1), 24)
    for stop in range(1, len(whole.records)):
        # A kill may come after any trial that was stored, whichever of its round these are.
        second = Kept(tuple(whole.records[:stop]), 100.0)
        resumed = searched(name, space, Shuffled(evaluate, 3, seed=stop), 24, second)
        assert kept(resumed.records) == kept(whole.records)
        assert [each.index for each in second.appended] == [*range(stop + 1, len(whole.records) + 1)]
        assert sorted(each.index for each in resumed.records) == [*range(1, len(whole.records) + 1)]
        seconds = [point.seconds for point in resumed.curve]
        assert seconds == sorted(seconds)


@pytest.mark.parametrize("ahead", [1, 3])
def test_what_was_asked_ahead_in_vain_is_counted_also_after_a_resume(ahead: int) -> None:
    def ran(kept: Kept) -> Outcome:
        search = OPTIMIZERS.load("blds")(ahead=ahead).search(plain(4, 4, 3), SIZE, np.random.default_rng(0))
        return run(search, Shuffled(evaluate, ahead + 1), Budget(trials=60), clock=Clock(), journal=kept)

    first = Kept()
    whole = ran(first)
    assert 0 < whole.unneeded < 60
    again = ran(Kept([replace(each, trial=unmarked(each.trial)) for each in first.appended], 100.0))
    assert (again.unneeded, len(again.records)) == (whole.unneeded, 60)
    alone = searched("blds", plain(4, 4, 3), Here(evaluate), 60)
    assert alone.unneeded == 0
    needed = {key for key, _, _ in kept(alone.records)}
    assert {
        each.trial.request.configuration.identity for each in whole.records if not each.trial.request.ahead
    } <= needed


def unmarked(trial: Trial) -> Trial:
    """As a store gives it back."""
    return replace(trial, request=replace(trial.request, ahead=False))


@pytest.mark.parametrize("ahead", [1, 3])
def test_a_run_that_is_over_stays_so_with_fewer_workers(ahead: int) -> None:
    first = Kept()
    search = OPTIMIZERS.load("blds")(ahead=ahead).search(plain(4, 4, 3), SIZE, np.random.default_rng(0))
    run(search, Shuffled(evaluate, ahead + 1), Budget(trials=60), clock=Clock(), journal=first)
    second = Kept(tuple(first.appended), 100.0)
    again = searched("blds", plain(4, 4, 3), Here(evaluate), 60, second)
    assert not second.appended
    assert kept(again.records) == kept(first.appended)
