"""Users' own functions as constraints: what they are given, what they may give, and what becomes of trials."""

import math

import cloudpickle
import numpy as np
import pytest
from judged import FOLDS, TWO, by_hand, data, made, succeeded, wish

from spacelang.ir.task import Bound, BoundedMeasure, FunctionBound, describe_bound
from spacelang.ir.trial import Status, Trial
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.scoring.pipeline_scorer import make_pipeline_scorer
from spacelang.runtime.scoring.user_functions import Constraint, ConstraintError


def leaves(pipeline, features, target) -> float:
    return pipeline[-1].get_n_leaves()


TREE = wish("DecisionTreeClassifier")


def subject(*constraints: Constraint, validation=FOLDS[0], bounds: tuple[Bound, ...] = ()) -> Trial:
    return made("two", EvaluationSettings(validation=validation, bounds=bounds, constraints=constraints)).evaluate(TREE)


@pytest.mark.parametrize("validation", FOLDS)
def test_a_function_of_the_user_is_bounded(validation: Holdout | CrossValidation) -> None:
    asked = EvaluationSettings(
        validation=validation,
        bounds=(Bound(BoundedMeasure.SIZE, 1e6),),
        constraints=(Constraint("leaves", leaves, 2), Constraint("more", leaves, 1e3)),
    )
    objective = made("two", asked)
    trial = succeeded(objective.evaluate(TREE))
    assert tuple(each.bound for each in trial.constraints) == objective.bounds
    size, few, many = trial.constraints
    assert (few.bound, many.bound) == (FunctionBound("leaves", 2.0), FunctionBound("more", 1000.0))
    fitted = [by_hand(objective, TREE, fold) for fold in objective._folds]
    assert few.value == many.value == np.mean([leaves(pipeline, None, None) for pipeline in fitted])
    assert (size.holds, few.holds, many.holds, trial.is_feasible) == (True, False, True, False)
    assert few.excess == (few.value - 2) / 2
    assert [describe_bound(bound) for bound in objective.bounds][1:] == ["leaves <= 2", "more <= 1000"]


def test_a_function_is_given_the_held_out_rows_and_cannot_write_to_them() -> None:
    seen = []

    def looking(pipeline, features, target) -> float:
        seen.append((features.copy(), target.copy()))
        features[0, 0] = 1e9
        return 0.0

    objective = made("two", EvaluationSettings(constraints=(Constraint("touching", looking, 1.0),)))
    before = objective._folds[0].held_out.copy()
    trial = objective.evaluate(TREE)
    assert trial.status is Status.ERROR
    assert "`touching` raised ValueError" in trial.reason
    assert np.array_equal(objective._folds[0].held_out, before)
    assert np.array_equal(seen[0][0], before)
    assert np.array_equal(seen[0][1], objective.held_out_rows.target)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda *_: 1 / 0, "ConstraintError: the constraint `mine` raised ZeroDivisionError: division by zero"),
        (lambda *_: {}["x"], "ConstraintError: the constraint `mine` raised KeyError: 'x'"),
        (lambda *_: "much", "ConstraintError: the constraint `mine` returned 'much' instead of a number"),
        (lambda *_: None, "ConstraintError: the constraint `mine` returned None instead of a number"),
        (lambda *_: 1j, "ConstraintError: the constraint `mine` returned 1j instead of a number"),
        (lambda *_: np.ones(2), "ConstraintError: the constraint `mine` returned array([1., 1.]) instead of a number"),
    ],
)
def test_a_function_that_fails_fails_the_trial_and_is_named(function, reason: str) -> None:
    trial = subject(Constraint("mine", function, 1.0))
    assert (trial.status, trial.loss, trial.reason) == (Status.ERROR, None, reason)


def test_a_function_that_runs_out_of_memory_says_so() -> None:
    def greedy(*_: object) -> float:
        raise MemoryError

    assert subject(Constraint("greedy", greedy, 1.0)).status is Status.MEMORY


@pytest.mark.parametrize(
    ("value", "measured"),
    [
        (1, 1.0),
        (True, 1.0),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        (np.True_, 1.0),
        (10**400, math.inf),
        (-2, -2.0),
    ],
)
def test_numbers_of_every_kind_are_numbers(value: object, measured: float) -> None:
    (found,) = succeeded(subject(Constraint("value", lambda *_: value, 1.0))).constraints
    assert found.value == measured
    assert found.holds is (measured <= 1)


def test_what_a_function_does_not_know_keeps_to_no_limit() -> None:
    (found,) = succeeded(subject(Constraint("unknown", lambda *_: math.nan, 1.0))).constraints
    assert math.isnan(found.value)
    assert not found.holds
    assert found.excess == math.inf


def test_of_folds_those_count_in_which_a_function_knows() -> None:
    values = iter([math.nan, 2.0, 4.0])
    (found,) = subject(Constraint("some", lambda *_: next(values), 9.0), validation=CrossValidation(3)).constraints
    assert found.value == 3.0


@pytest.mark.parametrize("values", [[math.inf, -math.inf, 1.0], [1e308] * 3, [math.inf, 1.0, math.nan]])
def test_no_number_that_a_function_gives_ends_the_run(values: list[float]) -> None:
    given_values = iter(values)
    trial = succeeded(subject(Constraint("vast", lambda *_: next(given_values), 9.0), validation=CrossValidation(3)))
    assert not trial.is_feasible
    assert trial.excess > 0


@pytest.mark.parametrize(
    ("name", "function", "limit", "message"),
    [
        ("two words", leaves, 1, "invalid constraint name"),
        ("", leaves, 1, "invalid constraint name"),
        (3, leaves, 1, "invalid constraint name"),
        ("pickled_size", leaves, 1, "is the name of a built-in measure"),
        ("fine", None, 1, "needs a function"),
        ("fine", leaves, math.nan, "is not a finite number"),
        ("fine", leaves, math.inf, "is not a finite number"),
        ("fine", leaves, 10**400, "is not a finite number"),
        ("fine", leaves, "2", "is not a finite number: `'2'`"),
        ("fine", leaves, -0.5, "is negative"),
    ],
)
def test_what_is_no_constraint_is_refused_at_once(name, function, limit, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        Constraint(name, function, limit)


def test_two_constraints_have_two_names() -> None:
    twins = (Constraint("leaves", leaves, 1), Constraint("leaves", leaves, 2))
    with pytest.raises(ConstraintError, match="two constraints are called `leaves`"):
        make_pipeline_scorer(EvaluationSettings(constraints=twins), data("two"), lambda: 0.0)


def test_an_objective_with_a_function_goes_to_other_processes() -> None:
    scale = 2.0
    objective = made(
        "two",
        EvaluationSettings(metrics=TWO, constraints=(Constraint("scaled", lambda *_: scale, 3.0),), predictions=True),
    )
    there = cloudpickle.loads(cloudpickle.dumps(objective))
    here, back = objective.evaluate(TREE), there.evaluate(TREE)
    assert (here.loss, here.metrics, here.constraints) == (back.loss, back.metrics, back.constraints)
    assert np.array_equal(here.predictions, back.predictions)
