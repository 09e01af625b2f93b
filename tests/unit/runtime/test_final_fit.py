"""The end of a run: the best pipeline on all rows, or the next best."""

from dataclasses import replace
from typing import Any

import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import UNLIMITED, Bound, BoundedMeasure, Limits
from spacelang.ir.trial import Measurement, Request, Status, TestScore, Trial, UnseenRowsMeasurement
from spacelang.runtime.executors import Evaluate, FinishedJob
from spacelang.runtime.executors.in_process import InProcess, JobSlots
from spacelang.runtime.executors.processes import Processes
from spacelang.runtime.final_fit import (
    MAX_ATTEMPTS,
    FinalFit,
    FinalWork,
    RefitWork,
    SerializedPayload,
    UnseenBoundsWork,
    UnseenScoreWork,
    WorkResult,
    allowed_fit_seconds,
    fit_best_pipeline,
    rank_candidates,
)
from spacelang.runtime.history import EndReason, Outcome, TrialRecord
from spacelang.testing.faults import LIMITS, UnreadablePickle
from spacelang.testing.faults import evaluate as misbehave

SIZE = Bound(BoundedMeasure.SIZE, 100.0)


class Rows:
    """An objective of which nothing is known but its rows."""

    training_size = 70
    rows = 100
    test_rows = 0
    bounds: tuple[Bound, ...] = ()


def record(
    index: int, loss: float | None, rows: int | None = None, size: float = 1.0, deed: str = "well"
) -> TrialRecord:
    request = Request(Configuration({"number": index, "action": deed}), rows)
    status = Status.ERROR if loss is None else Status.SUCCESS
    measured = () if loss is None else (Measurement(SIZE, size),)
    return TrialRecord(index, Trial(request, loss, status=status, constraints=measured), 0.0, 1.0)


def outcome(*records: TrialRecord, seconds: float = 8.0) -> Outcome:
    """What a run comes to whose history these are."""
    good = [each for each in records if each.trial.loss is not None]
    feasible = [each for each in good if each.trial.is_feasible]
    full = [each for each in feasible if each.trial.request.fidelity is None]

    def least(among: list[TrialRecord]) -> TrialRecord | None:
        return min(among, key=lambda each: (each.trial.excess, each.trial.loss), default=None)

    broken = least([each for each in good if not each.trial.is_feasible])
    return Outcome(tuple(records), least(full), least(feasible), (), EndReason.BUDGET, seconds, least_infeasible=broken)


def late(work: Request | FinalWork[Any]) -> Trial | WorkResult[Any]:
    """A pipeline that does its deed where it is fitted on all rows."""
    trial = misbehave(work if isinstance(work, Request) else Request(work.configuration))
    if not isinstance(work, RefitWork):
        return trial
    parcel = SerializedPayload(
        UnreadablePickle() if work.configuration["number"] == 13 else f"of {work.configuration['number']}"
    )
    return WorkResult(parcel if work.returns_pipeline else None, trial.cost)


def told(finale: FinalFit) -> tuple[int | None, list[tuple[int, str]]]:
    found = None if finale.record is None else finale.record.index
    return found, [(each.record.index, each.status.value) for each in finale.skipped]


class TestTheOrder:
    def test_it_is_that_of_the_outcome_and_each_configuration_is_there_once(self) -> None:
        first = record(1, 0.1, rows=20)
        again = replace(first, index=9, trial=replace(first.trial, request=Request(first.trial.request.configuration)))
        found = outcome(
            first,
            record(2, 0.5),
            record(3, 0.01, size=900.0),
            record(4, 0.4),
            record(5, None),
            record(6, 0.02, size=150.0),
            record(7, 0.2, rows=40),
            again,
        )
        assert [each.index for each in rank_candidates(found, 70)] == [9, 4, 2, 7, 6, 3]

    def test_the_first_is_the_best_one(self) -> None:
        for found in (
            outcome(record(1, 0.5), record(2, 0.5)),
            outcome(record(1, 0.5, rows=10), record(2, 0.6, rows=30)),
            outcome(record(1, 0.5, size=200), record(2, 0.6, size=150)),
        ):
            assert next(rank_candidates(found, 70)) is found.best

    def test_rows_beyond_the_training_rows_are_all_of_them(self) -> None:
        assert [each.index for each in rank_candidates(outcome(record(1, 0.5), record(2, 0.6, rows=70)), 70)] == [1, 2]

    def test_without_a_success_there_is_none(self) -> None:
        nothing = outcome(record(1, None))
        assert fit_best_pipeline(nothing, Rows(), InProcess(late)) == FinalFit(None, 100)


