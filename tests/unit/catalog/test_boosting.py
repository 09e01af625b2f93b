"""What xgboost, LightGBM and CatBoost take, tried on the libraries: whatever the rules take can be fitted."""

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

import spacelang as sl
from spacelang.catalog import CatalogueEntry, load_catalogue
from spacelang.catalog.boosting_parameters import FORWARDED, OBJECTIVE_PARAMETER, SUPPLEMENTS
from spacelang.catalog.value_rules import AllowedValues, Interval

PROBES = (-2, -1, 0, 1, 2, 7, 131_072, 131_073, -1.5, -0.5, 0.0, 1e-9, 0.25, 1.0, 1.0001, 2.0, 100.0)
FEW_PROBES = (-1, 0, 1, 0.25, 1.5)
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
    ("xgboost", "top_k"),
    ("xgboost", "tweedie_variance_power"),
    ("lightgbm", "num_grad_quant_bins"),
    ("lightgbm", "other_rate"),
    ("lightgbm", "top_rate"),
}
"""Parameters of which the library takes more than it documents."""

BESIDE: dict[tuple[str, str], dict[str, object]] = {
    **{("xgboost", name): {"booster": "dart"} for name in ("one_drop", "rate_drop", "skip_drop")},
    **{
        ("xgboost", name): {"booster": "gblinear", "updater": "coord_descent"} for name in ("feature_selector", "top_k")
    },
    ("xgboost", "updater"): {"booster": "gblinear"},
    ("xgboost", "tweedie_variance_power"): {"objective": "reg:tweedie"},
    ("lightgbm", "top_rate"): {"data_sample_strategy": "goss", "other_rate": 1e-9},
    ("lightgbm", "other_rate"): {"data_sample_strategy": "goss", "top_rate": 1e-9},
}
"""What else is given where the library looks at a parameter only then."""

SLOW = {"max_depth", "n_estimators", "num_parallel_tree", "max_leaves"}
"""Parameters whose large values take time or memory."""

X = np.random.default_rng(0).random((40, 3))
Y = (X[:, 0] > 0.5).astype(int)
CLASSES = {"xgboost": xgboost.XGBClassifier, "lightgbm": lightgbm.LGBMClassifier}
NAMES = {library: found.__name__ for library, found in CLASSES.items()} | {"catboost": "CatBoostClassifier"}
QUIET = {"xgboost": 0, "lightgbm": -1}

BESIDE_CATBOOST: dict[str, dict[str, object]] = {
    "approx_on_full_history": {"boosting_type": "Ordered"},
    "bagging_temperature": {"bootstrap_type": "Bayesian"},
    "diffusion_temperature": {"langevin": True},
    "max_leaves": {"grow_policy": "Lossguide"},
    "min_data_in_leaf": {"grow_policy": "Depthwise"},
    "mvs_reg": {"bootstrap_type": "MVS"},
    "subsample": {"bootstrap_type": "Bernoulli"},
}
"""What else is given where CatBoost looks at a parameter only then."""

DRAWN_CATBOOST = """
use catboost
stage estimator = CatBoostClassifier {
  iterations = 3
  learning_rate : float[0.01, 0.5] log
  depth : int[1, 4]
  grow_policy : {SymmetricTree, Depthwise, Lossguide}
  max_leaves : int[2, 40] when grow_policy == Lossguide
  min_data_in_leaf : int[1, 30] log when grow_policy != SymmetricTree
  bootstrap_type : {Bayesian, Bernoulli, MVS, No} = Bernoulli
  bagging_temperature : float[0, 3] when bootstrap_type == Bayesian
  subsample : float[0.3, 1] when bootstrap_type in {Bernoulli, MVS}
  boosting_type : {Plain, Ordered} = Plain
  auto_class_weights : {none, Balanced, SqrtBalanced}
  forbid boosting_type == Ordered and grow_policy != SymmetricTree
}"""


