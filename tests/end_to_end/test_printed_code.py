"""What a run prints is the found pipeline, and needs the libraries of its steps alone.

For every bundled and example space, and for spaces of all that a pipeline can hold, on data of all kinds: the printed
code runs in an interpreter in which `spacelang` cannot be imported, and predicts what the found pipeline predicts.
"""

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from goldens import PATHS
from sklearn import config_context

from spacelang.api import Space, load_for_data, parse
from spacelang.api.experiment import Experiment, ExtraMeasurementSettings
from spacelang.api.search_data import TabularData
from spacelang.ir.trial import Request
from spacelang.ir.validation import Holdout
from spacelang.report.code_writer import pipeline_module_source
from spacelang.report.pipeline_module import builder_code, pipeline_module_text
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.errors import BuildError
from spacelang.runtime.evaluation.folds import _split_rows
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.evaluation.splits import stratified_order

IS_FULL = bool(os.environ.get("SPACELANG_FULL"))
DRAWS = 8 if IS_FULL else 1

ROWS = 260
"""As many as it takes for a column to be text."""

RNG = np.random.default_rng(0)
SIZE = RNG.normal(size=ROWS)
TOWNS = RNG.choice(["Rome", "Oslo", "Kyiv"], ROWS)
LABELS = np.where(SIZE + (TOWNS == "Rome") > 0.4, "yes", "no")
TABLE = pd.DataFrame(
    {
        "size": np.where(RNG.random(ROWS) < 0.1, np.nan, SIZE),
        "weight": RNG.normal(size=ROWS) ** 2,
        "count": RNG.integers(9, size=ROWS),
        "flag": RNG.random(ROWS) < 0.5,
        "town": np.where(RNG.random(ROWS) < 0.1, None, TOWNS),
        "colour": pd.Categorical(RNG.choice(["red", "blue"], ROWS)),
        "note": [f"a {label} day, number {place}" for place, label in enumerate(LABELS)],
        "remark": [None if place % 9 == 0 else f"remark {place} on {town}" for place, town in enumerate(TOWNS)],
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(RNG.integers(99, size=ROWS), unit="D"),
        "hour": pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(RNG.integers(99, size=ROWS), unit="h"),
    }
)
MIXED = TABLE.drop(columns=["note", "remark", "day", "hour"]).iloc[:120]
NUMBERS = MIXED[["size", "weight", "count"]].assign(**{f"x{place}": RNG.normal(size=120) for place in range(9)})
TITANIC = MIXED.rename(columns={"size": "age", "weight": "fare", "town": "embarked", "flag": "sex", "count": "pclass"})

DATA = {"mixed_types": TITANIC, "churn": NUMBERS, "feature_union": NUMBERS, "reduce_dimensions": NUMBERS}
"""The tables of the spaces that are for some tables only."""

