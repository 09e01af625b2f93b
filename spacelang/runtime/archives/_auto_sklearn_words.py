"""Translate auto-sklearn configurations to configurations of the bundled space `mosaic`.

The tables below hold everything that the two name differently, in the order of the pipeline. `spaces/README.md` gives
the reasons for differences in the space. A configuration without an equivalent in the space cannot be translated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from spacelang.ir.value import Value

Given: TypeAlias = Mapping[str, str]
"""The active parameters of a configuration of auto-sklearn: names to values, both as text."""

Said: TypeAlias = dict[str, Value]

NUMERIC: Final = "data_preprocessor:feature_type:numerical_transformer"
CATEGORICAL: Final = "data_preprocessor:feature_type:categorical_transformer"
CHOICE: Final = "__choice__"


class CannotBeSaidError(ValueError):
    """A part of an auto-sklearn configuration that has no equivalent in the space."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The alternative of `mosaic` for a component of auto-sklearn, with a rule for each parameter.

    A rule takes the parameter's text and the number of columns, and returns our parameters. Parameters in `settled`
    have a fixed value or no effect in auto-sklearn, so they are dropped. `has_weights` is True if our estimator has a
    `class_weight`.
    """

    branch: str
    rules: Mapping[str, Callable[[str, float], Said]]
    settled: tuple[str, ...] = ()
    has_weights: bool = False


def in_our_words(given: Given, columns: float) -> Said:
    """Return the translated configuration. It is not checked whether it is a member of the space.

    `given` holds the active parameters as text. `columns` is the number of columns of the data set. Raises
    CannotBeSaidError, with the reason, if there is no equivalent.
    """
    said: Said = {"imputation": _need(given, f"{NUMERIC}:imputation:strategy")}
    said |= _component(given, f"{NUMERIC}:rescaling", "rescaling", RESCALINGS, columns)
    said |= _encoding(given)
    said |= _component(given, "feature_preprocessor", "preprocessor", PREPROCESSORS, columns)
    said |= _component(given, "classifier", "estimator", CLASSIFIERS, columns)
    if said.get("estimator.solver") == "lsqr":
        del said["estimator.tol"]  # this solver has no tolerance
    return said | _weights(given)


def _need(given: Given, key: str) -> str:
    if key not in given:
        raise CannotBeSaidError(f"`{key.rpartition(':')[2]}` is missing")
    return given[key]


def _component(given: Given, prefix: str, stage: str, known: Mapping[str, Translation], columns: float) -> Said:
    """Return the alternative of a stage with its parameters."""
    chosen = _need(given, f"{prefix}:{CHOICE}")
    if chosen not in known:
        raise CannotBeSaidError(f"the space has no equivalent of `{chosen}`")
    component = known[chosen]
    said: Said = {stage: component.branch}
    own = {key.removeprefix(f"{prefix}:{chosen}:"): text for key, text in given.items()}
    for name, text in own.items():
        if ":" in name or name in component.settled:
            continue  # a parameter of another component
        if name not in component.rules:
            raise CannotBeSaidError(f"`{chosen}` has no parameter `{name}` in the space")
        said |= {f"{stage}.{key}": value for key, value in component.rules[name](text, columns).items()}
    return said


def _encoding(given: Given) -> Said:
    encoders = {"one_hot_encoding": "OneHotEncoder", "no_encoding": "OrdinalEncoder"}
    chosen = _need(given, f"{CATEGORICAL}:categorical_encoding:{CHOICE}")
    if chosen not in encoders:
        raise CannotBeSaidError(f"the space has no equivalent of `{chosen}`")
    least = given.get(f"{CATEGORICAL}:category_coalescence:minority_coalescer:minimum_fraction")
    return {"encoding": encoders[chosen], "encoding.min_frequency": None if least is None else float(least)}


def _weights(given: Given) -> Said:
    """Return the class weights, which are a parameter of the estimator in `mosaic`."""
    is_weighted = given.get("balancing:strategy") == "weighting"
    name = given[f"classifier:{CHOICE}"]
    if CLASSIFIERS[name].has_weights:
        return {"estimator.class_weight": "balanced" if is_weighted else None}
    if is_weighted:
        raise CannotBeSaidError(f"`{name}` has no class weights in the space")
    return {}


# ---- rules


def _read(kind: Callable[[str], Value], key: str, text: str, columns: float) -> Said:  # noqa: ARG001 - rule signature
    return {key: kind(text)}


def _flag(text: str) -> bool:
    return text == "True"


def reals(*names: str, **renamed: str) -> dict[str, Callable[[str, float], Said]]:
    """Return rules for float parameters, with the same name or with a new one (`theirs="ours"`)."""
    return _alike(float, names, renamed)


def wholes(*names: str, **renamed: str) -> dict[str, Callable[[str, float], Said]]:
    """Return rules for integer parameters, with the same name or with a new one."""
    return _alike(lambda text: int(float(text)), names, renamed)


def flags(*names: str) -> dict[str, Callable[[str, float], Said]]:
    """Return rules for boolean parameters."""
    return _alike(_flag, names, {})


def words(*names: str) -> dict[str, Callable[[str, float], Said]]:
    """Return rules for parameters whose values have the same names in the space."""
    return _alike(str, names, {})


def _alike(
    kind: Callable[[str], Value], names: tuple[str, ...], renamed: Mapping[str, str]
) -> dict[str, Callable[[str, float], Said]]:
    return {
        theirs: partial(_read, kind, ours) for theirs, ours in {**{name: name for name in names}, **renamed}.items()
    }


def cases(name: str, said: Mapping[str, Said]) -> dict[str, Callable[[str, float], Said]]:
    """Return the rule for a parameter that maps each known text to parameters of ours.

    Any other text raises CannotBeSaidError.
    """

    def rule(text: str, columns: float) -> Said:  # noqa: ARG001 - rule signature
        if text not in said:
            raise CannotBeSaidError(f"the space has no equivalent of `{name}` {text}")
        return said[text]

    return {name: rule}


def named(name: str, **ours: str) -> dict[str, Callable[[str, float], Said]]:
    """Return the rule for a parameter whose values have other names in the space (`theirs="ours"`).

    Any other text raises CannotBeSaidError.
    """
    return cases(name, {theirs: {name: value} for theirs, value in ours.items()})


def _share(text: str, columns: float) -> Said:
    """Convert an exponent of the number of columns to the share of columns that it gives on that data set."""
    if columns < 1:
        raise CannotBeSaidError("the number of columns is unknown")
    return {"max_features": float(columns ** (float(text) - 1))}


def _depth(text: str, columns: float) -> Said:
    """Convert a multiple of the number of columns to a tree depth of at least 1."""
    return {"max_depth": max(1, round(float(text) * columns))}


def within(prefix: str, rules: Mapping[str, Callable[[str, float], Said]]) -> dict[str, Callable[[str, float], Said]]:
    """Return the rules for parameters of a nested operator: their results get the prefix."""

    def inside(rule: Callable[[str, float], Said]) -> Callable[[str, float], Said]:
        return lambda text, columns: {f"{prefix}.{key}": value for key, value in rule(text, columns).items()}

    return {name: inside(rule) for name, rule in rules.items()}


# ---- what stands for what

RESCALINGS: Final = {
    "none": Translation("none", {}),
    "minmax": Translation("MinMaxScaler", {}),
    "normalize": Translation("Normalizer", {}),
    "standardize": Translation("StandardScaler", {}),
    "quantile_transformer": Translation("QuantileTransformer", wholes("n_quantiles") | words("output_distribution")),
    "robust_scaler": Translation("RobustScaler", reals("q_min", "q_max")),
}

LEAVES: Final = wholes("min_samples_leaf", "min_samples_split")
TREES: Final = LEAVES | words("criterion") | flags("bootstrap") | {"max_features": _share}
ONE_TREE: Final = ("max_depth", "max_leaf_nodes", "min_impurity_decrease", "min_weight_fraction_leaf")
LINEAR: Final = ("dual", "fit_intercept", "intercept_scaling", "loss", "multi_class", "penalty")
KERNEL: Final = reals("gamma", "coef0") | wholes("degree") | words("kernel")

PREPROCESSORS: Final = {
    "no_preprocessing": Translation("none", {}),
    "extra_trees_preproc_for_classification": Translation(
        "extra_trees", within("estimator", TREES), (*ONE_TREE, "n_estimators")
    ),
    "liblinear_svc_preprocessor": Translation("linear_svc", within("estimator", reals("C", "tol")), LINEAR),
    "fast_ica": Translation(
        "FastICA",
        words("algorithm", "fun")
        | wholes("n_components")
        | cases("whiten", {"True": {"whiten": "unit-variance"}, "False": {"whiten": False}}),
    ),
    "feature_agglomeration": Translation(
        "FeatureAgglomeration",
        wholes("n_clusters")
        | words("linkage")
        | _alike(str, (), {"affinity": "metric"})
        | named("pooling_func", mean="mean", median="median", max="max"),
    ),
    "kernel_pca": Translation("KernelPCA", KERNEL | wholes("n_components")),
    "kitchen_sinks": Translation("RBFSampler", reals("gamma") | wholes("n_components")),
    "nystroem_sampler": Translation("Nystroem", KERNEL | wholes("n_components")),
    "pca": Translation("PCA", reals(keep_variance="n_components") | flags("whiten")),
    "polynomial": Translation("PolynomialFeatures", wholes("degree") | flags("include_bias", "interaction_only")),
    "random_trees_embedding": Translation(
        "RandomTreesEmbedding",
        wholes("n_estimators", "max_depth") | LEAVES,
        ("bootstrap", "max_leaf_nodes", "min_weight_fraction_leaf"),
    ),
    "select_percentile_classification": Translation(
        "SelectPercentile",
        reals("percentile")
        | named("score_func", chi2="chi2", f_classif="f_classif", mutual_info="mutual_info_classif"),
    ),
    "select_rates_classification": Translation(
        "GenericUnivariateSelect",
        reals(alpha="param") | words("mode") | named("score_func", chi2="chi2", f_classif="f_classif"),
    ),
}

CLASSIFIERS: Final = {
    "adaboost": Translation(
        "AdaBoostClassifier",
        reals("learning_rate")
        | wholes("n_estimators", max_depth="estimator.max_depth")
        | cases("algorithm", {"SAMME": {}}),
    ),
    "bernoulli_nb": Translation("BernoulliNB", reals("alpha") | flags("fit_prior")),
    "decision_tree": Translation(
        "DecisionTreeClassifier",
        LEAVES | words("criterion") | {"max_depth_factor": _depth},
        ("max_features", "max_leaf_nodes", "min_impurity_decrease", "min_weight_fraction_leaf"),
        has_weights=True,
    ),
    "extra_trees": Translation("ExtraTreesClassifier", TREES, ONE_TREE, has_weights=True),
    "gaussian_nb": Translation("GaussianNB", {}),
    "gradient_boosting": Translation(
        "HistGradientBoostingClassifier",
        reals("learning_rate", "l2_regularization", "validation_fraction")
        | wholes("max_leaf_nodes", "min_samples_leaf", "n_iter_no_change")
        | cases(
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
    "k_nearest_neighbors": Translation("KNeighborsClassifier", wholes("n_neighbors", "p") | words("weights")),
    "lda": Translation(
        "LinearDiscriminantAnalysis",
        reals("tol", shrinkage_factor="shrinkage")
        | cases(
            "shrinkage",
            {"None": {"solver": "svd"}, "manual": {"solver": "lsqr"}, "auto": {"solver": "lsqr", "shrinkage": "auto"}},
        ),
    ),
    "liblinear_svc": Translation("LinearSVC", reals("C", "tol"), LINEAR, has_weights=True),
    "libsvm_svc": Translation("SVC", KERNEL | reals("C", "tol") | flags("shrinking"), ("max_iter",), has_weights=True),
    "multinomial_nb": Translation("MultinomialNB", reals("alpha") | flags("fit_prior")),
    "passive_aggressive": Translation(
        "PassiveAggressive",
        reals("tol", C="eta0")
        | flags("average")
        | cases("loss", {"hinge": {"learning_rate": "pa1"}, "squared_hinge": {"learning_rate": "pa2"}}),
        ("fit_intercept",),
        has_weights=True,
    ),
    "random_forest": Translation("RandomForestClassifier", TREES, ONE_TREE, has_weights=True),
    "sgd": Translation(
        "SGD",
        reals("alpha", "l1_ratio", "eta0", "power_t", "tol")
        | words("penalty", "learning_rate")
        | flags("average")
        | named(
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
