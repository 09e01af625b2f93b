"""The answer of a run is short, whatever was found, and says if little beside the starting points was tried."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Status, Trial
from spacelang.ir.value import Value
from spacelang.optimizers.auto import Auto
from spacelang.report.pipeline_lines import pipeline_lines
from spacelang.report.run_facts import RunFacts, StartingPointsAndBudget
from spacelang.report.summary import MAX_STEPS, summary_lines
from spacelang.runtime.budget import Budget, parse_duration, round_duration
from spacelang.runtime.history import EndReason, Outcome, TrialRecord
from spacelang.runtime.scoring.metric import named_metric

MAX_LINES = 25
NEXT_STEPS = ["spacelang export run.db -o pipeline.py"] * 5
VALUES = st.one_of(st.integers(0, 9), st.floats(0, 1), st.sampled_from(["none", "SVC"]))
KEYS = st.lists(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=3).map(".".join)


def outcome_of(*configurations: Configuration, reasons: tuple[str, ...] = (), ended: EndReason) -> Outcome:
    """Successful trials of configurations, then failed ones."""
    trials = [Trial(Request(each), 0.25, 1.0) for each in configurations]
    trials += [Trial(Request(Configuration({})), None, 1.0, Status.ERROR, each) for each in reasons]
    records = tuple(TrialRecord(index, each, 0.0, 1.0) for index, each in enumerate(trials, start=1))
    best = records[0] if configurations else None
    return Outcome(records, best, best, (), ended, float(len(records)))


@given(
    st.lists(st.dictionaries(KEYS, VALUES, max_size=30).map(Configuration), min_size=1, max_size=3),
    st.lists(st.text(max_size=9), max_size=9).map(tuple),
    st.sampled_from(EndReason),
)
@settings(max_examples=30, deadline=None)
def test_an_answer_has_few_lines_whatever_was_found(
    configurations: list[Configuration], reasons: tuple[str, ...], ended: EndReason
) -> None:
    facts = RunFacts("auto", 0, named_metric("accuracy"), 100, "Before the pipeline: nothing.", "run.db")
    outcome = outcome_of(*configurations, reasons=tuple(each.replace("\n", " ") for each in reasons), ended=ended)
    lines = [str(line) for line in summary_lines(outcome, facts, next_steps=NEXT_STEPS)]
    assert "\n".join(lines).count("\n") < MAX_LINES
    assert lines[0] == "Best accuracy: 0.75 (trial 1, 1 - accuracy 0.25)"
    assert sum(line.startswith("  ") for line in lines) <= MAX_STEPS + 1 + len(NEXT_STEPS)


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=9).map(Configuration))
@settings(max_examples=30)
def test_every_value_of_a_step_is_on_its_line(configuration: Configuration) -> None:
    lines = pipeline_lines(configuration)
    steps = {key for key in configuration if key.partition(".")[0] not in configuration or "." not in key}
    empty = {
        key for key in steps if configuration[key] == "none" and not any(k.startswith(f"{key}.") for k in configuration)
    }
    assert len(lines) == len(steps - empty or steps)
    for key in configuration:
        if key not in steps:
            step, _, name = key.partition(".")
            assert any(line.split()[0] == step and f"{name}=" in line for line in lines)


def test_a_tuple_is_one_value() -> None:
    values: dict[str, Value] = {"e": "Net", "e.length": 2, "e.t": "tuple", "e.t.length": 2, "e.t[1]": 8, "e.t[2]": 4}
    assert pipeline_lines(Configuration(values)) == ["  e  Net  length=2, t=(8, 4)"]
    assert pipeline_lines(Configuration({"e": "Net", "e.t": "tuple", "e.t.length": 0})) == ["  e  Net  t=()"]


def points(count: int) -> tuple[Configuration, ...]:
    return tuple(Configuration({"e": place}) for place in range(count))


@pytest.mark.parametrize(
    ("tried", "further", "budget", "processors", "advice"),
    [
        (6, 0, Budget(answer_seconds=60.0), 4, "6 of 7 @ were evaluated: run with `--time 5m` or `--workers 4`."),
        (1, 0, Budget(answer_seconds=20.0), 1, "1 of 7 @ was evaluated: run with `--time 10m`."),
        (7, 0, Budget(seconds=60.0), 1, "All 7 @ were evaluated, but nothing else: run with `--time 5m`."),
        (7, 1, Budget(trials=8), 4, "All 7 @ were evaluated, but only 1 other configuration: run with `--trials 21`."),
        (7, 7, Budget(trials=14), 4, ""),
        (2, 9, Budget(trials=11), 4, ""),
    ],
)  # fmt: skip
def test_who_has_tried_little_beside_the_starting_points_is_told_what_helps(
    tried: int, further: int, budget: Budget, processors: int, advice: str
) -> None:
    given_points = StartingPointsAndBudget(points(7), budget, 1, processors)
    others = [Configuration({"e": "other", "e.x": place}) for place in range(further)]
    outcome = outcome_of(*points(tried), *others, ended=EndReason.BUDGET)
    assert given_points.budget_advice(outcome) == advice.replace("@", "starting points")
    assert bool(given_points.larger_budget_option(outcome)) == bool(advice)
    assert given_points.budget_advice(replace(outcome, ended=EndReason.EXHAUSTED)) == ""


@given(st.floats(0.001, 1e6))
def test_a_round_duration_is_at_least_as_long(seconds: float) -> None:
    assert seconds <= parse_duration(round_duration(seconds)) <= max(10.0, 3 * seconds)


def test_the_search_of_auto_starts_with_its_starting_points() -> None:
    space = sl.parse("stage s = none | StandardScaler\nstage e = GaussianNB | BernoulliNB | DecisionTreeClassifier\n")
    expected = Auto().starting_points(space.counted)
    assert len(expected) == 3
    trials: dict[str, Any] = {"trials": len(expected), "workers": 0, "optimizer": "auto"}
    found = sl.search(space, objective=lambda _: 0.5, **trials)
    assert {*found.configurations} == {*expected}
