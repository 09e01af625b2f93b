"""Scorers that a store names: what can be made again, what cannot, and what a foreign store may not import."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_scorers_module import cost_sensitive, profit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import fbeta_score, make_scorer, mean_pinball_loss, mean_squared_error, precision_score
from storing import header

from spacelang.runtime.errors import InputError
from spacelang.runtime.scoring.stored_scorers import scorer_as_text, stored_scorer
from spacelang.runtime.scoring.user_functions import scorer_fingerprint
from spacelang.runtime.storage.run_header import SCORER_SETTING, RunHeader
from spacelang.runtime.storage.stored_run import python_arguments_to_repeat, scorer_package

ALLOWED = ("own_scorers_module",)


def header_with(text: str) -> RunHeader:
    """Return the header of a run whose store names its scorer by this text."""
    return header(settings={SCORER_SETTING: "mine, content 1"}, data_options={SCORER_SETTING: text})


class Answers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted estimator whose predictions are given."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers
        self.classes_ = np.arange(2)

    def predict(self, features: Any) -> Any:
        return self.answers[: len(features)]


@pytest.mark.parametrize("greater_is_better", [True, False])
@pytest.mark.parametrize("method", ["predict", ("predict_proba", "predict")])
@pytest.mark.parametrize(
    "function",
    [fbeta_score, precision_score, mean_pinball_loss, mean_squared_error, cost_sensitive],
    ids=lambda f: f.__name__,
)
def test_a_scorer_of_an_importable_function_is_made_again(function: Any, method: Any, greater_is_better: bool) -> None:
    names: dict[Any, dict[str, Any]] = {
        fbeta_score: {"beta": 0.5},
        mean_pinball_loss: {"alpha": 0.9},
        cost_sensitive: {"cost": 3},
    }
    options = names.get(function, {})
    scorer = make_scorer(function, greater_is_better=greater_is_better, response_method=method, **options)
    text = scorer_as_text(scorer)
    assert text is not None
    again = stored_scorer(header_with(text), ALLOWED)
    assert again is not None
    assert scorer_fingerprint(again) == scorer_fingerprint(scorer)
    labels = np.arange(6) % 2
    if method == "predict":
        given = (Answers(np.arange(6) // 3), labels[:, None], labels)
        assert again(*given) == scorer(*given)


def local(labels: Any, answers: Any) -> float:
    """A function that other programs import by its module."""
    return float(np.mean(labels == answers))


def test_functions_that_no_other_program_has_are_not_named() -> None:
    def inner(labels: Any, answers: Any) -> float:
        return local(labels, answers)

    moved = partial(fbeta_score, beta=2)
    renamed = type(local)(local.__code__, local.__globals__, "renamed")
    renamed.__module__, renamed.__qualname__ = "__main__", "renamed"
    for function in (inner, lambda *_: 0.0, moved, renamed, Answers(1).predict):
        assert scorer_as_text(make_scorer(function)) is None
        assert scorer_as_text(function) is None
    assert scorer_as_text(make_scorer(fbeta_score, beta=np.arange(2))) is None
    assert scorer_as_text(profit) == '{"scorer": "own_scorers_module:profit"}'


FOREIGN = (
    {"function": "os:system", "keywords": {}, "sign": 1, "response_method": "predict"},
    {"scorer": "builtins:eval"},
    {"scorer": "spacelang.cli:app"},
)
BROKEN = (
    "no JSON",
    "[]",
    "{}",
    "{" * 9000,
    '{"scorer": 3}',
    '{"scorer": "sklearn.metrics:__builtins__"}',
    '{"scorer": "os"}',
    '{"scorer": "", "function": "sklearn.metrics:fbeta_score"}',
    '{"scorer": "own_scorers_module:np.save"}',
    '{"scorer": "own_scorers_module.__main__:profit"}',
    '{"scorer": "__main__:profit"}',
    '{"function": "own_scorers_module:np.save", "keywords": {}, "sign": 1, "response_method": "predict"}',
)


@pytest.mark.parametrize("facts", FOREIGN, ids=str)
def test_a_foreign_store_imports_nothing(facts: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="you have not allowed the package"):
        stored_scorer(header_with(json.dumps(facts)), ("xgboost",))


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_name_that_cannot_be_read_is_an_error_of_the_store(text: str) -> None:
    with pytest.raises(InputError, match="is invalid"):
        stored_scorer(header_with(text), allowed := ("sklearn", "os", "own_scorers_module", "__main__"))
    assert scorer_package(header_with(text)) in {None, *allowed}


def test_a_module_in_the_folder_is_used_if_it_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scorers_of_a_test.py").write_text("def right(estimator, features, labels):\n    return 0.75\n")
    monkeypatch.chdir(tmp_path)
    found = header_with('{"scorer": "scorers_of_a_test:right"}')
    assert scorer_package(found) == "scorers_of_a_test"
    scorer = stored_scorer(found, ("scorers_of_a_test",))
    assert scorer is not None
    assert scorer(None, None, None) == 0.75
    for path, reason in (("wrong", "cannot be made: AttributeError"), ("right.a", "cannot be made")):
        with pytest.raises(InputError, match=reason):
            stored_scorer(header_with(f'{{"scorer": "scorers_of_a_test:{path}"}}'), ("scorers_of_a_test",))
    with pytest.raises(InputError, match="`absent_here` is not installed"):
        stored_scorer(header_with('{"scorer": "absent_here:right"}'), ("absent_here",))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "scorers_of_a_test.py").touch()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="another package with this name is already in use"):
        stored_scorer(found, ("scorers_of_a_test",))


@pytest.mark.parametrize(("setting", "shown"), [("gain, content 1", "gain"), ("lambda, content", "…"), ("a b", "…")])
def test_what_a_program_gives_again_is_named(setting: str, shown: str) -> None:
    assert python_arguments_to_repeat(header(settings={SCORER_SETTING: setting})) == (f"metric={shown}",)