DATES = "datetime: OrdinalEncoder { handle_unknown = use_encoded_value, unknown_value = -1 }"
ONE_HOT = "OneHotEncoder { handle_unknown = ignore }"
TINY = "XGBClassifier { n_estimators = 3 }"
CRAFTED: dict[str, tuple[str, Any, Any]] = {
    "text": (
        f"pipeline = columns(text: TfidfVectorizer, categorical: {ONE_HOT}, numeric: SimpleImputer, {DATES})"
        " -> LogisticRegression",
        TABLE,
        LABELS,
    ),
    "text_in_steps": (
        "stage reader = TfidfVectorizer | CountVectorizer { binary : bool } | HashingVectorizer { n_features = 16 }\n"
        'pipeline = columns("^re|^no": reader -> (TruncatedSVD { n_components = 2 })?, "siz": none -> SimpleImputer)'
        " -> LogisticRegression",
        TABLE,
        LABELS,
    ),
    "text_inside": (
        "pipeline = (columns(numeric: SimpleImputer) & columns(text: (TfidfVectorizer & CountVectorizer)"
        f', "^n|^t": columns(text: TfidfVectorizer, categorical: {ONE_HOT})))'
        " -> VotingClassifier { estimators : (LogisticRegression & (MaxAbsScaler -> SVC)) as both }",
        TABLE,
        LABELS,
    ),
    "text_as_rest": (
        f'pipeline = columns(numeric: SimpleImputer, "town|colour|flag": {ONE_HOT}, {DATES}, rest: TfidfVectorizer)'
        " -> LogisticRegression",
        TABLE,
        LABELS,
    ),
    "no_text": (
        f"pipeline = columns(text: TfidfVectorizer, categorical: {ONE_HOT}, rest: SimpleImputer?)"
        " -> KNeighborsClassifier",
        MIXED,
        LABELS[:120] == "yes",
    ),
    "imputed_beside_categories": (
        "pipeline = columns(categorical: OrdinalEncoder, numeric: PCA { n_components = 2 }) -> LogisticRegression",
        MIXED,
        LABELS[:120],
    ),
    "orders": (
        "pipeline = permute(StandardScaler, PCA?, (VarianceThreshold & SelectKBest { k = 3 })) -> GaussianNB",
        MIXED,
        LABELS[:120],
    ),
    "boosted_words": (f"use xgboost\nstage e = {TINY} | (PCA -> {TINY}) as reduced", MIXED, LABELS[:120]),
    "boosted_truth": (f"use xgboost\nstage e = {TINY}", MIXED, LABELS[:120] == "yes"),
    "boosted_codes": (f"use xgboost\nstage e = {TINY}", MIXED, (LABELS[:120] == "yes").astype(int)),
    "boosted_floats": (f"use xgboost\nstage e = {TINY}", MIXED, MIXED["count"] % 3 * 1.0),
    "boosted_within": (
        f"use xgboost\nstage s = none | SelectFromModel {{ estimator = {TINY} }} | RFE {{ estimator = {TINY} }}\n"
        f"stage e = AdaBoostClassifier {{ estimator = {TINY}, n_estimators = 3 }}"
        f" | BaggingClassifier {{ estimator = {TINY}, n_estimators = 3 }}"
        f" | VotingClassifier {{ estimators : ({TINY} & GaussianNB) as two }}"
        f" | StackingClassifier {{ estimators : ({TINY} & GaussianNB) as two, final_estimator = {TINY} }}"
        f" | OneVsRestClassifier {{ estimator = {TINY} }}"
        f" | CalibratedClassifierCV {{ estimator = {TINY} }}\n"
        "pipeline = s -> e",
        MIXED,
        np.where(MIXED["count"] < 3, "few", LABELS[:120]),
    ),
    "resampled": (
        "use imblearn\nuse lightgbm\n"
        "stage sampler = SMOTE | RandomUnderSampler | none\n"
        "stage e = LGBMClassifier { n_estimators = 3, min_child_samples = 1 } | BalancedRandomForestClassifier",
        MIXED,
        LABELS[:120],
    ),
    "regression": (
        "use xgboost\nuse lightgbm\n"
        "stage e = XGBRegressor { n_estimators = 3 } | LGBMRegressor { n_estimators = 3 }"
        " | TransformedTargetRegressor { regressor = Ridge }"
        " | StackingRegressor { estimators : (Ridge & Lasso) as two }",
        MIXED,
        SIZE[:120],
    ),
}
ALLOWED = ["xgboost", "lightgbm", "imblearn"]
CHANCE = """\
stage selector = SelectKBest { score_func = mutual_info_classif, k = 2 }
stage e = ExtraTreesClassifier { n_estimators = 5 }
"""
WHOLE = pd.DataFrame({name: RNG.integers(9, size=120) for name in "abcd"})
EVIL = 'coding: utf-7\n\x1b]52;c;aGk=\x07\u202e\udc80"""\nimport spacelang'

WITHOUT_SPACELANG = """
import pickle, sys, warnings
from importlib.abc import MetaPathFinder

class Gone(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "spacelang":
            raise ImportError(f"{name} cannot be imported here")

sys.meta_path.insert(0, Gone())
try:
    import spacelang
except ImportError:
    pass
else:
    raise SystemExit("spacelang can be imported here")

import numpy as np
warnings.simplefilter("ignore")

def held_out(text, training, labels, features):
    names = {}
    exec(text, names)
    fitted, given = names["fit"](training, labels), names["take"](features)
    if "CLASSES" not in names:
        return fitted.predict(given)
    assert [*fitted.classes_] == names["CLASSES"], (fitted.classes_, names["CLASSES"])
    if hasattr(fitted, "predict_proba"):
        return fitted.predict_proba(given)
    return (np.reshape(fitted.predict(given), (-1, 1)) == fitted.classes_).astype(float)

def answer(text, features, labels):
    names = {}
    np.random.seed(0)
    try:
        exec(text, names)
        return names["pipeline"].fit(features, labels).predict(features)
    except Exception as error:
        return type(error).__name__, str(error)

with open(sys.argv[1], "rb") as file:
    asked = pickle.load(file)
with open(sys.argv[2], "wb") as file:
    pickle.dump([(answer if len(each) == 3 else held_out)(*each) for each in asked], file)
"""