def entry(library: str) -> CatalogueEntry:
    return load_catalogue(library).operators[NAMES[library]]


def cases() -> Iterator[tuple[str, str]]:
    for library in CLASSES:
        for name, parameter in entry(library).parameters.items():
            if any(isinstance(rule, Interval) for rule in parameter.accepts or ()) and name != "base_score":
                yield library, name


def can_be_fitted(library: str, **arguments: Any) -> bool:
    beside = BESIDE.get((library, next(iter(arguments))), {})
    given = {"n_estimators": 2, "n_jobs": 1, "verbosity": QUIET[library]} | beside | arguments
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
    for probe in FEW_PROBES if name in FORWARDED[library] else PROBES:
        if name in SLOW and probe > 1000:
            continue
        if parameter.check_value(probe) is None:
            assert can_be_fitted(library, **{name: probe}), probe
        elif (library, name) not in LENIENT and isinstance(probe, float) == (probe != int(probe)):
            assert not can_be_fitted(library, **{name: probe}), probe


@pytest.mark.parametrize("library", CLASSES)
def test_words(library: str) -> None:
    for name, parameter in entry(library).parameters.items():
        for word in parameter.accepted_words:
            # These need what no other parameter gives here: three classes, a share of the rows, a certain machine.
            if word.startswith("multi") or word == "rf" or name == "device":
                continue
            assert can_be_fitted(library, **{name: word}), (name, word)


@pytest.mark.parametrize("library", NAMES)
@pytest.mark.parametrize("word", ["gbdt input_model=/etc/passwd", "binary forcedsplits_filename=x", "file://x", ""])
def test_no_other_word_is_taken(library: str, word: str) -> None:
    for name, parameter in entry(library).parameters.items():
        assert parameter.refused or parameter.check_value(word) is not None, name


@pytest.mark.parametrize("library", NAMES)
def test_every_parameter_is_known_and_has_a_legal_default(library: str) -> None:
    for name in load_catalogue(library):
        for parameter in load_catalogue(library).operators[name].parameters.values():
            if parameter.refused is None:
                assert parameter.name in {*SUPPLEMENTS[library], *FORWARDED[library], OBJECTIVE_PARAMETER[library]}
                assert parameter.name == "missing" or parameter.check_value(parameter.default) is None  # type: ignore[arg-type]


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


def test_what_is_handed_on_has_the_defaults_of_the_libraries() -> None:
    kinds = ({"objective": "reg:tweedie"}, {"booster": "dart"}, {"booster": "gblinear"})
    models = [xgboost.XGBRegressor(n_estimators=1, n_jobs=1, **kind).fit(X, Y) for kind in kinds]
    said = dict(pair for model in models for pair in _leaves(json.loads(model.get_booster().save_config())))
    for name, known in FORWARDED["xgboost"].items():
        if name in said:
            assert said[name] == _spelled(known.default), name
    assert {"rate_drop", "feature_selector", "updater", "tweedie_variance_power"} <= said.keys()
    model = lightgbm.LGBMClassifier(n_estimators=1, n_jobs=1, verbosity=-1).fit(X, Y).booster_.model_to_string()
    for name, known in FORWARDED["lightgbm"].items():
        assert f"[{name}: {_spelled(known.default)}]" in model, name


