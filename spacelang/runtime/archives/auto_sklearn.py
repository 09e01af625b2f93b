"""Read the meta-learning files of auto-sklearn 0.15 as rows for the bundled space `mosaic`.

A folder holds `feature_values.arff`. For each metric it holds `METRIC.algorithm_runs.arff`, with the number of the best
configuration on each data set, and `METRIC.configurations.csv`, with these configurations. Those that `mosaic` cannot
represent are left out and counted.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypeAlias

import pandas as pd

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.value import Value
from spacelang.runtime.archives.archive import ArchiveRow, SpaceIdentity, identify_space
from spacelang.runtime.data.arff import read_arff
from spacelang.runtime.data.table_files import read_text
from spacelang.runtime.errors import DataError
from spacelang.text import count_with_noun

META_FEATURES_FILE: Final = "feature_values.arff"
RUNS_FILE: Final = "{metric}.algorithm_runs.arff"
CONFIGURATIONS_FILE: Final = "{metric}.configurations.csv"
SPACE_NAME: Final = "mosaic"  # The bundled space to which the configurations are translated
FORMULAS: Final = {
    **{each: f"1 - {each}" for each in ("accuracy", "balanced_accuracy", "roc_auc")},
    "log_loss": "log_loss",
}
"""The formula of the loss for each metric of auto-sklearn."""
SourceParameters: TypeAlias = Mapping[str, str]
"""The active parameters of a configuration of auto-sklearn: names to values, both as text."""
TargetValues: TypeAlias = dict[str, Value]
Rule: TypeAlias = Callable[[str, float], TargetValues]
"""A function from a parameter's text and the number of columns to our parameters."""
Rules: TypeAlias = dict[str, Rule]
NUMERIC: Final = "data_preprocessor:feature_type:numerical_transformer"
CATEGORICAL: Final = "data_preprocessor:feature_type:categorical_transformer"
CHOICE: Final = "__choice__"


@dataclass(frozen=True, slots=True)
class TranslatedRows:
    """The rows of a folder, and one sentence with a count for each reason why others were left out."""

    rows: tuple[ArchiveRow, ...]
    left_out: tuple[str, ...]


def is_auto_sklearn(folder: Path) -> bool:
    """Return True if the folder has meta-learning files of auto-sklearn."""
    return (folder / META_FEATURES_FILE).is_file()


def read_auto_sklearn(folder: Path, space: Space) -> TranslatedRows:
    """Return the rows of all metrics in the folder; `space` is the bundled space `mosaic`.

    Some parameters of auto-sklearn are relative to the number of columns: exponents for shares of columns, and
    multiples for depths. They are converted with the number of columns of the row's own data set. Membership in the
    space is not checked here, as it depends on the data that is searched.

    Raises DataError for invalid files.
    """
    known = _meta_features(folder / META_FEATURES_FILE)
    rows: list[ArchiveRow] = []
    left_out: list[str] = []
    for metric in FORMULAS:
        if (folder / RUNS_FILE.format(metric=metric)).is_file():
            reasons: Counter[str] = Counter()
            rows += _rows(folder, metric, known, identify_space(space), reasons)
            for reason, count in reasons.most_common():
                left_out.append(f"{count_with_noun(count, 'run')} with the metric {metric}: {reason}")
    return TranslatedRows(tuple(rows), tuple(left_out))


def _rows(
    folder: Path, metric: str, known: Mapping[str, Mapping[str, float]], facts: SpaceIdentity, reasons: Counter[str]
) -> Iterator[ArchiveRow]:
    configurations = _configurations(folder / CONFIGURATIONS_FILE.format(metric=metric))
    for run in _table(folder / RUNS_FILE.format(metric=metric), "instance_id", "algorithm", metric, "runstatus"):
        data, number, loss = str(run["instance_id"]), str(run["algorithm"]), run[metric]
        if run["runstatus"] != "ok" or pd.isna(loss):
            reasons["the loss is unknown"] += 1
        elif data not in known or number not in configurations:
            reasons["the data set or the configuration is missing"] += 1
        else:
            try:
                values = translate_configuration(configurations[number], known[data].get("NumberOfFeatures", 0))
            except UntranslatableError as error:
                reasons[str(error)] += 1
                continue
            except (ValueError, OverflowError):
                reasons["a parameter is not a number"] += 1
                continue
            formula = FORMULAS[metric]
            yield ArchiveRow(data, facts, formula, float(loss), Configuration(values), meta_features=known[data])


def _meta_features(path: Path) -> dict[str, dict[str, float]]:
    found = {}
    for row in _table(path, "instance_id"):
        name = str(row.pop("instance_id"))
        row.pop("repetition", None)
        numbers = {key: value for key, value in row.items() if isinstance(value, int | float)}
        found[name] = {key: float(value) for key, value in numbers.items() if isfinite(value)}
    return found


