import subprocess
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import Pipeline as ResamplingPipeline
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from trying import IS_FULL
from xgboost import XGBClassifier

import spacelang as sl
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import BOOLEANS, Categorical, Domain, Grid, Ordinal, Real, Union
from spacelang.ir.space import (
    SKIPPED_STEP,
    Branch,
    CatalogueObject,
    Choice,
    Hyperparameter,
    Node,
    Operator,
    Product,
    ProductKind,
    Space,
)
from spacelang.report import code_writer
from spacelang.report.code_writer import WIDTH
from spacelang.report.pipeline_module import with_imports_on_top
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.ensembles import one_hot_probability_classifier
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines import configuration_estimator
from spacelang.runtime.pipelines.build import adapt_to_labels, build_pipeline
from spacelang.runtime.pipelines.preparation import Preparation, plan_preparation
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures


def leaf(key: str, domain: Domain, named: tuple[str, ...] = ()) -> Hyperparameter:
    return Hyperparameter(key.rsplit(".", 1)[-1], key, key, domain, domain.representative, named=named)


def operator(name: str, *children: Hyperparameter | Choice, **fixed: object) -> Operator:
    return Operator(name, "sklearn", children, tuple(fixed.items()))


def stage(key: str, *alternatives: Operator | Product) -> Choice:
    names = [node.name if isinstance(node, Operator) else f"other_{place}" for place, node in enumerate(alternatives)]
    branches = tuple(Branch(name, node) for name, node in zip(names, alternatives, strict=True))
    return Choice(key.rsplit(".", 1)[-1], key, key, branches)


KERNEL = stage(
    "estimator.kernel",
    operator("RBF", leaf("estimator.kernel.length_scale", Real(0.1, 10, log=True))),
    operator("Matern", nu=0.5),
)
BOTH = Product(
    ProductKind.SEQUENCE, (operator("StandardScaler"), operator("PCA", leaf("scaler.n_components", Real(0.5, 0.99))))
)
SIDES: Product = Product(
    ProductKind.PARALLEL,
    (
        stage("left", SKIPPED_STEP, operator("PCA", leaf("left.whiten", BOOLEANS), n_components=2)),
        operator(
            "SelectPercentile", leaf("select.score_func", Categorical(("chi2", "f_classif")), ("chi2", "f_classif"))
        ),
    ),
)
MADE = Space(
    "handmade",
    Product(
        ProductKind.SEQUENCE,
        (
            operator("IterativeImputer", max_iter=3),
            stage("scaler", SKIPPED_STEP, operator("MinMaxScaler", feature_range=(0, 2)), BOTH),
            SIDES,
            stage(
                "estimator",
                operator(
                    "MLPClassifier",
                    leaf("estimator.hidden_layer_sizes", Categorical(((100,), (50, 20)))),
                    leaf("estimator.alpha", Real(1e-7, 1e-1, log=True)),
                    leaf("estimator.activation", Ordinal(("relu", "tanh"))),
                    early_stopping=True,
                    solver="sgd",
                    learning_rate="invscaling",
                ),
                operator("SVC", leaf("estimator.gamma", Union((Categorical(("auto",)), Real(1e-5, 8))))),
                operator("GaussianProcessClassifier", KERNEL),
                operator("AdaBoostClassifier", estimator=operator("DecisionTreeClassifier", max_depth=2)),
                operator(
                    "RandomForestClassifier", leaf("estimator.max_depth", Union((Categorical((None,)), Grid(2, 9))))
                ),
            ),
        ),
    ),
)
MIXED = pd.DataFrame(
    {f"a rather long name of column {place}": [1.0, None, 2.0] * 4 for place in range(9)}
    | {'it\'s "quoted"': ["a", "b", None] * 4, "town": ["x", "y", "z"] * 4}
)


def source(space: Space, configuration: Configuration, preparation: Preparation | None = None, **given):
    return code_writer.pipeline_module_source(
        build_pipeline(space, configuration, preparation=preparation, n_jobs=None, **given)
    )


def evaluated(text: str):
    compile(text, "generated", "exec")
    names: dict[str, object] = {}
    exec(text, names)
    return names["pipeline"]


def described(pipeline) -> str:
    """The parameters of every part, deeply, by their text: what `==` would compare if estimators had it."""
    parameters = pipeline.get_params(deep=True).items()
    # The parameters of a part have keys of their own, so its type says the rest.
    return repr(
        sorted(
            (key, type(value).__name__ if hasattr(value, "get_params") else _text(value)) for key, value in parameters
        )
    )


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"{type(value)}[{', '.join(map(_text, value))}]"
    return type(value).__name__ if hasattr(value, "get_params") else repr(value)


