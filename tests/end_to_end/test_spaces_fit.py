"""The bundled spaces and the examples: they check without a word, and what they allow really fits.

Fitting is judged on `breast_cancer`, by which bounds that depend on the data are bound. Where a configuration may fail,
the reason is in `spaces/README.md` and here. `tests/benchmarks/failures.py` counts on more data.
"""

import os
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bundles import NAMES
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline

from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.api import load_for_data
from spacelang.api.experiment import Experiment
from spacelang.api.search_data import TabularData
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.files import resource_folder
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Status
from spacelang.ir.validation import Holdout
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.pipelines.build import build_pipeline
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter, default_configuration
from spacelang.text import Source

REPOSITORY = Path(__file__).parents[2]
BUNDLED = {path.stem: path for path in sorted(resource_folder("spaces").glob("*.space"))}
EXAMPLES = {path.stem: path for path in sorted((REPOSITORY / "examples").glob("*.space"))}
FEW_COLUMNS = {"admm_table_a2": 10, "admm_table_a3": 10, "mosaic": 10}
"""Where random configurations see the first columns only: cubic features of all thirty would take minutes."""

IS_FULL = bool(os.environ.get("SPACELANG_FULL"))
DRAWS = 300 if IS_FULL else 9
COSTLY = {
    "admm_table_a2": DRAWS // 3,
    "blds_table1_hpo": max(DRAWS // 10, 1),
    "mosaic": DRAWS // 3,
    "boasf_models": DRAWS // 2,
    "boasf_random_forest": DRAWS // 3,
    "tabular_classification": DRAWS // 5,
    "tabular_regression": DRAWS // 5,
}
"""Of how many random configurations where they take longer."""

TREES = 5
"""As many as a forest has where tests are not run in full, at most."""

SHARE = {
    "admm_table_a3": 0.1,
    "blds_table1": 0.1,
    "blds_table1_hpo": 0.03,
    "admm_table_a2": 0.03,
    "mosaic": 0.03,
    "boasf_models": 0.03,
}
"""Of random configurations, how many may fail; none in the other spaces."""


def has_too_few_rows_for_its_columns(configuration: Configuration, error: Exception) -> bool:
    """A quadratic discriminant needs more rows in each class than there are columns, and polynomials make many."""
    taken = (configuration.get("transformer"), configuration["estimator"])
    return taken == ("PolynomialFeatures", "QuadraticDiscriminantAnalysis") and isinstance(error, np.linalg.LinAlgError)


def has_no_column_left(configuration: Configuration, error: Exception) -> bool:
    """A selector with a threshold may select nothing, above all of the two-valued columns that `Binarizer` makes."""
    selects = configuration["selector"] in ("SelectFpr", "SelectFdr", "SelectFwe", "VarianceThreshold")
    return selects and isinstance(error, ValueError) and ("0 feature" in str(error) or "No feature" in str(error))


def is_refused(configuration: Configuration, error: Exception) -> bool:
    """A step may refuse what the steps before it made of this data; what is known to be refused is not in the space."""
    return isinstance(error, ValueError | np.linalg.LinAlgError)


KNOWN: dict[str, Callable[[Configuration, Exception], bool]] = {
    "admm_table_a2": is_refused,
    "admm_table_a3": has_too_few_rows_for_its_columns,
    "blds_table1": has_no_column_left,
    "blds_table1_hpo": is_refused,
    "boasf_models": is_refused,
    "mosaic": is_refused,
}
"""The documented reasons to fail; the other spaces have none."""


def checked(path: Path, **sizes: int) -> CheckResult:
    return check(Source(path.name, path.read_text(encoding="utf-8")), CheckSettings(bindings=sizes))


@cache
def space_of(name: str, columns: int | None = None) -> tuple[Space, Structures]:
    rows, width = data(columns)[0].shape
    found = checked(BUNDLED[name], n_samples=rows, n_features=width, n_classes=2)
    assert found.space is not None, render_diagnostics(found.diagnostics, color=False)
    assert found.structures is not None
    return found.space, found.structures


@cache
def data(columns: int | None = None) -> tuple[Any, Any, Any, Any]:
    features, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    parts = train_test_split(features.iloc[:, :columns], labels, test_size=0.3, random_state=0, stratify=labels)
    return tuple(parts)  # type: ignore[return-value]


def made(space: Space, configuration: Configuration) -> Pipeline:
    """The pipeline; where tests are not run in full with few trees, which take four fifths of the time."""
    pipeline = build_pipeline(space, configuration, random_state=0)
    if IS_FULL:
        return pipeline
    trees = {key: many for key, many in pipeline.get_params().items() if key.endswith("__n_estimators")}
    return pipeline.set_params(**{key: min(many, TREES) for key, many in trees.items()})


def failure(space: Space, configuration: Configuration, columns: int | None = None) -> Exception | None:
    """What keeps a pipeline from being fitted and from predicting; warnings of the libraries are no failure."""
    train, test, train_labels, test_labels = data(columns)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made(space, configuration).fit(train, train_labels).score(test, test_labels)
        except Exception as error:  # noqa: BLE001
            return error
    return None


@pytest.mark.parametrize("path", [*BUNDLED.values(), *EXAMPLES.values()], ids=lambda path: path.stem)
def test_checks_without_a_word(path: Path) -> None:
    found = checked(path)
    assert not found.diagnostics, render_diagnostics(found.diagnostics, color=False)
    assert found.space is not None
    assert found.space.name == path.stem


@pytest.mark.parametrize("name", NAMES)
def test_the_default_and_every_alternative_beside_it_fit(name: str) -> None:
    columns = None if IS_FULL else FEW_COLUMNS.get(name, 10)
    space, structures = space_of(name, columns)
    usual = default_configuration(space)
    neighbours = [
        nearest_member(space, DefaultCompleter(structures), stage.address, branch.name)
        for stage in space.stages
        for branch in stage.branches
    ]
    assert len(neighbours) == sum(len(stage.branches) for stage in space.stages)
    assert usual in neighbours
    failures = {
        c.identity: error for c in dict.fromkeys(neighbours) if (error := failure(space, c, columns)) is not None
    }
    assert not failures


def nearest_member(space: Space, completer: DefaultCompleter, address: str, branch: str) -> Configuration:
    """The default configuration with another alternative, and a second one where that pair is not admissible."""
    usual = {stage.address: stage.branches[stage.default].name for stage in space.stages} | {address: branch}
    others = [
        {**usual, stage.address: other.name}
        for stage in space.stages
        if stage.address != address
        for other in stage.branches
    ]
    found = (completer.complete(structure) for structure in (usual, *others))
    return next(configuration for configuration in found if first_exclusion(space, configuration) is None)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_random_configurations_fit(name: str) -> None:
    columns = FEW_COLUMNS.get(name)
    space, structures = space_of(name, columns)
    sampler, rng = Sampler(structures), np.random.default_rng(0)
    reasons: Counter[str] = Counter()
    draws = COSTLY.get(name, DRAWS)
    for _ in range(draws):
        configuration = sampler.configuration(rng)
        assert first_exclusion(space, configuration) is None
        error = failure(space, configuration, columns)
        if error is not None:
            assert name in KNOWN, f"{configuration}: {error}"
            assert KNOWN[name](configuration, error), f"{configuration}: {error}"
            reasons[str(error)] += 1
    assert reasons.total() <= ceil(SHARE.get(name, 0) * draws), reasons


@pytest.mark.parametrize("taken", [{}, {"encoding": "OrdinalEncoder", "preprocessor": "PolynomialFeatures"}])
@pytest.mark.parametrize("name", ["admm_table_a2", "boasf_models", "mosaic"])
def test_categories_and_missing_values_are_handled(name: str, taken: dict[str, str]) -> None:
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "green", "blue", "rare"], 200, p=[0.4, 0.3, 0.29, 0.01])
    features = pd.DataFrame({"size": rng.normal(size=200), "colour": colours, "weight": rng.normal(size=200)})
    labels = (features["size"] + (features["colour"] == "red") > 0).map({True: "yes", False: "no"})
    features.loc[::7, "size"] = np.nan
    features.loc[::11, "colour"] = None
    space = load_for_data(name)
    rows = TabularData(make_table(features, labels))
    space, objective = rows.bind_space(Experiment(space=space, data=rows, validation=Holdout(0.3)))
    usual = {stage.address: stage.branches[stage.default].name for stage in space.checked.stages}
    decided = {stage: branch for stage, branch in taken.items() if stage in usual}
    trial = objective.evaluate(Request(DefaultCompleter(space.counted).complete(usual | decided)))
    assert trial.status is Status.SUCCESS, trial.reason
    assert trial.loss is not None
    assert trial.loss < 0.2


