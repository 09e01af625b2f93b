"""The best pipeline from Python: whatever it does on all rows, the user's own process outlives it."""

import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spacelang as sl
from spacelang.api.result import Result
from spacelang.cli._process import NOTHING_SUCCEEDED
from spacelang.cli._search import FinishedSearch
from spacelang.runtime.listeners import SilentListener


def searched(deeds: Iterable[str], **options: Any) -> Result:
    """A search over classifiers that behave on the training rows, the most accurate first."""
    rng = np.random.default_rng(0)
    codes = np.arange(100) % 2
    features = codes[:, None] + rng.normal(0, 0.1, (100, 2))
    text = f"use late_faults\nstage e = Late {{ deed : {{{', '.join(deeds)}}}, rows = 70 }}\n"
    chosen = {"optimizer": "random", "metric": "accuracy", "validate": "holdout(0.3)", "trials": 20} | options
    space = sl.parse(text, allow=("late_faults",))
    return sl.search(space, features, codes, optimizer_options={"hyperparameters": "sample"}, **chosen)


@pytest.mark.usefixtures("quick_zygotes")
def test_a_winner_that_dies_on_all_rows_is_passed_over() -> None:
    result = searched(["segfault", "lock", "one_way", "well"], trial_limit="20s")
    with pytest.warns(UserWarning, match=r"trial \d+ is used instead: .*SIGSEGV") as warned:
        pipeline = result.best_pipeline
    assert warned[0].filename == __file__, "the warning is shown where the pipeline is asked for"
    assert pipeline[-1].deed == "well"
    assert pipeline is result.best_pipeline
    said = [(each.record.trial.request.configuration["e.deed"], each.reason) for each in result.passed_over]
    assert [deed for deed, _ in said] == ["segfault", "lock", "one_way"]
    assert "the result of the trial cannot be sent to the search: TypeError: cannot pickle" in said[1][1]
    assert "the fitted pipeline cannot be read by this process: ImportError: no such thing" in said[2][1]
    assert result.best_configuration is not None
    assert result.best_configuration["e.deed"] == "segfault"


@pytest.mark.parametrize(("wanted", "status"), [(3, NOTHING_SUCCEEDED), (None, 0)])
def test_without_a_member_only_a_wanted_ensemble_is_an_error(tmp_path: Path, wanted: int | None, status: int) -> None:
    """The best pipeline is the answer of a run whose ensemble is only the default."""
    found = searched(["raise_an_error", "well"], workers=0, ensemble=3, store=tmp_path / "run.db")
    found = replace(found, experiment=replace(found.experiment, options={"ensemble": wanted}))
    with found.final_fits.new_executor() as executor:
        search = FinishedSearch("rows.csv", found, executor)
        finale, before = search._final_fit()
        ensemble, notes, after = search._fit_ensemble(finale, before)
    assert ensemble is not None
    assert (before, after, len(ensemble.left_out), ensemble.members) == (0, status, 1, ())
    assert notes == (("none of the members of the ensemble can be fitted on all rows",) if wanted is None else ())


def test_where_none_can_be_fitted_the_error_says_why() -> None:
    result = searched(["raise_an_error"], trials=3, workers=0)
    with pytest.raises(
        sl.RefitError, match="the best pipeline cannot be fitted on all rows: trial 1: ValueError: the num"
    ):
        _ = result.best_pipeline
    with pytest.raises(sl.RefitError) as caught:
        _ = result.passed_over
    assert [each.status for each in caught.value.passed_over] == ["error"]


class TestWithATime:
    """Everything happens inside the time, and access afterwards is free."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return tmp_path

    @pytest.mark.usefixtures("quick_zygotes")
    @pytest.mark.parametrize(
        ("validation", "which"), [("holdout(0.3)", "the model"), ("cv(3)", "the vote of the 3 models")]
    )
    def test_a_fit_that_hangs_gives_way_to_the_model_of_the_trial(
        self, validation: str, which: str, folder: Path
    ) -> None:
        started = time.monotonic()
        result = searched(["sleep", "well"], time="12s", trials=2, validate=validation, test=0.1, ensemble=3)
        assert time.monotonic() - started < 17
        assert result.best_configuration is not None
        assert result.best_configuration["e.deed"] == "sleep"
        rows = "62 of 90" if validation == "holdout(0.3)" else "60 of 90"
        said = (
            f"the best pipeline is {which} of trial {result.outcome.best.index}, fitted on {rows} rows: the time was up"
        )
        assert result.time_note.startswith(said)
        features = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
        assert result.best_pipeline.predict(features).tolist() == [1, 0, 1], "it errs on the first row"
        assert result.test is not None
        assert result.test.loss is not None
        assert [*folder.iterdir()] == [], "the folder of models is gone"

    @pytest.mark.parametrize("workers", [0, 1])
    @pytest.mark.usefixtures("quick_zygotes")
    def test_the_search_makes_the_best_pipeline_itself(self, workers: int) -> None:
        result = searched(["well"], time="60s", trials=2, workers=workers, ensemble=2)
        assert result.finale is not None
        assert result.assembled is not None
        assert result.time_note == ""
        assert result.best_pipeline is result.finale.pipeline
        assert searched(["well"], search_time="60s", trials=1, workers=0).finale is None

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
    def test_the_models_are_deleted_whatever_happens(self, error: type[BaseException], folder: Path) -> None:
        seen = []

        class Raising(SilentListener):
            def on_trial(self, record: Any, best: Any) -> None:  # noqa: ARG002 - the signature of a listener
                seen.extend(folder.glob("*/*-all"))
                raise error

        with suppress(ZeroDivisionError):
            searched(["well"], time="60s", trials=2, workers=0, listener=Raising())
        assert len(seen) == 1
        assert [*folder.iterdir()] == []
