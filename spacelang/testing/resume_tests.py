"""Tests of optimizers that are killed at any point and resumed with any number of workers."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import pytest
from hypothesis import strategies as st

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.space import Space
from spacelang.ir.trial import UNIT_SCALE, Request
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.history import EndReason, TrialRecord
from spacelang.testing.driving import drive, flaky_loss
from spacelang.testing.memory_storage import EventLog, MemoryTrialStorage
from spacelang.testing.search_tests import (
    EXHAUSTIVE_TRIALS,
    TRIALS,
    WORKERS,
    SearchTests,
    configuration_prefix,
    evaluate,
    evaluate_unscaled,
    evaluate_with_varied_cost,
    sample_members,
)
from spacelang.testing.simulated_workers import RestartingWorkers, ShuffledWorkers
from spacelang.testing.small_spaces import SMALL, continuous_space, nested_space, plain_space, space_name, spaces

WORKER_COUNTS = st.sampled_from((1, 2, 8))


class ResumeTests(SearchTests):
    """Tests of resuming an optimizer."""

    one_by_one: ClassVar[bool] = False
    """True if the optimizer commits to one trial at a time, so that the number of workers changes nothing."""
    stops: ClassVar[int] = 1
    """The number of trials between the points at which a run is stopped; set a larger one for a slow optimizer."""

    @pytest.mark.parametrize("space", SMALL, ids=space_name)
    def test_stopping_after_any_trial_and_replaying_equals_the_uninterrupted_run(self, space: Space) -> None:
        whole = drive(self.start(space), flaky_loss, 40)
        # The optimizer receives the same events wherever the run was stopped. So one stop per space, after different
        # numbers of trials, is as good as a stop after every trial; another one comes after the last trial.
        for stop in {7 * SMALL.index(space) % len(whole.trials), len(whole.trials)}:
            assert drive(self.start(space), flaky_loss, 40, known=whole.trials[:stop]) == whole

    @WORKERS
    def test_a_resumed_run_replays_the_same_events(self, workers: int) -> None:
        def law(space: Space, order: int, kills: list[tuple[int, int]]) -> None:
            journal, told, initial = MemoryTrialStorage(), EventLog(), sample_members(space, order % 4)
            route = configuration_prefix
            crew = ShuffledWorkers(evaluate, workers, order)
            whole = self.run(space, crew, initial=initial, journal=journal, heard=told, route=route)
            for place, (stop, others) in enumerate(kills):
                count = len(journal.earlier)
                journal = journal.killed_after(min(max(stop, count), count + len(journal.appended)))
                again, crew = EventLog(), ShuffledWorkers(evaluate, others, order + place)
                outcome = self.run(space, crew, initial=initial, journal=journal, heard=again, route=route)
                before = told.events_of_first_trials(len(journal.earlier))
                assert again.events[: len(before)] == before
                assert again.seconds_and_memos[: len(before)] == told.seconds_and_memos[: len(before)]
                assert outcome.records[: len(journal.earlier)] == tuple(journal.earlier)
                assert is_numbered_without_duplicates(outcome.records)
                assert {Request(each) for each in initial} <= {each.trial.request for each in outcome.records}
                if self.one_by_one:
                    assert outcome.ended == whole.ended
                    needed = (len(each.records) - each.wasted_speculative for each in (outcome, whole))
                    assert len({*needed}) == 1
                told = again

        kills = st.lists(st.tuples(st.integers(0, TRIALS), WORKER_COUNTS), min_size=1, max_size=3)
        self.check_law(law, 1 / 4, space=spaces(), order=st.integers(0, 99), kills=kills)

    @WORKERS
    @pytest.mark.parametrize("space", [nested_space(), continuous_space()], ids=space_name)
    def test_a_resumed_run_equals_one_whose_trials_were_restarted(self, space: Space, workers: int) -> None:
        first, heard = MemoryTrialStorage(), EventLog()
        self.run(space, SimulatedExecutor(evaluate_with_varied_cost, workers=workers), journal=first, heard=heard)
        if any(ask.speculative for ask in heard.asks):
            pytest.skip("the optimizer makes speculative requests, which need not be repeated after a resumption")
        for stop in range(1, len(first.appended), 2 + self.stops):
            anew, resumed = EventLog(), EventLog()
            self.run(space, RestartingWorkers(evaluate_with_varied_cost, workers, stop), heard=anew)
            crew = SimulatedExecutor(evaluate_with_varied_cost, workers=workers)
            self.run(space, crew, journal=first.killed_after(stop), heard=resumed)
            assert (resumed.events, resumed.seconds_and_memos) == (anew.events, anew.seconds_and_memos)

    @WORKERS
    def test_every_started_request_is_reported_once(self, workers: int) -> None:
        heard = EventLog()
        crew = SimulatedExecutor(evaluate_with_varied_cost, workers=workers)
        outcome = self.run(plain_space(2, 3, 2), crew, EXHAUSTIVE_TRIALS, heard=heard)
        assert Counter(told.request for told in heard.events if told.finished) == Counter(heard.committed_requests)
        assert outcome.ended is EndReason.EXHAUSTED
        assert is_numbered_without_duplicates(outcome.records)

    @WORKERS
    @pytest.mark.parametrize("trials", [12, TRIALS])
    def test_a_finished_run_stays_finished(self, workers: int, trials: int) -> None:
        """Check that a finished run does nothing when it is resumed, with any number of workers or a smaller budget."""
        first = MemoryTrialStorage()
        whole = self.run(plain_space(4, 4, 3), ShuffledWorkers(evaluate, 3), journal=first, route=configuration_prefix)
        second, crew = first.next_session(), ShuffledWorkers(evaluate, workers)
        again = self.run(plain_space(4, 4, 3), crew, trials, journal=second, route=configuration_prefix)
        assert not second.appended
        assert (again.records, again.ended, again.best) == (whole.records, whole.ended, whole.best)

    def test_the_loss_scale_does_not_depend_on_where_a_run_was_stopped(self) -> None:
        first, space = MemoryTrialStorage(), plain_space(3, 3, 2)
        crew = ShuffledWorkers(evaluate_unscaled, 3, seed=3)
        crowd = self.run(space, crew, journal=first, scale=None, route=configuration_prefix)
        assert crowd.scale not in (None, UNIT_SCALE)
        for stop in range(1, len(first.appended), 4):
            later = first.killed_after(stop)
            resumed = self.run(
                space, InProcess(evaluate_unscaled), journal=later, scale=None, route=configuration_prefix
            )
            if any(each.trial.loss is not None and not each.is_speculative for each in later.earlier):
                assert resumed.scale == crowd.scale


def is_numbered_without_duplicates(records: Sequence[TrialRecord]) -> bool:
    """Return True if trials are numbered from 1, and none is repeated with the same request and seconds."""
    requests = [(each.trial.request, each.trial.request.seconds) for each in records]
    return len(set(requests)) == len(requests) and [each.index for each in records] == [*range(1, len(records) + 1)]