def _table(path: Path, *needed: str) -> list[dict[str, Any]]:
    table = read_arff(read_text(path, str(path)), str(path))
    if not isinstance(table, pd.DataFrame):
        raise DataError(f"`{path}` has sparse rows, which auto-sklearn's files do not have")
    missing = next((name for name in needed if name not in table.columns), None)
    if missing is not None:
        raise DataError(f"`{path}` has no column `{missing}`", "use auto-sklearn's files unchanged")
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _configurations(path: Path) -> dict[str, dict[str, str]]:
    """Return the active parameters, as text, by the number of the configuration."""
    lines = csv.DictReader(read_text(path, str(path)).splitlines())
    if "idx" not in (lines.fieldnames or ()):
        raise DataError(f"`{path}` has no column `idx`", "use auto-sklearn's files unchanged")
    return {row["idx"]: {key: value for key, value in row.items() if key != "idx" and value} for row in lines}


class UntranslatableError(ValueError):
    """A part of an auto-sklearn configuration that has no equivalent in the space."""


@dataclass(frozen=True, slots=True)
class ComponentMapping:
    """The alternative of `mosaic` that stands for a component of auto-sklearn.

    `rules` translate its parameters, except those in `ignored`.
    """

    alternative: str
    rules: Mapping[str, Rule]
    ignored: tuple[str, ...] = ()
    has_weights: bool = False


def translate_configuration(given: SourceParameters, columns: float) -> TargetValues:
    """Return a configuration of auto-sklearn in terms of the space `mosaic`; it may not be a member of the space.

    `columns` is the number of columns of its data set. Raises UntranslatableError with the reason.
    """
    target_values: TargetValues = {"imputation": _required(given, f"{NUMERIC}:imputation:strategy")}
    target_values |= _component(given, f"{NUMERIC}:rescaling", "rescaling", RESCALINGS, columns)
    target_values |= _encoding(given)
    target_values |= _component(given, "feature_preprocessor", "preprocessor", PREPROCESSORS, columns)
    target_values |= _component(given, "classifier", "estimator", CLASSIFIERS, columns)
    if target_values.get("estimator.solver") == "lsqr":
        del target_values["estimator.tol"]  # this solver has no tolerance
    return target_values | _weights(given)


def _required(given: SourceParameters, key: str) -> str:
    if key not in given:
        raise UntranslatableError(f"`{key.rpartition(':')[2]}` is missing")
    return given[key]


def _component(
    given: SourceParameters, prefix: str, stage: str, known: Mapping[str, ComponentMapping], columns: float
) -> TargetValues:
    chosen = _required(given, f"{prefix}:{CHOICE}")
    if chosen not in known:
        raise UntranslatableError(f"the space has no equivalent of `{chosen}`")
    component = known[chosen]
    target_values: TargetValues = {stage: component.alternative}
    own = {key.removeprefix(f"{prefix}:{chosen}:"): text for key, text in given.items()}
    for name, text in own.items():
        if ":" in name or name in component.ignored:
            continue  # a parameter of another component
        if name not in component.rules:
            raise UntranslatableError(f"`{chosen}` has no parameter `{name}` in the space")
        target_values |= {f"{stage}.{key}": value for key, value in component.rules[name](text, columns).items()}
    return target_values


def _encoding(given: SourceParameters) -> TargetValues:
    encoders = {"one_hot_encoding": "OneHotEncoder", "no_encoding": "OrdinalEncoder"}
    chosen = _required(given, f"{CATEGORICAL}:categorical_encoding:{CHOICE}")
    if chosen not in encoders:
        raise UntranslatableError(f"the space has no equivalent of `{chosen}`")
    least = given.get(f"{CATEGORICAL}:category_coalescence:minority_coalescer:minimum_fraction")
    return {"encoding": encoders[chosen], "encoding.min_frequency": None if least is None else float(least)}


def _weights(given: SourceParameters) -> TargetValues:
    """Return the class weights of a configuration: a parameter of the estimator in the space `mosaic`.

    In auto-sklearn they are a setting of their own. Raise UntranslatableError if the estimator has no such parameter.
    """
    is_weighted = given.get("balancing:strategy") == "weighting"
    name = given[f"classifier:{CHOICE}"]
    if CLASSIFIERS[name].has_weights:
        return {"estimator.class_weight": "balanced" if is_weighted else None}
    if is_weighted:
        raise UntranslatableError(f"`{name}` has no class weights in the space")
    return {}


