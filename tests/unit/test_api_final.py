"""The best pipeline from Python: whatever it does on all rows, the user's own process outlives it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import spacelang as sl
from spacelang.api.result import Result


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
    with pytest.warns(UserWarning, match=r"trial \d+ is used instead: .*SIGSEGV"):
        pipeline = result.best_pipeline
    assert pipeline[-1].deed == "well"
    assert pipeline is result.best_pipeline
    said = [(each.record.trial.request.configuration["e.deed"], each.reason) for each in result.passed_over]
    assert [deed for deed, _ in said] == ["segfault", "lock", "one_way"]
    assert "the result of the trial cannot be sent to the search: TypeError: cannot pickle" in said[1][1]
    assert "the fitted pipeline cannot be read by this process: ImportError: no such thing" in said[2][1]
    assert result.best_configuration is not None
    assert result.best_configuration["e.deed"] == "segfault"


def test_where_none_can_be_fitted_the_error_says_why() -> None:
    result = searched(["raise_an_error"], trials=3, workers=0)
    with pytest.raises(
        sl.RefitError, match="the best pipeline cannot be fitted on all rows: trial 1: ValueError: the num"
    ):
        _ = result.best_pipeline
    with pytest.raises(sl.RefitError) as caught:
        _ = result.passed_over
    assert [each.status for each in caught.value.passed_over] == ["error"]