def test_both_penalties_of_the_logistic_regression_fit_quietly() -> None:
    from sklearn.datasets import load_iris
    from sklearn.exceptions import ConvergenceWarning

    space, _ = space_of("boasf_logistic_regression")
    for ratio in (0.0, 1.0):
        for dataset in (load_breast_cancer, load_iris):
            pipeline = build_pipeline(
                space, Configuration({**default_configuration(space), "estimator.l1_ratio": ratio}), random_state=0
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                pipeline.fit(*dataset(return_X_y=True))


def test_a_constant_column_never_reaches_a_discriminant_without_regularization() -> None:
    space, structures = space_of("admm_table_a3")
    structure = {
        "scaler": "none",
        "transformer": "PolynomialFeatures",
        "estimator": "QuadraticDiscriminantAnalysis",
    }
    completed = DefaultCompleter(structures).complete(structure)
    assert completed["transformer.include_bias"] is False or completed["estimator.reg_param"] != 0
    assert failure(space, completed, 3) is None
    singular = Configuration({**completed, "transformer.include_bias": True, "estimator.reg_param": 0.0})
    assert first_exclusion(space, singular) is not None
    assert failure(space, singular, 3) is not None


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_default_of_an_example_can_be_built(name: str) -> None:
    found = checked(EXAMPLES[name])
    assert found.space is not None
    assert build_pipeline(found.space, default_configuration(found.space)).steps
