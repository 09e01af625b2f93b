"""The Pareto front consists of exactly the trials that no other trial dominates."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from storing import trial

from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import Measurement
from spacelang.runtime.history import TrialRecord, dominates, objective_values, pareto_front

SIZE = 100
LIMIT = FunctionBound("leaves", 4.0)
NAMES = ("1 - roc_auc", "predict_latency", "fit_seconds")


@st.composite
def histories(draw: st.DrawFn) -> list[TrialRecord]:
    """Draw trials of which many have equal values; some failed, are infeasible or had fewer rows."""
    names = NAMES[: draw(st.integers(2, 3))]
    found = []
    for index in range(1, draw(st.integers(0, 12)) + 1):
        values = draw(st.none() | st.tuples(*(st.integers(0, 3).map(float) for _ in names)))
        record = trial(index)
        request = replace(record.trial.request, fidelity=draw(st.sampled_from([None, SIZE, SIZE - 1])))
        measured = (Measurement(LIMIT, draw(st.sampled_from([3.0, 3.0, 5.0]))),)
        made = replace(record.trial, request=request, loss=None, constraints=(), objectives=())
        if values is not None:
            objectives = tuple(zip(names, values, strict=True))
            made = replace(made, loss=values[0], constraints=measured, objectives=objectives)
        found.append(replace(record, trial=made))
    return found


def is_candidate(record: TrialRecord) -> bool:
    said = record.trial
    return said.loss is not None and said.is_feasible and said.request.fidelity in (None, SIZE)


@given(histories())
def test_the_front_is_exactly_what_no_other_trial_dominates(records: Sequence[TrialRecord]) -> None:
    front = pareto_front(records, SIZE)
    judged = [each for each in records if is_candidate(each)]
    for record in judged:
        values = objective_values(record.trial)
        is_dominated = any(
            all(a <= b for a, b in zip(objective_values(other.trial), values, strict=True))
            and any(a < b for a, b in zip(objective_values(other.trial), values, strict=True))
            for other in judged
        )
        assert (record in front) is not is_dominated
    assert {each.index for each in front} <= {each.index for each in judged}
    assert [objective_values(each.trial) for each in front] == sorted(objective_values(each.trial) for each in front)


vectors = st.lists(st.integers(0, 3).map(float), min_size=3, max_size=3).map(tuple)


@given(vectors, vectors, vectors)
def test_domination_is_a_strict_order(one: tuple[float, ...], two: tuple[float, ...], three: tuple[float, ...]) -> None:
    assert not dominates(one, one)
    assert not (dominates(one, two) and dominates(two, one))
    assert dominates(one, three) or not (dominates(one, two) and dominates(two, three))
