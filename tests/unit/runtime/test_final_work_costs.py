"""The predicted seconds of the work after a search."""

from dataclasses import replace
from pathlib import Path

import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Status, Trial
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.run_deadline import (
    FIT_MARGIN,
    FIXED_SECONDS,
    MAX_SHARE,
    PRIOR_EXPONENT,
    SCORING_SHARE,
    AnswerCandidate,
    FinalWorkCosts,
    LossComputationTime,
    RunDeadline,
    WorkSizes,
    expected_member_count,
)
from spacelang.runtime.trial_models import StoredTrialModels

SIZES = WorkSizes(1000, 500, folds=1, held_out_rows=500)


def trial(cost: float, rows: int | None = None, name: int = 0, loss: float | None = 0.5) -> Trial:
    status = Status.ERROR if loss is None else Status.SUCCESS
    return Trial(Request(Configuration({"x": name}), rows), loss, cost, status)


def kept(score_seconds: float = 0.0, size: int = 1) -> StoredTrialModels:
    return StoredTrialModels((False, 0.0, False, 0.5), 1, Path("model"), size, score_seconds)


def candidate(of_trial: Trial, model: StoredTrialModels | None = None) -> AnswerCandidate:
    return AnswerCandidate((False, 0.0, False, 0.5), 1, of_trial, model)


def test_a_fit_grows_with_the_rows() -> None:
    costs = FinalWorkCosts(SIZES)
    assert costs.fit_seconds(trial(4.0), None) == pytest.approx(FIT_MARGIN * 4 * 2**PRIOR_EXPONENT)
    assert costs.fit_seconds(trial(4.0, 100), None) == pytest.approx(FIT_MARGIN * 4 * 10**PRIOR_EXPONENT)
    assert costs.fit_seconds(trial(4.0, 9999), None) == costs.fit_seconds(trial(4.0), None)


def test_a_fit_is_that_of_one_fold_with_its_preparation() -> None:
    costs = FinalWorkCosts(replace(SIZES, folds=5, training_size=1000, preparation_seconds=0.5))
    assert costs.uncorrected_fit_seconds(trial(10.0), None) == pytest.approx(2.5)
    assert costs.uncorrected_fit_seconds(trial(10.0), kept(score_seconds=5.0)) == pytest.approx(1.5)


def test_shared_work_counts() -> None:
    alone = replace(trial(1.0), cost_alone=4.0)
    assert FinalWorkCosts(SIZES).fit_seconds(alone, None) == FinalWorkCosts(SIZES).fit_seconds(trial(4.0), None)


def test_the_growth_is_that_of_configurations_on_several_numbers_of_rows() -> None:
    costs = FinalWorkCosts(SIZES)
    for name in range(5):
        costs.update_cost_growth(trial(1.0, 100, name))
        costs.update_cost_growth(trial(2.0, 200, name))
    assert costs.row_growth_exponent == pytest.approx(1.0)
    for name in range(9):
        costs.update_cost_growth(trial(1.0, 100, 10 + name))
        costs.update_cost_growth(trial(99.0, 200, 10 + name))
    assert costs.row_growth_exponent == pytest.approx(2.0), "it is bounded"
    costs.update_cost_growth(trial(1.0, 100, 50, loss=None))
    costs.update_cost_growth(trial(0.0, 200, 50))
    assert costs.row_growth_exponent == pytest.approx(2.0), "failures and trials without a cost say nothing"


def test_what_is_measured_corrects_what_follows() -> None:
    costs = FinalWorkCosts(SIZES)
    before = costs.fit_seconds(trial(4.0), None)
    for _ in range(20):
        costs.update_fit_correction(1.0, 3.0)
    assert costs.fit_time_correction == pytest.approx(3.0, rel=0.1)
    assert costs.fit_seconds(trial(4.0), None) > 2 * before