def _conversion_rules(convert: Callable[[str], Value], *names: str, **renamed: str) -> Rules:
    """Return rules that set parameters of the space to the texts of auto-sklearn's, converted by `convert`.

    `names` are parameters with the same name on both sides, `renamed` are the others (`theirs="ours"`).
    """

    def rule(ours: str) -> Rule:
        return lambda text, _: {ours: convert(text)}

    return {theirs: rule(ours) for theirs, ours in {**{name: name for name in names}, **renamed}.items()}


float_rules = partial(_conversion_rules, float)
integer_rules = partial(_conversion_rules, lambda text: int(float(text)))
boolean_rules = partial(_conversion_rules, "True".__eq__)
string_rules = partial(_conversion_rules, str)


def value_mapping_rule(name: str, values: Mapping[str, TargetValues]) -> Rules:
    """Return the rule for auto-sklearn's parameter `name`: it maps each text in `values` to values of the space.

    The rule raises UntranslatableError for any other text.
    """

    def rule(text: str, columns: float) -> TargetValues:  # noqa: ARG001 - rule signature
        if text not in values:
            raise UntranslatableError(f"the space has no equivalent of `{name}` {text}")
        return values[text]

    return {name: rule}


def renamed_values_rule(name: str, **ours: str) -> Rules:
    """Return the rule for a parameter with the same name in the space, but other values (`theirs="ours"`)."""
    return value_mapping_rule(name, {theirs: {name: value} for theirs, value in ours.items()})


def _max_features_from_exponent(text: str, columns: float) -> TargetValues:
    """Convert an exponent of the number of columns to the share of columns that it gives on that data set."""
    if columns < 1:
        raise UntranslatableError("the number of columns is unknown")
    return {"max_features": float(columns ** (float(text) - 1))}


def _max_depth_from_factor(text: str, columns: float) -> TargetValues:
    """Convert a multiple of the number of columns to a tree depth of at least 1."""
    return {"max_depth": max(1, round(float(text) * columns))}


def nested_rules(prefix: str, rules: Rules) -> Rules:
    """Return `rules` for parameters of a nested operator: `prefix` and a dot precede the keys of their results."""

    def inside(rule: Rule) -> Rule:
        return lambda text, columns: {f"{prefix}.{key}": value for key, value in rule(text, columns).items()}

    return {name: inside(rule) for name, rule in rules.items()}


