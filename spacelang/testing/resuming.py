"""Tests of optimizers that are killed at any point and resumed with any number of workers."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import pytest
from hypothesis import strategies as st

from spacelang.bench.simulated import Simulated
from spacelang.ir.scale import UNIT
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.runtime.executors.here import Here
from spacelang.runtime.history import Ending, Record
from spacelang.testing.crews import BegunAnew, Shuffled
from spacelang.testing.driving import drive, moody
from spacelang.testing.journals import Heard, MemoryJournal
from spacelang.testing.searching import (
    PLENTY,
    TRIALS,
    WORKERS,
    Searches,
    errors,
    evaluate,
    named,
    route,
    some,
    timed,
)
from spacelang.testing.small_spaces import SMALL, continuous, nested, plain, spaces

CREWS = st.sampled_from((1, 2, 8))


class Resumed(Searches):
    """Tests of resuming an optimizer."""

    one_by_one: ClassVar[bool] = False
    """True if the optimizer commits to one trial at a time, so that the number of workers changes nothing."""
    stops: ClassVar[int] = 1
    """The number of trials between the points at which a run is stopped; set a larger one for a slow optimizer."""

    @pytest.mark.parametrize("space", SMALL, ids=named)
    def test_stopping_after_any_trial_and_replaying_equals_the_uninterrupted_run(self, space: Space) -> None:
        whole = drive(self.start(space), moody, 40)
        # The optimizer receives the same events wherever the run was stopped. So one stop per space, after different
        # numbers of trials, is as good as a stop after every trial; another one comes after the last trial.
        for stop in {7 * SMALL.index(space) % len(whole.trials), len(whole.trials)}:
            assert drive(self.start(space), moody, 40, known=whole.trials[:stop]) == whole

    @WORKERS
    def test_what_it_was_told_before_it_was_killed_it_is_told_again(self, workers: int) -> None:
        def law(space: Space, order: int, kills: list[tuple[int, int]]) -> None:
            journal, told, initial = MemoryJournal(), Heard(), some(space, order % 4)
            crew = Shuffled(evaluate, workers, order)
            whole = self.run(space, crew, initial=initial, journal=journal, heard=told, route=route)
            for place, (stop, others) in enumerate(kills):
                journal = journal.cut(
                    min(max(stop, len(journal.earlier)), len(journal.earlier) + len(journal.appended))
                )
                again, crew = Heard(), Shuffled(evaluate, others, order + place)
                outcome = self.run(space, crew, initial=initial, journal=journal, heard=again, route=route)
                before = told.until(len(journal.earlier))
                assert again.tolds[: len(before)] == before
                assert again.said[: len(before)] == told.said[: len(before)]
                assert outcome.records[: len(journal.earlier)] == tuple(journal.earlier)
                assert is_each_once(outcome.records)
                assert {Request(each) for each in initial} <= {each.trial.request for each in outcome.records}
                if self.one_by_one:
                    assert outcome.ended == whole.ended
                    assert len(outcome.records) - outcome.unneeded == len(whole.records) - whole.unneeded
                told = again

        kills = st.lists(st.tuples(st.integers(0, TRIALS), CREWS), min_size=1, max_size=3)
        self.holds(law, 1 / 4, space=spaces(), order=st.integers(0, 99), kills=kills)

    @WORKERS
    @pytest.mark.parametrize("space", [nested(), continuous()], ids=named)
    def test_it_makes_what_one_makes_whose_trials_were_begun_anew(self, space: Space, workers: int) -> None:
        first, heard = MemoryJournal(), Heard()
        self.run(space, Simulated(timed, workers=workers), journal=first, heard=heard)
        if any(ask.ahead for ask in heard.asks):
            pytest.skip("the optimizer makes speculative requests, which need not be repeated after a resumption")
        for stop in range(1, len(first.appended), 2 + self.stops):
            anew, resumed = Heard(), Heard()
            self.run(space, BegunAnew(timed, workers, stop), heard=anew)
            self.run(space, Simulated(timed, workers=workers), journal=first.cut(stop), heard=resumed)
            assert (resumed.tolds, resumed.said) == (anew.tolds, anew.said)

    @WORKERS
    def test_until_it_ends_all_that_it_begins_is_told_once(self, workers: int) -> None:
        heard = Heard()
        outcome = self.run(plain(2, 3, 2), Simulated(timed, workers=workers), PLENTY, heard=heard)
        assert Counter(told.asked for told in heard.tolds if told.ended) == Counter(heard.begun)
        assert outcome.ended is Ending.EXHAUSTED
        assert is_each_once(outcome.records)

    @WORKERS
    @pytest.mark.parametrize("trials", [12, TRIALS])
    def test_a_run_that_is_over_stays_so(self, workers: int, trials: int) -> None:
        """Check that a finished run does nothing when it is resumed.

        This also holds with fewer or more workers than before, and with a smaller budget.
        """
        first = MemoryJournal()
        whole = self.run(plain(4, 4, 3), Shuffled(evaluate, 3), journal=first, route=route)
        second = first.later()
        again = self.run(plain(4, 4, 3), Shuffled(evaluate, workers), trials, journal=second, route=route)
        assert not second.appended
        assert (again.records, again.ended, again.best) == (whole.records, whole.ended, whole.best)

    def test_what_is_the_first_success_depends_not_on_where_a_run_was_stopped(self) -> None:
        first = MemoryJournal()
        crowd = self.run(plain(3, 3, 2), Shuffled(errors, 3, seed=3), journal=first, scale=None, route=route)
        assert crowd.scale not in (None, UNIT)
        for stop in range(1, len(first.appended), 4):
            later = first.cut(stop)
            resumed = self.run(plain(3, 3, 2), Here(errors), journal=later, scale=None, route=route)
            if any(each.trial.loss is not None and not each.is_early for each in later.earlier):
                assert resumed.scale == crowd.scale


def is_each_once(records: Sequence[Record]) -> bool:
    """Return True if trials are numbered from 1, and none is repeated with the same request and seconds."""
    requests = [(each.trial.request, each.trial.request.seconds) for each in records]
    return len(set(requests)) == len(requests) and [each.index for each in records] == [*range(1, len(records) + 1)]