def _leaves(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _leaves(value)
        elif isinstance(value, str):
            yield name, value


def _spelled(default: Any) -> str:
    return default if isinstance(default, str) else f"{default:g}"


def test_a_drawn_configuration_of_what_is_handed_on_can_be_fitted() -> None:
    space = sl.parse(
        """
        use xgboost
        use lightgbm
        stage estimator =
          | XGBClassifier {
              booster = dart, rate_drop : float[0, 1] = 0.1, normalize_type : {tree, forest}, max_bin : int[2, 512]
              n_estimators = 2
            }
          | LGBMClassifier {
              extra_trees : bool = true, max_bin : int[2, 300] log, path_smooth : float[0, 2], n_estimators = 2
              data_sample_strategy : {bagging, goss}, max_cat_threshold : int[1, 64]
            }
        """,
        allow=("xgboost", "lightgbm"),
    )
    for configuration in (space.default(), *space.sample(4, seed=1)):
        space.build(configuration).fit(X, Y)


def test_a_parameter_of_another_version_takes_no_words() -> None:
    from dataclasses import replace

    from spacelang.catalog.boosting_parameters import supplement_parameters

    operator = entry("lightgbm")
    newer = replace(operator, parameters={"new": replace(operator.parameters["num_leaves"], name="new", accepts=None)})
    found = supplement_parameters(newer).parameters["new"]
    assert (found.check_value(3), found.check_value(True), found.check_range(0, math.inf, integer=False)) == (None,) * 3
    assert found.check_value("word") is not None
    assert not any(isinstance(rule, AllowedValues) and "word" in rule.values for rule in found.accepts or ())


def catboost_model(**arguments: Any) -> Any:
    """A fitted model of CatBoost; the test is skipped where it is not installed."""
    catboost = pytest.importorskip("catboost", reason="a wheel of 100 MB, which is no part of `dev`")
    given = {"iterations": 2, "thread_count": 1, "verbose": False, "allow_writing_files": False} | arguments
    return catboost.CatBoostClassifier(**given).fit(X, Y)


def test_catboost_can_be_fitted_with_what_the_rules_take() -> None:
    """What they refuse is not tried: `min_data_in_leaf=0` ends the process."""
    refused = {"task_type", "leaf_estimation_method"}  # a device, a loss for which there is an exact method
    for name, parameter in entry("catboost").parameters.items():
        words = () if name in refused else parameter.accepted_words
        # A billionth of 40 rows is none.
        least = 0.1 if name == "subsample" else -math.inf
        numbers = [probe for probe in PROBES if parameter.check_value(probe) is None and least < probe < 1000]
        switches = [value for value in (True, False) if parameter.check_value(value) is None]
        for value in (*words, *numbers, *switches) if parameter.refused is None else ():
            assert catboost_model(**{name: value} | BESIDE_CATBOOST.get(name, {})), (name, value)


def test_the_defaults_that_none_stands_for_are_catboosts() -> None:
    said = catboost_model(eval_fraction=0.2).get_all_params()
    written = {name: known.default for name, known in SUPPLEMENTS["catboost"].items() if known.default is not None}
    told = written.keys() & said.keys() - {"iterations", "eval_fraction", "max_leaves"}
    assert {"depth", "l2_leaf_reg", "border_count", "grow_policy", "sampling_frequency", "score_function"} <= told
    assert {name: written[name] for name in told} == {name: said[name] for name in told}
    assert catboost_model(grow_policy="Lossguide").get_all_params()["max_leaves"] == written["max_leaves"]


def test_a_drawn_configuration_of_catboost_can_be_fitted() -> None:
    assert catboost_model(depth=1)
    space = sl.parse(DRAWN_CATBOOST, allow=("catboost",))
    for configuration in (space.default(), *space.sample(6, seed=1)):
        space.build(configuration).fit(X, Y)


def test_another_name_of_a_parameter_of_catboost_says_so() -> None:
    for name, parameter in entry("catboost").parameters.items():
        reason = parameter.refused or ""
        if reason.startswith("it is another name of"):
            own = entry("catboost").parameters[reason.split("`")[1]]
            assert own.refused is None, name
    assert entry("catboost").parameters["n_estimators"].refused == "it is another name of `iterations`"
    written = "use catboost\nstage estimator = CatBoostClassifier { n_estimators : int[10, 100] }"
    with pytest.raises(sl.SpaceError) as caught:
        sl.parse(written)
    assert [each.help for each in caught.value.diagnostics if each.code == "SL304"] == ["write `iterations`"]
