"""Choices of operators with conditions: what they mean, and what is said of those that cannot be meant."""

import pytest
from spelled import checked, constraints, decision, found, one, space

from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.serialization.space_text import space_to_text
from spacelang.solver.defaults import default_configuration
from spacelang.text import Source

BAGGING = "stage estimator = BaggingClassifier {{ bootstrap : bool = {}, estimator : {} when bootstrap }}"
TWO = "DecisionTreeClassifier | LogisticRegression"
CHAIN = """stage scaler = none | StandardScaler {{ with_mean : bool }}
stage estimator = BaggingClassifier {{
  bootstrap   : bool = true
  max_samples : {{0.25, 0.5}} when bootstrap
  estimator   : GaussianNB | LogisticRegression when {}
}}"""


def members(found: CheckResult) -> int | None:
    assert found.structures is not None
    return found.structures.configuration_count


def test_where_the_condition_does_not_hold_a_choice_of_operators_is_none() -> None:
    text = BAGGING.format("false", TWO)
    choice = decision(text, "estimator.BaggingClassifier.estimator")
    assert [branch.name for branch in choice.branches] == ["DecisionTreeClassifier", "LogisticRegression", "none"]
    assert members(checked(text)) == 3
    taken = {"estimator": "BaggingClassifier", "estimator.bootstrap": True}
    for each, bootstrap, is_member in (
        ("none", False, True),
        ("none", True, False),
        ("LogisticRegression", True, True),
    ):
        document = taken | {"estimator.estimator": each, "estimator.bootstrap": bootstrap}
        assert (first_exclusion(space(text), Configuration(document)) is None) is is_member


def test_none_that_is_written_may_be_taken_where_the_condition_holds_as_well() -> None:
    text = BAGGING.format("true", f"none | {TWO}")
    assert members(checked(text)) == 4
    assert decision(text, "estimator.BaggingClassifier.estimator").default == 0


@pytest.mark.parametrize(("bootstrap", "usual"), [("true", "DecisionTreeClassifier"), ("false", "none")])
def test_the_default_is_what_the_condition_says_of_the_other_defaults(bootstrap: str, usual: str) -> None:
    found = default_configuration(space(BAGGING.format(bootstrap, TWO)))
    assert found["estimator.estimator"] == usual


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        # bootstrap with 2 shares, or without one; 3 scalers
        ("max_samples > 0.25", 3 * (1 + 2 + 1)),
        ("not max_samples > 0.25", 3 * (2 + 1 + 2)),
        ("bootstrap == (max_samples > 0.25)", 3 * (1 + 2 + 2)),
        ("scaler.StandardScaler.with_mean", (1 + 1 + 2) * 3),
        ("scaler.StandardScaler.with_mean != (max_samples == 0.5)", (1 + 2 + 1) + (1 + 2 + 1) + (2 + 1 + 2)),
    ],
)
def test_a_condition_says_something_where_what_it_names_is_not_active(condition: str, count: int) -> None:
    assert members(checked(CHAIN.format(condition))) == count


def test_a_condition_on_operators_is_said_by_constraints() -> None:
    address = "estimator.BaggingClassifier"
    assert constraints(BAGGING.format("true", TWO)) == [
        f"forbid {address}.estimator in {{DecisionTreeClassifier, LogisticRegression}} and not {address}.bootstrap",
        f"forbid {address}.estimator is none and {address}.bootstrap",
    ]


@pytest.mark.parametrize("condition", ["max_samples > 0.25", "scaler is none", "not bootstrap"])
def test_as_text_a_space_with_such_conditions_has_the_same_members(condition: str) -> None:
    written = CHAIN.format(condition)
    again = checked(space_to_text(space(written)))
    assert again.space is not None
    assert members(again) == members(checked(written))
    assert default_configuration(again.space) == default_configuration(space(written))


@pytest.mark.parametrize(
    ("test", "alike"),
    [
        ("estimator == GaussianNB", "estimator is GaussianNB"),
        ("GaussianNB == estimator", "estimator is GaussianNB"),
        ("estimator != GaussianNB", "not estimator is GaussianNB"),
        ("estimator == none", "estimator is none"),
        ('estimator == "calm"', "estimator is calm"),
    ],
)
def test_a_choice_of_operators_is_compared_with_its_alternatives(test: str, alike: str) -> None:
    text = """stage estimator = BaggingClassifier {{
      estimator : GaussianNB | LogisticRegression as calm | none, n_estimators : int[2, 4] when {} }}"""
    assert space(text.format(test)) == space(text.format(alike))


def test_a_fixed_operator_is_compared_too() -> None:
    text = "stage e = AdaBoostClassifier {{ estimator = GaussianNB, n_estimators : int[1, 9] when estimator {} }}"
    assert one(text.format("== GaussianNB")).code == "SL502"
    assert one(text.format("!= GaussianNB")).code == "SL503"


def test_a_set_of_operators_is_a_choice_where_the_parameter_takes_them() -> None:
    text = "stage estimator = BaggingClassifier {{ estimator : {} = LogisticRegression }}"
    sets = (text.format("{DecisionTreeClassifier, LogisticRegression, none}"), text.format(f"{TWO} | none"))
    assert space(sets[0]) == space(sets[1])


@pytest.mark.parametrize(
    ("condition", "underlined"),
    [
        ("estimator == GaussianNB", "SL501 estimator == GaussianNB"),
        ("bootstrap or not bootstrap", "SL502 bootstrap or not bootstrap"),
        ("bootstrap and not bootstrap", "SL503 bootstrap and not bootstrap"),
    ],
)
def test_conditions_without_sense(condition: str, underlined: str) -> None:
    assert found(CHAIN.format(condition)) == [underlined]


def test_a_condition_that_speaks_of_too_much_that_may_be_inactive() -> None:
    stages = [f"stage s{i} = none | StandardScaler {{ with_mean : bool }}" for i in range(7)]
    condition = " or ".join(f"s{i}.StandardScaler.with_mean" for i in range(7))
    last = f"stage estimator = BaggingClassifier {{ estimator : {TWO} when {condition} }}"
    assert found("\n".join([*stages, last])) == [f"SL509 {condition}"]


@pytest.mark.parametrize(
    ("rows", "usual"), [(None, "DecisionTreeClassifier"), (50, "none"), (101, "DecisionTreeClassifier")]
)
def test_data_decides_a_condition_without_a_warning(rows: int | None, usual: str) -> None:
    text = f"stage estimator = BaggingClassifier {{ estimator : {TWO} when n_samples > 100 }}"
    found = check(Source("data.space", text), CheckSettings(bindings={} if rows is None else {"n_samples": rows}))
    assert found.diagnostics == ()
    assert found.space is not None
    assert default_configuration(found.space)["estimator.estimator"] == usual
    assert members(found) == (1 if rows == 50 else 2)