class TestTheLimit:
    def test_it_grows_with_the_square_of_the_rows(self) -> None:
        limits = Limits(trial_seconds=7.0)
        whole, part = record(1, 0.5), record(2, 0.5, rows=10)
        assert allowed_fit_seconds(whole, outcome(whole), Rows(), limits) == pytest.approx(
            7 * (100 / 70) ** 2, abs=1e-3
        )
        assert allowed_fit_seconds(part, outcome(part), Rows(), limits) == pytest.approx(700)

    def test_without_one_it_is_as_long_as_the_run_and_a_minute_at_least(self) -> None:
        whole = record(1, 0.5)
        assert allowed_fit_seconds(whole, outcome(whole, seconds=2.0), Rows(), UNLIMITED) == 60
        long = outcome(whole, seconds=700.0)
        assert allowed_fit_seconds(whole, long, Rows(), UNLIMITED) == pytest.approx(700 * (100 / 70) ** 2, abs=1e-3)


class TestPassingOver:
    def test_what_dies_hangs_raises_or_cannot_be_read_is_passed_over(self) -> None:
        executor = Processes(late, limits=LIMITS)
        deeds = ("segfault", "sleep", "raise_an_error")
        records = [record(place, place / 10, deed=deed) for place, deed in enumerate(deeds, 1)]
        run = outcome(*records, record(13, 0.8), record(20, 0.9))
        try:
            # What the end of the budget has cut short holds the only worker.
            executor.start("1", _job("sleep"))
            found = fit_best_pipeline(
                run,
                Rows(),
                executor,
                limits=LIMITS,
                is_wanted=True,
            )
        finally:
            executor.close()
        assert told(found) == (20, [(1, "crash"), (2, "timeout"), (3, "error"), (13, "error")])
        assert found.pipeline == "of 20"
        assert found.rows == 100
        assert "SIGSEGV" in found.skipped[0].reason
        assert found.skipped[1].reason == "the evaluation took longer than 1020ms"
        assert "cannot be read by this process: ImportError" in found.skipped[3].reason

    def test_after_some_attempts_it_is_given_up(self) -> None:
        def refusing(work: FinalWork[Any]) -> WorkResult[Any]:
            return work.make_failed(Status.ERROR, "not on all rows", 0.0)

        found = fit_best_pipeline(outcome(*(record(place, 0.1) for place in range(1, 12))), Rows(), InProcess(refusing))
        assert told(found) == (None, [(place, "error") for place in range(1, MAX_ATTEMPTS + 1)])

    def test_the_one_that_could_be_fitted_is_tested_and_only_that(self) -> None:
        asked: list[FinalWork[Any]] = []

        def testing(work: FinalWork[Any]) -> WorkResult[Any]:
            asked.append(work)
            if isinstance(work, RefitWork):
                status = Status.ERROR if len(asked) == 1 else Status.SUCCESS
                return WorkResult(SerializedPayload("fitted"), 0.0, status)
            if isinstance(work, UnseenScoreWork) and work.pipeline is not None and work.pipeline.unpickle() == "fitted":
                return WorkResult(TestScore(0.25, 0.1, 0.4, 5))
            return work.make_failed(Status.CRASH, "signal 11", 0.0)

        objective = Rows()
        objective.test_rows = 5
        found = fit_best_pipeline(outcome(record(1, 0.1), record(2, 0.2)), objective, InProcess(testing))
        assert told(found) == (2, [(1, "error")])
        assert found.test == TestScore(0.25, 0.1, 0.4, 5)
        assert found.pipeline is None, "nobody has asked for it"
        assert [type(each) for each in asked] == [RefitWork, RefitWork, UnseenScoreWork]

    def test_a_pipeline_that_dies_on_the_test_rows_is_the_best_all_the_same(self) -> None:
        def dying(work: FinalWork[Any]) -> WorkResult[Any]:
            if isinstance(work, RefitWork):
                return WorkResult(SerializedPayload("fitted"))
            return work.make_failed(Status.CRASH, "the worker process was ended by signal 11 (SIGSEGV)", 0.0)

        objective = Rows()
        objective.test_rows = 5
        found = fit_best_pipeline(outcome(record(1, 0.1)), objective, InProcess(dying))
        assert told(found) == (1, [])
        assert found.test == TestScore(None, None, None, 5, "the worker process was ended by signal 11 (SIGSEGV)")

    @pytest.mark.parametrize("ends", ["well", "in a crash"])
    def test_what_is_bounded_is_measured_apart_from_the_score(self, ends: str) -> None:
        """What a user's function does to its process on the test rows costs the run neither pipeline nor score."""

        def testing(work: FinalWork[Any]) -> WorkResult[Any]:
            match work:
                case RefitWork():
                    return WorkResult(SerializedPayload("fitted"))
                case UnseenScoreWork():
                    return WorkResult(TestScore(0.25, 0.1, 0.4, 5))
                case UnseenBoundsWork() if ends == "well":
                    return WorkResult((UnseenRowsMeasurement(SIZE, 120.0),))
                case _:
                    return work.make_failed(Status.CRASH, "signal 11", 0.0)

        objective = Rows()
        objective.test_rows, objective.bounds = 5, (SIZE,)
        found = fit_best_pipeline(outcome(record(1, 0.1)), objective, InProcess(testing)).test
        assert found is not None
        assert found.loss == 0.25
        reached = (
            UnseenRowsMeasurement(SIZE, 120.0)
            if ends == "well"
            else UnseenRowsMeasurement(SIZE, None, reason="signal 11")
        )
        assert found.constraints == (reached,)
        assert found.is_feasible is False

    def test_a_pipeline_that_nobody_wants_is_not_sent(self) -> None:
        assert fit_best_pipeline(outcome(record(1, 0.1)), Rows(), InProcess(late)).pipeline is None