@pytest.mark.parametrize(
    "preparation", [None, plan_preparation(Space("none", operator("SVC")), MIXED)], ids=["bare", "prepared"]
)
@pytest.mark.parametrize("random_state", [None, 7])
def test_the_code_evaluates_to_the_pipeline_that_is_built(preparation, random_state):
    sampler = Sampler(Structures(MADE))
    rng = np.random.default_rng(0)
    estimators = set()
    for _ in range(60 if IS_FULL else 30):
        configuration = sampler.configuration(rng)
        estimators.add(configuration["estimator"])
        text = source(MADE, configuration, preparation, random_state=random_state)
        wanted = build_pipeline(MADE, configuration, preparation=preparation, random_state=random_state, n_jobs=None)
        assert described(evaluated(text)) == described(wanted)
        assert max(map(len, text.splitlines())) <= WIDTH
    assert len(estimators) == 5


def simple(*children: Node) -> Space:
    return Space("simple", Product(ProductKind.SEQUENCE, children))


def test_the_code_is_what_a_person_would_write():
    made = simple(stage("scaler", operator("StandardScaler")), stage("estimator", operator("SVC", C=2.0, gamma="auto")))
    text = source(made, Configuration({"scaler": "StandardScaler", "estimator": "SVC"}), random_state=1)
    assert text == (
        "from sklearn.pipeline import Pipeline\n"
        "from sklearn.preprocessing import StandardScaler\n"
        "from sklearn.svm import SVC\n"
        "\n"
        "pipeline = Pipeline([\n"
        '    ("scaler", StandardScaler()),\n'
        '    ("estimator", SVC(C=2.0, gamma="auto", random_state=1)),\n'
        "])\n"
    )


def test_parts_are_written_as_the_parameter_of_the_library():
    scaler = operator("RobustScaler", leaf("scaler.q_min", Real(0.001, 0.3)), q_max=0.9)
    made = simple(stage("scaler", scaler), operator("SVC"))
    text = source(made, Configuration({"scaler": "RobustScaler", "scaler.q_min": 0.125}))
    assert '("scaler", RobustScaler(quantile_range=(12.5, 90.0)))' in text
    assert evaluated(text)["scaler"].quantile_range == (12.5, 90.0)