def test_scores_take_time_by_their_rows() -> None:
    costs = FinalWorkCosts(replace(SIZES, test_rows=250, resamples=4, loss_seconds=LossComputationTime(0.0, 0.001)))
    assert costs.score_seconds(trial(4.0), kept(score_seconds=2.0)) == pytest.approx(1.0)
    assert costs.score_seconds(trial(4.0), None) == pytest.approx(4 * SCORING_SHARE / 2)
    assert costs.best_pipeline_score_seconds([candidate(trial(4.0), kept(2.0))]) == pytest.approx(2.0)
    short = FinalWorkCosts(costs.sizes, 10.0)
    assert short.confidence_interval_seconds == pytest.approx(0.5), "a twentieth of the time"
    slow = FinalWorkCosts(replace(SIZES, loss_seconds=LossComputationTime(0.01, 0.001)))
    assert slow.selection_seconds(32, 4) == pytest.approx(32 * (0.01 + 4 * 500 * 0.001))
    assert FinalWorkCosts(SIZES).best_pipeline_score_seconds([candidate(trial(4.0))]) == 0.0, "no test rows"


def test_the_reserve_is_that_of_the_formula() -> None:
    costs = FinalWorkCosts(SIZES, 1000.0)
    assert costs.seconds_to_reserve([], votes=None, workers=2) == FIXED_SECONDS
    best = [candidate(trial(1.0), kept()), candidate(trial(3.0), kept())]
    fits = [costs.fit_seconds(each.trial, each.model) for each in best]
    assert costs.seconds_to_reserve(best, votes=None, workers=2) == pytest.approx(FIXED_SECONDS + fits[0])
    of_members = sum(fits) / 2  # two members on two workers
    assert costs.seconds_to_reserve(best, votes=9, workers=2) == pytest.approx(
        FIXED_SECONDS + fits[0] + of_members, rel=1e-6
    )


def test_a_fit_that_takes_too_long_is_not_reserved_if_there_is_a_model() -> None:
    costs, slow = FinalWorkCosts(SIZES, 60.0), trial(50.0)
    assert costs.seconds_to_reserve([candidate(slow, kept())], workers=1, votes=None) == pytest.approx(FIXED_SECONDS)
    without = costs.seconds_to_reserve([candidate(slow)], workers=1, votes=None)
    assert without == pytest.approx(FIXED_SECONDS + costs.fit_seconds(slow, None)), "else there would be no answer"
    assert costs.seconds_to_reserve([candidate(slow, kept())] * 9, workers=1, votes=32) == pytest.approx(FIXED_SECONDS)
    members = [candidate(trial(1.0), kept()), *[candidate(trial(3.0), kept())] * 9]
    assert costs.seconds_to_reserve(members, workers=1, votes=32) == pytest.approx(MAX_SHARE * 60)


def test_votes_are_distributed_among_fewer_members() -> None:
    assert expected_member_count(32, 32) == 12
    assert expected_member_count(32, 5) == 5
    assert expected_member_count(1, 32) == 1


def test_the_end_of_the_search_takes_no_fit_away() -> None:
    """The search ends when only the reserved seconds are left, and its end takes some of them."""
    now = [0.0]
    time = RunDeadline(100.0, started=0.0, clock=lambda: now[0], sizes=SIZES, candidates=1)
    record = TrialRecord(1, trial(4.0), 0.0, 1.0)
    time.update_predicted_seconds(record)
    now[0] = 100.0 - time.reserved_seconds + FIXED_SECONDS / 3
    assert time.predicted_fit_seconds(record.trial) > time.seconds_left_for_fit
    assert time.allowed_fit_seconds(record.trial, time.seconds_left_for_fit) is not None
    now[0] += FIXED_SECONDS
    assert time.allowed_fit_seconds(record.trial, time.seconds_left_for_fit) is None


def test_the_seconds_of_members_are_those_of_all_learners() -> None:
    """Of two learners the slow one has larger losses, and half of the candidates all the same."""
    reserved = []
    for key in ("", "learner"):
        time = RunDeadline(1000.0, started=0.0, clock=lambda: 0.0, sizes=SIZES, candidates=4, votes=32, learner_key=key)
        for number in range(8):
            learner, cost, loss = ("slow", 9.0, 0.9) if number < 4 else ("fast", 1.0, 0.1)
            made = Trial(Request(Configuration({"x": number, "learner": learner})), loss, cost)
            time.update_predicted_seconds(TrialRecord(number, made, 0.0, 1.0))
        reserved.append(time.reserved_seconds)
    best_ones, equal_shares = reserved
    assert equal_shares > 2 * best_ones
