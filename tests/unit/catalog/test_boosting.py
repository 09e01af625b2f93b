"""What xgboost and LightGBM take, tried on the libraries: whatever the rules take can be fitted."""

import contextlib
import math
import os
import sys
from collections.abc import Iterator
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

from spacelang.catalog import Operator, load
from spacelang.catalog.boosting import SUPPLEMENTS
from spacelang.catalog.rules import Interval, Options

PROBES = (-2, -1, 0, 1, 2, 7, 131_072, 131_073, -1.5, -0.5, 0.0, 1e-9, 0.25, 1.0, 1.0001, 2.0, 100.0)
LENIENT = {
    ("xgboost", "n_estimators"),  # no trees at all where it is not positive
    ("xgboost", "max_cat_to_onehot"),
    ("xgboost", "random_state"),
    ("xgboost", "subsample"),  # 0 takes all rows
    ("xgboost", "colsample_bylevel"),
    ("xgboost", "colsample_bynode"),
    ("xgboost", "colsample_bytree"),
    ("lightgbm", "random_state"),
    ("lightgbm", "subsample_freq"),
}
"""Parameters of which the library takes more than it documents."""

SLOW = {"max_depth", "n_estimators", "num_parallel_tree", "max_leaves"}
"""Parameters whose large values take time or memory."""

X = np.random.default_rng(0).random((40, 3))
Y = (X[:, 0] > 0.5).astype(int)
CLASSES = {"xgboost": xgboost.XGBClassifier, "lightgbm": lightgbm.LGBMClassifier}
QUIET = {"xgboost": 0, "lightgbm": -1}


def entry(library: str) -> Operator:
    return load(library).operators[CLASSES[library].__name__]


def cases() -> Iterator[tuple[str, str]]:
    for library in CLASSES:
        for name, parameter in entry(library).parameters.items():
            if any(isinstance(rule, Interval) for rule in parameter.accepts or ()) and name != "base_score":
                yield library, name


def can_be_fitted(library: str, **arguments: Any) -> bool:
    given = {"n_estimators": 2, "n_jobs": 1, "verbosity": QUIET[library]} | arguments
    try:
        CLASSES[library](**given).fit(X, Y)
    except Exception:  # noqa: BLE001 - each library has its own
        return False
    return True


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    """LightGBM's fatal errors go to the file of standard error, past Python."""
    with contextlib.ExitStack() as stack:
        sys.stderr.flush()
        kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, kept)
        stack.callback(os.close, nowhere)
        stack.callback(os.dup2, kept, 2)
        os.dup2(nowhere, 2)
        yield


@pytest.mark.parametrize(("library", "name"), [*cases()])
def test_numbers(library: str, name: str) -> None:
    parameter = entry(library).parameters[name]
    for probe in PROBES:
        if name in SLOW and probe > 1000:
            continue
        if parameter.rejects(probe) is None:
            assert can_be_fitted(library, **{name: probe}), probe
        elif (library, name) not in LENIENT and isinstance(probe, float) == (probe != int(probe)):
            assert not can_be_fitted(library, **{name: probe}), probe


@pytest.mark.parametrize("library", CLASSES)
def test_words(library: str) -> None:
    for name, parameter in entry(library).parameters.items():
        for word in parameter.words:
            # These need what no other parameter gives here: three classes, a share of the rows, a certain machine.
            if word.startswith("multi") or word == "rf" or name == "device":
                continue
            assert can_be_fitted(library, **{name: word}), (name, word)


@pytest.mark.parametrize("library", CLASSES)
@pytest.mark.parametrize("word", ["gbdt input_model=/etc/passwd", "binary forcedsplits_filename=x", "file://x", ""])
def test_no_other_word_is_taken(library: str, word: str) -> None:
    for name, parameter in entry(library).parameters.items():
        assert parameter.refused or parameter.rejects(word) is not None, name


@pytest.mark.parametrize("library", CLASSES)
def test_every_parameter_is_known_and_has_a_legal_default(library: str) -> None:
    for name in load(library):
        for parameter in load(library).operators[name].parameters.values():
            if parameter.refused is None:
                assert parameter.name in SUPPLEMENTS[library] or parameter.name == "objective"
                assert parameter.name == "missing" or parameter.rejects(parameter.default) is None  # type: ignore[arg-type]


def test_the_defaults_that_none_stands_for_are_xgboosts() -> None:
    """A model with them written out predicts what one without them does."""
    known = entry("xgboost").parameters
    written = {
        name: known[name].default
        for name, supplement in SUPPLEMENTS["xgboost"].items()
        if supplement.default is not None and known[name].default == supplement.default
    }
    assert {"max_depth", "learning_rate", "reg_lambda", "n_estimators", "booster"} <= written.keys()
    plain, explicit = (xgboost.XGBClassifier(**given, n_jobs=1).fit(X, Y) for given in ({}, written))
    assert np.array_equal(plain.predict_proba(X), explicit.predict_proba(X))


def test_a_parameter_of_another_version_takes_no_words() -> None:
    from dataclasses import replace

    from spacelang.catalog.boosting import supplemented

    operator = entry("lightgbm")
    newer = replace(operator, parameters={"new": replace(operator.parameters["num_leaves"], name="new", accepts=None)})
    found = supplemented(newer).parameters["new"]
    assert (found.rejects(3), found.rejects(True), found.rejects_range(0, math.inf, integer=False)) == (None,) * 3
    assert found.rejects("word") is not None
    assert not any(isinstance(rule, Options) and "word" in rule.values for rule in found.accepts or ())
