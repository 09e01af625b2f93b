"""Trials in cross-validation that end once their loss is hopeless."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request
from spacelang.ir.validation import Validation, parse_validation
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.folds import EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.storage.store import Store

ROWS = np.random.default_rng(0).random((60, 2))
LABELS = np.where(ROWS[:, 0] > 0.5, "a", "b")
SPACE = sl.parse("stage e = GaussianNB | DummyClassifier\n")


@pytest.fixture
def objective() -> DataObjective:
    dataset = check_and_encode_labels(
        make_table(pd.DataFrame(ROWS, columns=["x", "y"]), pd.Series(LABELS)), "classification"
    )
    validation = parse_validation("cv(5)")
    assert isinstance(validation, Validation)
    return DataObjective(SPACE.checked, dataset, EvaluationSettings(validation=validation, predictions=True))


@pytest.mark.parametrize(("limit", "folds"), [(None, None), (0.9, None), (0.1, 1)])
def test_the_remaining_folds_are_left_out(objective: DataObjective, limit: float | None, folds: int | None) -> None:
    request = Request(Configuration({"e": "DummyClassifier"}), stop_above=limit)
    trial = objective.evaluate(request)
    assert trial.folds == folds
    assert trial.loss == pytest.approx(0.5, abs=0.2)
    assert (trial.predictions is None) == (folds is not None)


def test_a_trial_on_some_folds_answers_only_what_would_have_ended_there(objective: DataObjective) -> None:
    request = Request(Configuration({"e": "DummyClassifier"}), stop_above=0.1)
    trial = objective.evaluate(request)
    assert trial.is_answer_to(request)
    assert not trial.is_answer_to(Request(request.configuration))
    assert not trial.is_answer_to(Request(request.configuration, stop_above=0.9))
    whole = objective.evaluate(Request(request.configuration))
    assert whole.is_answer_to(request)


def test_the_number_of_folds_is_stored(tmp_path: Path) -> None:
    result = sl.search(
        sl.parse("stage e = GaussianNB { var_smoothing : float[1e-9, 1e9] log = 1e-9 }\n"), ROWS, LABELS,
        optimizer="auto", trials=30, validate="cv(5)", workers=0, store=tmp_path / "run.db", seed=0,
    )  # fmt: skip
    with Store.read(tmp_path / "run.db") as run:
        assert [each.trial.folds for each in run.records()] == [each.trial.folds for each in result.outcome.records]
    assert result.trials["folds"].isna().any()


def test_a_run_with_hopeless_proposals_of_the_model_resumes(tmp_path: Path) -> None:
    space = sl.parse("stage e = KNeighborsClassifier { n_neighbors : int[1, 40] = 5, p : float[1, 3] = 2 }\n")

    def searched(trials: int, *, resume: bool = False) -> sl.Result:
        return sl.search(
            space, ROWS, LABELS, optimizer="auto", trials=trials, validate="cv(5)", workers=0, seed=0,
            store=tmp_path / "run.db", resume=resume,
        )  # fmt: skip

    before = searched(25).outcome.records
    assert any(each.proposal is not None and each.trial.folds is not None for each in before)
    after = searched(27, resume=True).outcome.records
    assert len(after) == 27
    assert [each.trial.request for each in after[:25]] == [each.trial.request for each in before]