class OldThread(JobSlots):
    """An executor of the protocol of version 0.2: it knows requests and trials only."""

    def __init__(self, evaluate: Evaluate) -> None:
        super().__init__(("old",))
        self._evaluate = evaluate

    def wait(self, seconds: float | None = None) -> list[FinishedJob[Any]]:  # noqa: ARG002 - nothing ends it early
        """Evaluate the job; answer an exception by a failed trial."""
        job = self.busy.pop("old")
        with pytest.warns(DeprecationWarning, match="`Job.request` was renamed to `work`"):
            request = job.request  # type: ignore[attr-defined]
        try:
            return [FinishedJob(job, self._evaluate(request), "old")]
        except ArithmeticError as error:
            return [FinishedJob(job, Trial(request, None, 0.5, Status.CRASH, str(error)), "old")]


class TestAnExecutorOfTheOldProtocol:
    def test_it_evaluates_requests_and_the_work_of_a_final_fit(self) -> None:
        executor = OldThread(late)
        executor.start("old", _job("well"))
        (ended,) = executor.wait()
        with pytest.warns(DeprecationWarning, match="`FinishedJob.trial` was renamed to `result`"):
            assert ended.trial == misbehave(ended.job.work)  # type: ignore[attr-defined]
        assert fit_best_pipeline(outcome(record(1, 0.1)), Rows(), executor, is_wanted=True).pipeline == "of 1"

    def test_its_failed_trials_of_other_work_are_understood_with_a_warning(self) -> None:
        def failing(work: FinalWork[Any]) -> WorkResult[Any]:
            raise ArithmeticError("signal 11")

        with pytest.warns(DeprecationWarning, match=r"let it return `job.work.make_failed\(...\)`"):
            found = fit_best_pipeline(outcome(record(1, 0.1)), Rows(), OldThread(failing))
        assert told(found) == (None, [(1, "crash")])
        assert found.skipped[0].reason == "signal 11"


def _job(deed: str) -> Any:
    from spacelang.runtime.executors import Job

    return Job(1, Request(Configuration({"number": 0, "action": deed})))