@dataclass(frozen=True)
class Printed:
    """A configuration, what is printed of it, the data, and what the found pipeline predicts or why it does not."""

    name: str
    space: Space
    configuration: Any
    text: str
    features: pd.DataFrame
    labels: Any
    predicted: Any


@dataclass(frozen=True)
class Exported:
    """A configuration, a module of it with training rows, labels and held-out rows, and what its trial predicted."""

    name: str
    configuration: Any
    asked: tuple[str, pd.DataFrame, Any, pd.DataFrame]
    predicted: Any


def objectives() -> Iterator[tuple[str, Space, DataObjective]]:
    for name, path in PATHS.items():
        target = SIZE[:120] if name in {"house_prices", "tabular_regression"} else LABELS[:120]
        yield (name, *made(load_for_data(path), DATA.get(name, MIXED), target))
    for name, (text, features, target) in CRAFTED.items():
        yield (name, *made(parse(text, allow=ALLOWED), features, target))


NOTHING_MORE = ExtraMeasurementSettings()


def made(
    space: Space, features: pd.DataFrame, target: Any, recorded: ExtraMeasurementSettings = NOTHING_MORE
) -> tuple[Space, DataObjective]:
    rows = TabularData(make_table(features, target))
    return rows.bind_space(Experiment(space=space, data=rows, validation=Holdout(0.3), recorded=recorded))


@pytest.fixture(scope="module")
def printed() -> list[Printed]:
    """In the reduced form, bundled and example spaces take turns with their default and a random configuration."""
    found = []
    for place, (name, space, objective) in enumerate(objectives()):
        configurations = [*dict.fromkeys([space.default(), *space.sample(DRAWS, seed=0)])]
        for configuration in configurations if IS_FULL or name in CRAFTED else configurations[place % 2 :][:1]:
            pipeline = objective.make_pipeline(configuration)
            assert b"spacelang" not in pickle.dumps(pipeline), (name, configuration)
            data = objective.dataset
            try:
                predicted: Any = objective.refit(configuration).predict(data.features)
            except Exception as error:  # noqa: BLE001 - a pipeline of a space may raise anything
                predicted = type(error).__name__, str(error)
            found.append(
                Printed(
                    name,
                    space,
                    configuration,
                    pipeline_module_source(pipeline),
                    data.features,
                    data.original_labels,
                    predicted,
                )
            )
    return found


@pytest.fixture(scope="module")
def exported() -> list[Exported]:
    """A few configurations of each crafted space as modules, with what their trials predicted."""
    given = {name: (parse(text, allow=ALLOWED), *data) for name, (text, *data) in CRAFTED.items()}
    given |= {"chance": (parse(CHANCE), WHOLE, np.where(WHOLE["a"] > 4, "a", "b"))}
    given |= {"numbers": (parse("stage e = Ridge | SVR"), WHOLE, SIZE[:120])}
    found = []
    for name, (space, features, target) in given.items():
        _, objective = made(space, features, target, ExtraMeasurementSettings(predictions=True))
        for configuration in dict.fromkeys([space.default(), *space.sample(DRAWS, seed=1)][:DRAWS]):
            trial = objective.evaluate(Request(configuration))
            if trial.predictions is None:
                continue
            data, (training, held_out) = objective.dataset, rows_of(objective)
            text = pipeline_module_text(objective.make_pipeline(configuration), objective, [EVIL, name])
            rows = data.features.iloc[training], data.original_labels[training], data.features.iloc[held_out]
            found.append(Exported(name, configuration, (text, *rows), trial.predictions))
    return found


def rows_of(objective: DataObjective) -> tuple[Any, Any]:
    """The numbers of the rows that trials train on, in their order, and of those on which they are judged."""
    rng = np.random.default_rng(objective.random_state)
    ((training, held_out),) = _split_rows(objective.dataset, objective.validation, rng)
    if objective.dataset.kind == "classification":
        training = training[stratified_order(objective.dataset.target.to_numpy()[training], rng)]
    return training, held_out


