"""The shipped catalogue of scikit-learn, asked as the checker asks it."""

import importlib.metadata
import subprocess
import sys
from dataclasses import replace

import pytest

from spacelang.catalog import CatalogueEntry, NamedObjectDefault, NoDefault, OpaqueDefault, OperatorRole, load_catalogue
from spacelang.catalog.sklearn_declarations import REMOVALS, parse_version_numbers


def operator(name: str) -> CatalogueEntry:
    found = load_catalogue().get(name)
    assert found is not None
    return found


def test_loading_imports_no_library() -> None:
    code = (
        "import sys; from spacelang.catalog import load_catalogue; catalogue = load_catalogue();"
        "[catalogue.get(name) for name in catalogue]; catalogue.differing_installed_version;"
        "catalogue.get('SVC').parameters['C'].check_range(0, 1, integer=False);"
        "print([m for m in sys.modules if m.split('.')[0] in {'sklearn', 'numpy', 'pandas', 'scipy'}])"
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_look_ups_are_exact() -> None:
    catalogue = load_catalogue()
    assert catalogue.get("svc") is None
    assert catalogue.get("sklearn.svm.SVC") is None
    assert "SVC" in catalogue
    assert list(catalogue) == sorted(catalogue)
    assert len(catalogue) == len(list(catalogue))


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("SVC", {OperatorRole.CLASSIFIER}),
        ("Ridge", {OperatorRole.REGRESSOR}),
        ("PCA", {OperatorRole.TRANSFORMER}),
        ("LinearDiscriminantAnalysis", {OperatorRole.CLASSIFIER, OperatorRole.TRANSFORMER}),
        ("KMeans", {OperatorRole.CLUSTERER, OperatorRole.TRANSFORMER}),
        ("CountVectorizer", {OperatorRole.TRANSFORMER}),
        ("SelfTrainingClassifier", {OperatorRole.CLASSIFIER}),
        ("RBF", {OperatorRole.KERNEL}),
        ("TSNE", {OperatorRole.OTHER}),
        ("LabelEncoder", {OperatorRole.OTHER}),
        ("IsolationForest", {OperatorRole.OTHER}),
        ("GridSearchCV", {OperatorRole.OTHER}),
    ],
)
def test_roles(name: str, roles: set[OperatorRole]) -> None:
    assert operator(name).roles == roles


@pytest.mark.parametrize(
    ("name", "missing", "categories"),
    [
        ("HistGradientBoostingClassifier", True, True),
        ("SimpleImputer", True, True),
        ("OneHotEncoder", True, True),
        ("StandardScaler", True, False),
        ("LogisticRegression", False, False),
        ("CategoricalNB", False, False),
        ("VotingClassifier", True, False),
    ],
)
def test_what_data_an_operator_accepts(name: str, missing: bool, categories: bool) -> None:
    found = operator(name)
    assert (found.accepts_missing, found.accepts_categories) == (missing, categories)


@pytest.mark.parametrize(
    ("name", "parameter", "reason"),
    [
        (
            "AgglomerativeClustering",
            "memory",
            "it is the path of a cache folder, and loading pickles from there would execute code",
        ),
        ("Pipeline", "memory", "it is the path of a cache folder, and loading pickles from there would execute code"),
        ("GridSearchCV", "pre_dispatch", "joblib evaluates its value as code"),
        ("RandomForestClassifier", "n_jobs", "spacelang sets this parameter"),
        ("SVC", "verbose", "spacelang sets this parameter"),
        ("FunctionTransformer", "func", "it takes code"),
        ("TransformedTargetRegressor", "inverse_func", "it takes code"),
        ("CountVectorizer", "tokenizer", "it takes code"),
        ("RANSACRegressor", "is_model_valid", "it takes code"),
    ],
)
def test_refused_parameters(name: str, parameter: str, reason: str) -> None:
    found = operator(name).parameters[parameter]
    assert found.refused == reason
    assert found.check_value(found.default if isinstance(found.default, str | None) else None) is not None


def test_random_state_is_allowed() -> None:
    assert operator("SVC").parameters["random_state"].check_value(3) is None
    assert operator("SVC").parameters["random_state"].check_value(-1) == "an integer in [0, 4294967295] or `none`"


@pytest.mark.parametrize("name", ["CountVectorizer", "HashingVectorizer", "TfidfVectorizer"])
def test_values_that_open_files_are_refused(name: str) -> None:
    found = operator(name).parameters["input"]
    assert found.refusal_reason("filename") == "with this value, the operator opens files"
    assert found.refusal_reason("file") == "with this value, the operator reads from open files"
    assert found.check_value("filename") == "`content`"
    assert found.refusal_reason("content") is found.check_value("content") is None


def test_a_path_of_attributes_is_refused() -> None:
    assert operator("RFE").parameters["importance_getter"].check_value("__class__.mro") is not None


def test_no_parameter_takes_a_callable_by_itself() -> None:
    for name in load_catalogue():
        for parameter in operator(name).parameters.values():
            if parameter.default == OpaqueDefault("numpy.mean") or parameter.name in {"func", "callback"}:
                assert parameter.refused


def test_score_functions_are_named() -> None:
    found = operator("SelectKBest").parameters["score_func"]
    assert found.default == NamedObjectDefault("f_classif")
    assert found.check_value("chi2") is None
    assert found.check_value("mutual_info_classif") is None
    assert found.check_value("os.system") is not None
    assert found.check_value(None) is not None
    assert "chi2" in found.accepted_words
    assert operator("SelectFdr").parameters["score_func"].check_value("mutual_info_classif") is not None