def test_the_code_stands_alone(tmp_path):
    made = simple(stage("estimator", operator("LogisticRegression")))
    text = source(made, Configuration({"estimator": "LogisticRegression"}), plan_preparation(made, MIXED))
    MIXED.to_csv(tmp_path / "mixed.csv", index=False)
    (tmp_path / "found.py").write_text(
        f"{text}\nimport pandas\n\nframe = pandas.read_csv('mixed.csv')\n"
        "print(pipeline.fit(frame, [0, 1] * 6).predict(frame).shape)\n"
    )
    done = subprocess.run([sys.executable, "found.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "(12,)\n"


def test_categories_that_the_space_encodes_reach_it_in_a_table():
    made = simple(operator("OneHotEncoder"), operator("SVC"))
    frame = MIXED.assign(empty=None)
    preparation = plan_preparation(made, frame)
    assert preparation.takes_dataframe
    pipeline = evaluated(source(made, Configuration({}), preparation))
    assert isinstance(pipeline["preparation"].fit_transform(frame), pd.DataFrame)


def test_categories_that_need_no_preparation_leave_the_code_alone():
    made = simple(operator("OneHotEncoder"), operator("SVC"))
    frame = MIXED[["town"]]
    assert plan_preparation(made, frame).takes_dataframe
    assert "set_output" not in source(made, Configuration({}), plan_preparation(made, frame))


def test_experimental_operators_are_enabled_first():
    text = source(simple(operator("IterativeImputer"), operator("SVC")), Configuration({}))
    assert text.startswith("from sklearn.experimental import enable_iterative_imputer  # noqa: F401\n")


@pytest.mark.parametrize(
    "value", [float("inf"), -float("inf"), np.float64(0.25), np.int64(3), 'a "b"', "it's", "\\", "a\nb"]
)
def test_unusual_values(value):
    made = simple(operator("SVC", C=value))
    assert repr(evaluated(source(made, Configuration({})))["svc"].C) == repr(
        value.item() if isinstance(value, np.generic) else value
    )


def test_nan_is_written_where_it_is_not_the_default():
    made = simple(operator("SimpleImputer", missing_values=-1), operator("SimpleImputer"), operator("SVC"))
    text = source(made, Configuration({}))
    assert "SimpleImputer(missing_values=-1)" in text
    assert "SimpleImputer()" in text


def test_an_object_without_code_is_refused():
    with pytest.raises(TypeError, match="an object of the type dict cannot be written as code"):
        source(simple(operator("SVC", class_weight={0: 1})), Configuration({}))


def test_seeded_folds_are_written():
    made = simple(operator("TargetEncoder"), operator("GaussianNB"))
    text = source(made, Configuration({}), random_state=7)
    assert "TargetEncoder(cv=StratifiedKFold(n_splits=5, shuffle=True, random_state=7))" in text
    assert repr(evaluated(text)) == repr(build_pipeline(made, Configuration({}), random_state=7))


def test_functions_are_imported():
    text = source(
        simple(operator("SelectKBest", score_func=CatalogueObject("chi2")), operator("SVC")), Configuration({})
    )
    assert "from sklearn.feature_selection import SelectKBest, chi2\n" in text


def test_an_empty_preparation_adds_nothing():
    assert "preparation" not in source(simple(operator("SVC")), Configuration({}), Preparation(kept=("a",)))


def test_what_finds_text_when_it_is_fitted_has_no_code():
    space = sl.parse("pipeline = columns(text: TfidfVectorizer) -> LogisticRegression")
    with pytest.raises(BuildError, match="before it is known which columns hold text"):
        code_writer.pipeline_module_source(space.build(space.default()))


def test_classes_of_one_name_are_told_apart():
    inner = Pipeline([("scaler", StandardScaler()), ("pca", PCA())])
    both = ResamplingPipeline([("union", FeatureUnion([("inner", inner)])), ("sampler", SMOTE()), ("e", SVC())])
    text = code_writer.pipeline_module_source(both)
    assert "from imblearn.pipeline import Pipeline as ImblearnPipeline\n" in text
    assert "from sklearn.pipeline import FeatureUnion, Pipeline\n" in text
    assert repr(evaluated(text)) == repr(both)


def test_the_comment_on_labels_is_true():
    booster = Pipeline([("e", XGBClassifier())])
    assert "# The classes must be 0, 1, … for XGBClassifier: " in code_writer.pipeline_module_source(booster)
    within = Pipeline([("e", BaggingClassifier(XGBClassifier()))])
    assert "#" not in code_writer.pipeline_module_source(within)
    written = code_writer.pipeline_module_source(adapt_to_labels(booster, ("a", "b")))
    assert "# A vote of one member encodes the labels, because XGBClassifier " in written


@pytest.mark.parametrize("name", ["plain.csv", 'it\'s "quoted".CSV'])
def test_the_line_that_fits_reads_the_same_table(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    label = 'the "label"'
    MIXED.assign(**{label: ["yes", "no"] * 6}).to_csv(name, index=False)
    table = load_dataset(name, label)
    made = simple(operator("LogisticRegression"))
    built = build_pipeline(made, Configuration({}), preparation=plan_preparation(made, table.features), n_jobs=None)
    names: dict[str, object] = {}
    exec(f"{code_writer.pipeline_module_source(built)}\n{code_writer.fit_statement(name, [label])}", names)
    wanted = built.fit(table.features, table.target).predict_proba(table.features)
    assert np.array_equal(names["pipeline"].predict_proba(table.features), wanted)


def test_what_pandas_does_not_read_as_we_do_has_no_line():
    assert (
        code_writer.fit_statement("table.arff", ["target"])
        is code_writer.fit_statement("openml:31", ["target"])
        is None
    )
    assert code_writer.fit_statement("sklearn:iris", ["sepal length (cm)"]) is None
    assert code_writer.fit_statement("sklearn:iris", ["target"]).startswith("from sklearn.datasets import load_iris; ")


@pytest.mark.parametrize("module", [configuration_estimator, one_hot_probability_classifier])
def test_copied_modules_do_without_the_package(module: ModuleType) -> None:
    copied = code_writer.module_source_to_copy(module)
    exec(copied, {"__name__": "copied"})
    assert "spacelang" not in copied
    assert "__getattr__" not in copied


def test_imports_of_a_module_are_joined_and_sorted() -> None:
    source = '"""A module."""\n\n\n# Two.\nfrom math import log\nimport zlib\n\n\n\n\ndef f():\n    import ast\n'
    enabling = "from sklearn.experimental import e  # noqa: F401"
    further = ["from sklearn.impute import A", enabling, "from math import exp"]
    assert with_imports_on_top(source, further) == (
        '"""A module."""\n\nimport zlib\nfrom math import exp, log\n\n'
        f"{enabling}\nfrom sklearn.impute import A\n\n"
        "# Two.\n\n\ndef f():\n    import ast"
    )
    assert with_imports_on_top('"""A module."""\nx = 1') == '"""A module."""\nx = 1'