@pytest.fixture(scope="module")
def answers(
    printed: list[Printed], exported: list[Exported], tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Any], list[Any]]:
    """What an interpreter answers to both in which there is no `spacelang`."""
    folder = tmp_path_factory.mktemp("elsewhere")
    asked = [*((each.text, each.features, each.labels) for each in printed), *(each.asked for each in exported)]
    (folder / "asked").write_bytes(pickle.dumps(asked))
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WITHOUT_SPACELANG, "asked", "answered"]
    subprocess.run(command, cwd=folder, env=one_thread, check=True)
    found: list[Any] = pickle.loads((folder / "answered").read_bytes())
    return found[: len(printed)], found[len(printed) :]


def test_the_printed_code_predicts_without_spacelang_what_the_found_pipeline_predicts(
    printed: list[Printed], answers: tuple[list[Any], list[Any]]
) -> None:
    for each, answer in zip(printed, answers[0], strict=True):
        told = f"{each.name}\n{each.configuration}\n{each.text}\n{answer}\n{each.predicted}"
        assert type(answer) is type(each.predicted), told
        assert np.array_equal(answer, each.predicted), told


def test_an_exported_module_predicts_what_its_trial_predicted(
    exported: list[Exported], answers: tuple[list[Any], list[Any]]
) -> None:
    assert len(exported) > len(CRAFTED)
    for each, answer in zip(exported, answers[1], strict=True):
        assert np.abs(answer - each.predicted).max() <= 1e-12, (each.name, each.configuration)


def test_the_code_of_a_space_builds_its_pipelines(printed: list[Printed]) -> None:
    for name, space in {each.name: each.space for each in printed}.items():
        names = functions_of(space)
        for seed, configuration in enumerate([space.default(), *space.sample(2 * DRAWS, seed=2)]):
            for state in (None, seed):
                expected, built = space.build(configuration, random_state=state), names["build"](configuration, state)
                told = all_of if name in READS_TEXT else pipeline_module_source
                assert told(built) == told(expected), (name, configuration)
        if space.checked.decisions:
            with pytest.raises((ValueError, KeyError)):
                names["build"](dict.fromkeys(configuration, "no such thing"))


CRAFTED_FOR_TEXT = ("text", "text_in_steps", "text_inside", "text_as_rest", "no_text")
READS_TEXT = (*CRAFTED_FOR_TEXT, "tabular_classification", "tabular_regression")
"""The spaces whose pipelines find columns of text when they are fitted."""
DATA_WITHOUT_TEXT = ("no_text", "tabular_classification", "tabular_regression")
"""Those of them that are bound to data without columns of text."""


@pytest.mark.filterwarnings("ignore:lbfgs")
def test_code_that_finds_columns_of_text_predicts_what_the_pipelines_of_the_space_predict(
    printed: list[Printed],
) -> None:
    for each in {each.name: each for each in printed if each.name in READS_TEXT}.values():
        if each.name in DATA_WITHOUT_TEXT:
            assert pipeline_module_source(each.space.build(each.configuration)), "the part for text is dropped"
            continue
        with pytest.raises(BuildError, match="reads text"):
            pipeline_module_source(each.space.build(each.configuration))
        names, found = functions_of(each.space), []
        for made in (each.space.build(each.configuration, random_state=1), names["build"](each.configuration, 1)):
            found.append(made.fit(each.features, each.labels).predict(each.features))
        assert np.array_equal(*found), (each.name, each.configuration)


def functions_of(space: Space) -> dict[str, Any]:
    """The functions that build the pipelines of a space."""
    code, names = builder_code(space.checked), dict[str, Any]()
    exec(f"{code.imports}\n\n\n{code.functions}", names)
    return names


def all_of(pipeline: Any) -> str:
    """All parameters of all parts; of an object that has no words the class."""
    with config_context(print_changed_only=False):
        return re.sub(" at 0x[0-9a-f]+", "", str(pipeline.__repr__(N_CHAR_MAX=100_000)))


def test_hardly_any_of_these_pipelines_fails(printed: list[Printed]) -> None:
    failed = [each for each in printed if isinstance(each.predicted, tuple)]
    assert not [(each.name, each.configuration, each.predicted) for each in failed if each.name in CRAFTED]
    assert len(failed) <= 0.1 * len(printed)