def test_defaults_that_are_no_literal() -> None:
    assert operator("SimpleImputer").parameters["missing_values"].default == OpaqueDefault("nan")
    assert operator("OneHotEncoder").parameters["dtype"].default == OpaqueDefault("numpy.float64")
    assert operator("HDBSCAN").parameters["copy"].default == OpaqueDefault("warn")
    assert operator("RFE").parameters["estimator"].default == NoDefault()
    assert operator("SelfTrainingClassifier").parameters["estimator"].default == NoDefault()


def test_operators_as_values() -> None:
    estimator = operator("CalibratedClassifierCV").parameters["estimator"]
    assert estimator.takes_operators
    assert estimator.check_operator(operator("LinearSVC")) is None
    assert estimator.check_operator(operator("Ridge")) is not None
    assert estimator.check_operator(operator("PCA")) is not None
    kernel = operator("GaussianProcessClassifier").parameters["kernel"]
    assert kernel.takes_operators
    assert kernel.check_operator(operator("Matern")) is None
    assert kernel.check_operator(operator("SVC")) == "a kernel or `none`"
    assert operator("Sum").parameters["k1"].check_operator(operator("RBF")) is None
    assert operator("Birch").parameters["n_clusters"].check_operator(operator("KMeans")) is None
    assert operator("SVC").parameters["C"].check_operator(operator("PCA")) is not None


def test_numbers_written_as_integers_are_counts() -> None:
    share = operator("DecisionTreeClassifier").parameters["min_samples_split"]
    assert share.check_value(1) == "an integer from 2 or a float in (0, 1]"
    assert share.check_value(1.0) is None
    assert share.check_range(0.1, 1.0, integer=False) is None
    assert share.check_range(1, 5, integer=True) is not None


def test_deprecated_parameters() -> None:
    penalty = operator("LogisticRegression").parameters["penalty"].deprecated
    assert penalty is not None
    assert (penalty.since, penalty.replacement) == ("1.8", "l1_ratio")
    assert operator("LogisticRegression").parameters["penalty"].check_value("deprecated") is not None
    dissimilarity = operator("MDS").parameters["dissimilarity"].deprecated
    assert dissimilarity is not None
    assert dissimilarity.replacement == "metric"
    probability = operator("SVC").parameters["probability"].deprecated
    assert probability is not None
    assert probability.since == "1.9"


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("LogisticRegression", "l1_ratio"),
        ("SGDClassifier", "power_t"),
        ("LogisticRegressionCV", "use_legacy_attributes"),
    ],
)
def test_a_deprecated_value_or_a_plan_deprecates_no_parameter(name: str, parameter: str) -> None:
    assert operator(name).parameters[parameter].deprecated is None


def test_deprecated_operators() -> None:
    deprecated = operator("PassiveAggressiveClassifier").deprecated
    assert deprecated is not None
    assert (deprecated.since, deprecated.replacement) == ("1.8", "SGDClassifier")


def test_removed_parameters() -> None:
    boosting = operator("AdaBoostClassifier")
    assert "algorithm" not in boosting.parameters
    assert boosting.removed["algorithm"].startswith("removed in 1.8: leave the parameter out")
    assert boosting.removed["base_estimator"] == "removed in 1.4: use `estimator`"
    assert operator("OneHotEncoder").removed["sparse"] == "removed in 1.4: use `sparse_output`"


def test_the_history_speaks_of_operators_and_remedies_that_exist() -> None:
    for removal in REMOVALS:
        assert parse_version_numbers(removal.version) <= parse_version_numbers(load_catalogue().version)
        for name in removal.operators:
            assert removal.parameter in operator(name).removed


def test_every_replacement_exists() -> None:
    for name in load_catalogue():
        found = operator(name)
        for parameter in found.parameters.values():
            if parameter.deprecated and parameter.deprecated.replacement:
                assert parameter.deprecated.replacement in found.parameters
        if found.deprecated and found.deprecated.replacement:
            assert found.deprecated.replacement in load_catalogue()


def test_reasons_are_lowercase_without_full_stop() -> None:
    for name in load_catalogue():
        for parameter in operator(name).parameters.values():
            for text in (
                parameter.accepted_values_description,
                parameter.refused,
                parameter.deprecated and parameter.deprecated.note,
            ):
                assert text is None or (text[0] == text[0].lower() and not text.endswith("."))


def test_every_default_is_legal() -> None:
    for name in load_catalogue():
        for parameter in operator(name).parameters.values():
            if parameter.refused is None and not isinstance(
                parameter.default, NamedObjectDefault | OpaqueDefault | NoDefault
            ):
                assert parameter.check_value(parameter.default) is None, (name, parameter)


def test_stale() -> None:
    shipped = load_catalogue()
    installed = importlib.metadata.version("scikit-learn")
    assert replace(shipped, version=installed).differing_installed_version is None
    assert replace(shipped, version="0.1").differing_installed_version == installed
    assert replace(shipped, distribution="a-distribution-that-nobody-has").differing_installed_version is None


def test_release() -> None:
    assert parse_version_numbers("1.10") > parse_version_numbers("1.9.1")
    assert parse_version_numbers("1.9.1rc1") == (1, 9)


def test_scorers_are_known_by_what_they_judge() -> None:
    from sklearn.metrics import get_scorer_names

    scorers = load_catalogue().scorers
    assert set(scorers) == set(get_scorer_names())
    assert {scorers[name] for name in ("roc_auc", "neg_log_loss", "f1_macro", "rand_score")} == {"classification"}
    assert {scorers[name] for name in ("r2", "neg_mean_squared_error", "explained_variance")} == {"regression"}
