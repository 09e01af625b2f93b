"""What a bound comes to on the test rows, in words and as JSON: nothing that was broken there is hidden."""

import json

from hypothesis import given
from hypothesis import strategies as st

from spacelang.ir import trial
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import AnyBound, Bound, BoundedMeasure, FunctionBound
from spacelang.ir.trial import Measurement, Request, Trial, UnseenRowsMeasurement
from spacelang.report.trial_results import describe_constraints_on_test_set, document_of_test_score

FAIR = Bound(BoundedMeasure.DISPARITY, 0.1, scorer="accuracy", column="sex")
SMALL = Bound(BoundedMeasure.SIZE, 2e6, strict=True)
LEAVES = FunctionBound("leaves", 10.0)
FAST = Bound(BoundedMeasure.LATENCY, 1e-5)

numbers = st.floats(0, 1e7)


@st.composite
def reaching(draw: st.DrawFn) -> UnseenRowsMeasurement:
    """Something that was measured on test rows, or could not be."""
    bound: AnyBound = draw(st.sampled_from([FAIR, SMALL, LEAVES, FAST]))
    near = st.floats(0, 3).map(lambda times: times * bound.limit)
    value = draw(st.none() | near)
    if value is None:
        return UnseenRowsMeasurement(bound, None, reason="ValueError: no")
    low, high = sorted((draw(near), draw(near)))
    return (
        UnseenRowsMeasurement(bound, value, low, high) if draw(st.booleans()) else UnseenRowsMeasurement(bound, value)
    )


def searched(bound: AnyBound, *, held: bool) -> Trial:
    request = Request(Configuration({"estimator": "SVC"}))
    return Trial(request, 0.1, constraints=(Measurement(bound, 0.0 if held else bound.limit * 2),))


@given(reaching(), st.booleans())
def test_a_line_says_breaks_exactly_where_it_does(each: UnseenRowsMeasurement, held: bool) -> None:
    score = trial.TestScore(0.1, None, None, 9, "", (each,))
    (line,) = describe_constraints_on_test_set(score, searched(each.bound, held=held))
    breaks = each.value is not None and not each.bound.is_satisfied_by(each.value)
    assert ("violates the bound" in line) is breaks
    assert ("violates the bound, unlike in the search" in line) is (breaks and held)
    assert ("satisfies the bound, unlike in the search" in line) is (each.holds and not held)
    assert ("unknown, ValueError: no" in line) is (each.value is None)
    found = json.loads(json.dumps(document_of_test_score(score), allow_nan=False))
    assert found["feasible"] is each.holds
    assert found["constraints"][each.bound.name]["holds"] is each.holds
    assert found["constraints"][each.bound.name]["value"] == each.value


def test_the_lines() -> None:
    def line(each: UnseenRowsMeasurement, *, held: bool = True) -> str:
        return next(
            describe_constraints_on_test_set(
                trial.TestScore(0.1, 0.0, 0.2, 9, "", (each,)), searched(each.bound, held=held)
            )
        )

    assert (
        line(UnseenRowsMeasurement(FAIR, 0.05, 0.01, 0.08))
        == "disparity(accuracy, sex) <= 0.1 on the test set: 0.05 [0.01, 0.08]"
    )
    assert line(UnseenRowsMeasurement(FAIR, 0.05, 0.01, 0.2)).endswith("0.05 [0.01, 0.2]; this may be chance")
    assert line(UnseenRowsMeasurement(FAIR, 0.15, 0.12, 0.2)).endswith(
        "0.15 [0.12, 0.2], which violates the bound, unlike in the search"
    )
    assert line(UnseenRowsMeasurement(SMALL, 3e6), held=False) == (
        "pickled_size < 2MB on the test set: 3MB, which violates the bound, as in the search"
    )
    slow = "no interval: slow"
    assert line(UnseenRowsMeasurement(LEAVES, 4.0, reason=slow)) == f"leaves <= 10 on the test set: 4; {slow}"
    assert line(UnseenRowsMeasurement(LEAVES, 12.0, reason="no interval: slow"), held=False) == (
        "leaves <= 10 on the test set: 12, which violates the bound, as in the search; no interval: slow"
    )


def test_without_bounds_nothing_is_feasible_or_not() -> None:
    score = trial.TestScore(0.1, 0.0, 0.2, 9)
    assert document_of_test_score(score) == {
        "loss": 0.1, "low": 0.0, "high": 0.2, "rows": 9, "reason": "", "feasible": None, "constraints": {},
    }  # fmt: skip
    assert [*describe_constraints_on_test_set(score, searched(FAIR, held=True))] == []
