"""What the trials and the time of a run went into."""

from dataclasses import replace

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.report.run_facts import (
    TrialCountAndSeconds,
    describe_learner_seconds,
    describe_parts_of_auto,
    effort_by_learner,
    effort_by_part_of_auto,
)
from spacelang.runtime.history import TrialRecord


def record(index: int, learner: str, part: str, cost: float) -> TrialRecord:
    request = Request(Configuration({"estimator": learner}), memo=(part,) if part else ())
    return TrialRecord(index, Trial(request, 0.5, cost), 0.0, cost)


RECORDS = [
    record(1, "linear", "", 1.0),
    record(2, "linear", "portfolio", 2.0),
    record(3, "forest", "model", 4.0),
    record(4, "forest", "model", 8.0),
]


def test_trials_and_seconds_are_counted_by_part_and_by_learner() -> None:
    parts, learners = effort_by_part_of_auto("auto", RECORDS), effort_by_learner("estimator", RECORDS)
    assert parts == {
        "initial": TrialCountAndSeconds(1, 1.0),
        "portfolio": TrialCountAndSeconds(1, 2.0),
        "model": TrialCountAndSeconds(2, 12.0),
    }
    assert [*learners.items()] == [("forest", TrialCountAndSeconds(2, 12.0)), ("linear", TrialCountAndSeconds(2, 3.0))]
    assert sum(each.trials for each in parts.values()) == sum(each.trials for each in learners.values()) == 4
    assert (
        describe_parts_of_auto(parts)
        == "1 given as initial configurations, 1 from the starting points, 2 proposed by the model"
    )
    assert describe_learner_seconds(learners) == "forest 12.0 s, linear 3.0 s"


def test_a_trial_of_another_run_took_no_time_of_this_one() -> None:
    moved = replace(record(5, "forest", "", 16.0), finished=0.0)
    assert effort_by_learner("estimator", [*RECORDS, moved])["forest"] == TrialCountAndSeconds(3, 12.0)


def test_other_optimizers_have_no_parts_and_other_spaces_no_learners() -> None:
    assert effort_by_part_of_auto("random", RECORDS) == {}
    assert effort_by_learner("", RECORDS) == {}
    assert describe_parts_of_auto({}) == describe_learner_seconds({}) == ""
    assert effort_by_learner("scaler", RECORDS) == {"other": TrialCountAndSeconds(4, 15.0)}