RESCALINGS: Final = {
    "none": ComponentMapping("none", {}),
    "minmax": ComponentMapping("MinMaxScaler", {}),
    "normalize": ComponentMapping("Normalizer", {}),
    "standardize": ComponentMapping("StandardScaler", {}),
    "quantile_transformer": ComponentMapping(
        "QuantileTransformer", integer_rules("n_quantiles") | string_rules("output_distribution")
    ),
    "robust_scaler": ComponentMapping("RobustScaler", float_rules("q_min", "q_max")),
}
LEAVES: Final = integer_rules("min_samples_leaf", "min_samples_split")
TREES: Final = (
    LEAVES | string_rules("criterion") | boolean_rules("bootstrap") | {"max_features": _max_features_from_exponent}
)
ONE_TREE: Final = ("max_depth", "max_leaf_nodes", "min_impurity_decrease", "min_weight_fraction_leaf")
LINEAR: Final = ("dual", "fit_intercept", "intercept_scaling", "loss", "multi_class", "penalty")
KERNEL: Final = float_rules("gamma", "coef0") | integer_rules("degree") | string_rules("kernel")
PREPROCESSORS: Final = {
    "no_preprocessing": ComponentMapping("none", {}),
    "extra_trees_preproc_for_classification": ComponentMapping(
        "extra_trees", nested_rules("estimator", TREES), (*ONE_TREE, "n_estimators")
    ),
    "liblinear_svc_preprocessor": ComponentMapping(
        "linear_svc", nested_rules("estimator", float_rules("C", "tol")), LINEAR
    ),
    "fast_ica": ComponentMapping(
        "FastICA",
        string_rules("algorithm", "fun")
        | integer_rules("n_components")
        | value_mapping_rule("whiten", {"True": {"whiten": "unit-variance"}, "False": {"whiten": False}}),
    ),
    "feature_agglomeration": ComponentMapping(
        "FeatureAgglomeration",
        integer_rules("n_clusters")
        | string_rules("linkage", affinity="metric")
        | renamed_values_rule("pooling_func", mean="mean", median="median", max="max"),
    ),
    "kernel_pca": ComponentMapping("KernelPCA", KERNEL | integer_rules("n_components")),
    "kitchen_sinks": ComponentMapping("RBFSampler", float_rules("gamma") | integer_rules("n_components")),
    "nystroem_sampler": ComponentMapping("Nystroem", KERNEL | integer_rules("n_components")),
    "pca": ComponentMapping("PCA", float_rules(keep_variance="n_components") | boolean_rules("whiten")),
    "polynomial": ComponentMapping(
        "PolynomialFeatures", integer_rules("degree") | boolean_rules("include_bias", "interaction_only")
    ),
    "random_trees_embedding": ComponentMapping(
        "RandomTreesEmbedding",
        integer_rules("n_estimators", "max_depth") | LEAVES,
        ("bootstrap", "max_leaf_nodes", "min_weight_fraction_leaf"),
    ),
    "select_percentile_classification": ComponentMapping(
        "SelectPercentile",
        float_rules("percentile")
        | renamed_values_rule("score_func", chi2="chi2", f_classif="f_classif", mutual_info="mutual_info_classif"),
    ),
    "select_rates_classification": ComponentMapping(
        "GenericUnivariateSelect",
        float_rules(alpha="param")
        | string_rules("mode")
        | renamed_values_rule("score_func", chi2="chi2", f_classif="f_classif"),
    ),
}
CLASSIFIERS: Final = {
    "adaboost": ComponentMapping(
        "AdaBoostClassifier",
        float_rules("learning_rate")
        | integer_rules("n_estimators", max_depth="estimator.max_depth")
        | value_mapping_rule("algorithm", {"SAMME": {}}),
    ),
    "bernoulli_nb": ComponentMapping("BernoulliNB", float_rules("alpha") | boolean_rules("fit_prior")),
    "decision_tree": ComponentMapping(
        "DecisionTreeClassifier",
        LEAVES | string_rules("criterion") | {"max_depth_factor": _max_depth_from_factor},
        ("max_features", "max_leaf_nodes", "min_impurity_decrease", "min_weight_fraction_leaf"),
        has_weights=True,
    ),
    "extra_trees": ComponentMapping("ExtraTreesClassifier", TREES, ONE_TREE, has_weights=True),
    "gaussian_nb": ComponentMapping("GaussianNB", {}),
    "gradient_boosting": ComponentMapping(
        "HistGradientBoostingClassifier",
        float_rules("learning_rate", "l2_regularization", "validation_fraction")
        | integer_rules("max_leaf_nodes", "min_samples_leaf", "n_iter_no_change")
        | value_mapping_rule(
            "early_stop",
            {
                "off": {"early_stopping": False},
                "train": {"early_stopping": True, "validation_fraction": None},
                "valid": {"early_stopping": True},
            },
        ),
        ("loss", "max_bins", "max_depth", "scoring", "tol"),
        has_weights=True,
    ),
    "k_nearest_neighbors": ComponentMapping(
        "KNeighborsClassifier", integer_rules("n_neighbors", "p") | string_rules("weights")
    ),
    "lda": ComponentMapping(
        "LinearDiscriminantAnalysis",
        float_rules("tol", shrinkage_factor="shrinkage")
        | value_mapping_rule(
            "shrinkage",
            {"None": {"solver": "svd"}, "manual": {"solver": "lsqr"}, "auto": {"solver": "lsqr", "shrinkage": "auto"}},
        ),
    ),
    "liblinear_svc": ComponentMapping("LinearSVC", float_rules("C", "tol"), LINEAR, has_weights=True),
    "libsvm_svc": ComponentMapping(
        "SVC", KERNEL | float_rules("C", "tol") | boolean_rules("shrinking"), ("max_iter",), has_weights=True
    ),
    "multinomial_nb": ComponentMapping("MultinomialNB", float_rules("alpha") | boolean_rules("fit_prior")),
    "passive_aggressive": ComponentMapping(
        "PassiveAggressive",
        float_rules("tol", C="eta0")
        | boolean_rules("average")
        | value_mapping_rule("loss", {"hinge": {"learning_rate": "pa1"}, "squared_hinge": {"learning_rate": "pa2"}}),
        ("fit_intercept",),
        has_weights=True,
    ),
    "random_forest": ComponentMapping("RandomForestClassifier", TREES, ONE_TREE, has_weights=True),
    "sgd": ComponentMapping(
        "SGD",
        float_rules("alpha", "l1_ratio", "eta0", "power_t", "tol")
        | string_rules("penalty", "learning_rate")
        | boolean_rules("average")
        | renamed_values_rule(
            "loss",
            log="log_loss",
            hinge="hinge",
            modified_huber="modified_huber",
            squared_hinge="squared_hinge",
            perceptron="perceptron",
        ),
        ("epsilon", "fit_intercept"),
        has_weights=True,
    ),
}
"""`mlp` is missing, as the space does not have it, and `qda`, as auto-sklearn regularizes it differently."""
