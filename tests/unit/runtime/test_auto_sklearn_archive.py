"""What auto-sklearn has learnt, in the words of the space `mosaic`."""

from collections import Counter
from pathlib import Path

import pytest

from spacelang.api import load
from spacelang.ir.membership import ExclusionReason, member_or_exclusion
from spacelang.runtime.archives.auto_sklearn import (
    UntranslatableError,
    is_auto_sklearn,
    read_auto_sklearn,
    translate_configuration,
)
from spacelang.runtime.errors import DataError

REAL = Path(__file__).parents[4] / "shared" / "data" / "metalearning"
MOSAIC = load("mosaic").bind(n_features=400, n_samples=100_000, n_classes=3).checked

NUMBERS = "data_preprocessor:feature_type:numerical_transformer"
WORDS = "data_preprocessor:feature_type:categorical_transformer"

BEFORE = {
    "balancing:strategy": "none",
    f"{NUMBERS}:imputation:strategy": "median",
    f"{NUMBERS}:rescaling:__choice__": "robust_scaler",
    f"{NUMBERS}:rescaling:robust_scaler:q_min": "0.25",
    f"{NUMBERS}:rescaling:robust_scaler:q_max": "0.75",
    f"{WORDS}:categorical_encoding:__choice__": "one_hot_encoding",
    f"{WORDS}:category_coalescence:__choice__": "no_coalescense",
    "feature_preprocessor:__choice__": "no_preprocessing",
}

SAID = {
    "imputation": "median",
    "rescaling": "RobustScaler",
    "rescaling.q_min": 0.25,
    "rescaling.q_max": 0.75,
    "encoding": "OneHotEncoder",
    "encoding.min_frequency": None,
    "preprocessor": "none",
}


def classifier(name: str, **parameters: str) -> dict[str, str]:
    own = {f"classifier:{name}:{key}": value for key, value in parameters.items()}
    return BEFORE | {"classifier:__choice__": name} | own


def test_a_configuration_is_said_in_our_words() -> None:
    given = classifier("passive_aggressive", C="0.5", average="True", fit_intercept="True", loss="hinge", tol="0.01")
    coalesced = {
        "balancing:strategy": "weighting",
        f"{WORDS}:category_coalescence:minority_coalescer:minimum_fraction": "0.02",
    }
    estimator = {
        "estimator": "PassiveAggressive",
        "estimator.eta0": 0.5,
        "estimator.average": True,
        "estimator.learning_rate": "pa1",
        "estimator.tol": 0.01,
        "estimator.class_weight": None,
    }
    assert translate_configuration(given, 8) == SAID | estimator
    weighted = {"encoding.min_frequency": 0.02, "estimator.class_weight": "balanced"}
    assert translate_configuration(given | coalesced, 8) == SAID | estimator | weighted


def test_shares_and_depths_are_those_of_the_data_set_of_the_configuration() -> None:
    trees = {"bootstrap": "False", "criterion": "gini", "min_samples_leaf": "1", "min_samples_split": "2"}
    forest = translate_configuration(classifier("random_forest", **trees, max_features="0.5", max_depth="None"), 16)
    assert forest["estimator.max_features"] == 4 / 16
    leaves = {key: trees[key] for key in ("criterion", "min_samples_leaf", "min_samples_split")}
    tree = translate_configuration(
        classifier("decision_tree", **leaves, max_depth_factor="0.3", max_features="1.0"), 16
    )
    assert tree["estimator.max_depth"] == 5
    with pytest.raises(UntranslatableError, match="the number of columns is unknown"):
        translate_configuration(classifier("random_forest", max_features="0.5"), 0)


def test_each_way_of_shrinking_has_the_solver_that_takes_it() -> None:
    least = translate_configuration(classifier("lda", shrinkage="None", tol="0.01"), 8)
    assert {key: value for key, value in least.items() if key.startswith("estimator")} == {
        "estimator": "LinearDiscriminantAnalysis",
        "estimator.solver": "svd",
        "estimator.tol": 0.01,
    }
    by_hand = translate_configuration(classifier("lda", shrinkage="manual", shrinkage_factor="0.4", tol="0.01"), 8)
    assert (by_hand["estimator.solver"], by_hand["estimator.shrinkage"]) == ("lsqr", 0.4)
    assert "estimator.tol" not in by_hand


@pytest.mark.parametrize("pooling", ["mean", "median", "max"])
def test_columns_are_joined_by_what_they_say(pooling: str) -> None:
    name = "feature_preprocessor:feature_agglomeration"
    own = {"affinity": "euclidean", "linkage": "ward", "n_clusters": "20", "pooling_func": pooling}
    given = classifier("gaussian_nb") | {"feature_preprocessor:__choice__": "feature_agglomeration"}
    said = translate_configuration(given | {f"{name}:{key}": value for key, value in own.items()}, 8)
    assert (said["preprocessor"], said["preprocessor.pooling_func"]) == ("FeatureAgglomeration", pooling)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (classifier("mlp"), "the space has no equivalent of `mlp`"),
        (classifier("qda", reg_param="0.1"), "the space has no equivalent of `qda`"),
        (classifier("adaboost", algorithm="SAMME.R"), "the space has no equivalent of `algorithm` SAMME.R"),
        (classifier("gaussian_nb", new="1"), "`gaussian_nb` has no parameter `new` in the space"),
        (
            classifier("gaussian_nb") | {"balancing:strategy": "weighting"},
            "`gaussian_nb` has no class weights in the space",
        ),
        ({"classifier:__choice__": "gaussian_nb"}, "`strategy` is missing"),
    ],
)
def test_what_cannot_be_said_is_left_out_with_the_reason(given: dict[str, str], reason: str) -> None:
    with pytest.raises(UntranslatableError) as raised:
        translate_configuration(given, 8)
    assert str(raised.value) == reason


def write(folder: Path) -> None:
    head = "@RELATION r\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n"
    (folder / "feature_values.arff").write_text(
        f"{head}@ATTRIBUTE NumberOfFeatures NUMERIC\n@ATTRIBUTE KurtosisMax NUMERIC\n@DATA\none,1,4,?\ntwo,1,9,1.5\n"
    )
    (folder / "accuracy.algorithm_runs.arff").write_text(
        f"{head}@ATTRIBUTE algorithm STRING\n@ATTRIBUTE accuracy NUMERIC\n@ATTRIBUTE runstatus {{ok, crash}}\n"
        "@DATA\none,1,1,0.25,ok\ntwo,1,2,0.5,ok\ntwo,1,1,?,crash\nthree,1,1,0.1,ok\ntwo,1,3,0.1,ok\n"
    )
    known = [classifier("gaussian_nb"), classifier("mlp"), classifier("bernoulli_nb", alpha="much", fit_prior="True")]
    names = list(dict.fromkeys(name for each in known for name in each))
    lines = [",".join([str(number), *(each.get(name, "") for name in names)]) for number, each in enumerate(known, 1)]
    (folder / "accuracy.configurations.csv").write_text("\n".join([",".join(["idx", *names]), *lines]) + "\n")


def test_a_folder_is_read_and_what_gives_no_row_is_counted(tmp_path: Path) -> None:
    assert not is_auto_sklearn(tmp_path)
    write(tmp_path)
    assert is_auto_sklearn(tmp_path)
    found = read_auto_sklearn(tmp_path, MOSAIC)
    (row,) = found.rows
    assert (row.data, row.loss, row.metric, row.fingerprint) == ("one", 0.25, "1 - accuracy", "")
    assert dict(row.meta_features) == {"NumberOfFeatures": 4.0}
    assert row.configuration.to_dict() == SAID | {"estimator": "GaussianNB"}
    assert {*found.left_out} == {
        "1 run with the metric accuracy: the space has no equivalent of `mlp`",
        "1 run with the metric accuracy: the loss is unknown",
        "1 run with the metric accuracy: the data set or the configuration is missing",
        "1 run with the metric accuracy: a parameter is not a number",
    }


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("accuracy.configurations.csv", "number,classifier\n", "has no column `idx`"),
        (
            "accuracy.algorithm_runs.arff",
            "@RELATION r\n@ATTRIBUTE a NUMERIC\n@DATA\n1\n",
            "has no column `instance_id`",
        ),
        ("feature_values.arff", "nothing", "is not a declaration"),
    ],
)
def test_files_that_are_not_theirs_are_refused(tmp_path: Path, file: str, text: str, message: str) -> None:
    write(tmp_path)
    (tmp_path / file).write_text(text)
    with pytest.raises(DataError, match=message):
        read_auto_sklearn(tmp_path, MOSAIC)


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data is absent")
def test_of_their_own_archive_most_can_be_said() -> None:
    found = read_auto_sklearn(REAL, load("mosaic").checked)
    assert Counter(row.metric for row in found.rows) == {
        "1 - accuracy": 146,
        "1 - balanced_accuracy": 152,
        "1 - roc_auc": 94,
        "log_loss": 144,
    }
    assert sum(int(each.partition(" ")[0]) for each in found.left_out) == 4 * 205 - len(found.rows)
    reasons = [member_or_exclusion(MOSAIC, row.configuration) for row in found.rows]
    outside = [each for each in reasons if isinstance(each, ExclusionReason)]
    # All words are those of the space; some preprocessors are kept from what makes them fail, with so many columns.
    assert {each.key for each in outside} <= {"", "preprocessor.degree", "preprocessor.n_components"}
    assert len(outside) < len(reasons) / 4
