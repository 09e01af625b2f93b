"""Accepted values of the parameters of XGBoost, LightGBM and CatBoost, which these libraries do not declare.

The ranges come from the documentation of the libraries; tests try them on the libraries. A string must always be one of
a list. LightGBM joins its parameters into one line of text, so a string with a space could set further parameters,
including names of files. CatBoost reads further parameters from strings such as `Quantile:alpha=0.1`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from spacelang.catalog.catalogue import CatalogueEntry, Parameter, Role
from spacelang.catalog.policy import ANOTHER_NAME_OF, TAKES_CODE
from spacelang.catalog.rules import Interval, NumberKind, OfType, Options, Rule
from spacelang.ir.value import Value


@dataclass(frozen=True, slots=True)
class Supplement:
    """Information about a parameter that its signature lacks.

    `accepts` are the rules for values, `default` the meaning of the default `None`, and `refused` the reason why a
    space may not set the parameter. `None` is also accepted if it is the default in the signature.
    """

    accepts: tuple[Rule, ...] = ()
    default: Value = None
    refused: str | None = None


SIZES: Final = Interval(NumberKind.INTEGER, 1, math.inf, "left")
COUNTS: Final = Interval(NumberKind.INTEGER, 0, math.inf, "left")
INTEGERS: Final = Interval(NumberKind.INTEGER, -math.inf, math.inf, "neither")
AMOUNTS: Final = Interval(NumberKind.REAL, 0, math.inf, "left")
SHARES: Final = Interval(NumberKind.REAL, 0, 1, "right")
CHANCES: Final = Interval(NumberKind.REAL, 0, 1, "both")
PARTS: Final = Interval(NumberKind.REAL, 0, 1, "neither")
BINS: Final = Interval(NumberKind.INTEGER, 2, math.inf, "left")
POSITIVE: Final = Interval(NumberKind.REAL, 0, math.inf, "neither")
SEEDS: Final = Interval(NumberKind.INTEGER, 0, 2**32 - 1, "both")
SWITCH: Final = Options((True, False))

SET_BY_RUNTIME: Final = "the runtime sets it"
OF_DATA: Final = "it says something of each feature of one data set"
NO_VALIDATION_ROWS: Final = "it needs rows for validation, which a step of a pipeline is not given"
OF_MACHINE: Final = "it says something of one machine"
OPENS_FILES: Final = "it opens files"

_XGBOOST: Final[Mapping[str, Supplement]] = {
    "base_score": Supplement((Interval(NumberKind.REAL, -math.inf, math.inf, "neither"),)),
    "booster": Supplement((Options(("gbtree", "gblinear", "dart")),), "gbtree"),
    "callbacks": Supplement(refused=TAKES_CODE),
    "colsample_bylevel": Supplement((SHARES,), 1.0),
    "colsample_bynode": Supplement((SHARES,), 1.0),
    "colsample_bytree": Supplement((SHARES,), 1.0),
    "device": Supplement((Options(("cpu", "cuda", "gpu")),), "cpu"),
    "early_stopping_rounds": Supplement(refused=NO_VALIDATION_ROWS),
    "enable_categorical": Supplement((SWITCH,)),
    "eval_metric": Supplement(refused=NO_VALIDATION_ROWS),
    "feature_types": Supplement(refused=OF_DATA),
    "feature_weights": Supplement(refused=OF_DATA),
    "gamma": Supplement((AMOUNTS,), 0.0),
    "grow_policy": Supplement((Options(("depthwise", "lossguide")),), "depthwise"),
    "importance_type": Supplement((Options(("gain", "weight", "cover", "total_gain", "total_cover")),)),
    "interaction_constraints": Supplement((OfType(("tuple",)),)),
    "learning_rate": Supplement((AMOUNTS,), 0.3),
    "max_bin": Supplement((BINS,), 256),
    "max_cat_threshold": Supplement((SIZES,), 64),
    "max_cat_to_onehot": Supplement((SIZES,), 4),
    "max_delta_step": Supplement((AMOUNTS,), 0.0),
    "max_depth": Supplement((COUNTS,), 6),
    "max_leaves": Supplement((COUNTS,), 0),
    "min_child_weight": Supplement((AMOUNTS,), 1.0),
    "missing": Supplement((OfType(("nan", "number")),)),
    "monotone_constraints": Supplement((OfType(("tuple",)),)),
    "multi_strategy": Supplement((Options(("one_output_per_tree", "multi_output_tree")),), "one_output_per_tree"),
    "n_estimators": Supplement((SIZES,), 100),
    "num_parallel_tree": Supplement((SIZES,), 1),
    "random_state": Supplement((SEEDS, OfType(("RandomState",)))),
    "reg_alpha": Supplement((AMOUNTS,), 0.0),
    "reg_lambda": Supplement((AMOUNTS,), 1.0),
    "sampling_method": Supplement((Options(("uniform", "gradient_based")),), "uniform"),
    "scale_pos_weight": Supplement((AMOUNTS,), 1.0),
    "subsample": Supplement((SHARES,), 1.0),
    "tree_method": Supplement((Options(("auto", "exact", "approx", "hist")),), "auto"),
    "validate_parameters": Supplement((SWITCH,)),
    "verbosity": Supplement(refused=SET_BY_RUNTIME),
}

_LIGHTGBM: Final[Mapping[str, Supplement]] = {
    "boosting_type": Supplement((Options(("gbdt", "dart", "rf")),)),
    "class_weight": Supplement((Options(("balanced",)),)),
    "colsample_bytree": Supplement((SHARES,)),
    "importance_type": Supplement((Options(("split", "gain")),)),
    "learning_rate": Supplement((POSITIVE,)),
    "max_depth": Supplement((INTEGERS,)),
    "min_child_samples": Supplement((COUNTS,)),
    "min_child_weight": Supplement((AMOUNTS,)),
    "min_split_gain": Supplement((AMOUNTS,)),
    "n_estimators": Supplement((SIZES,)),
    "num_leaves": Supplement((Interval(NumberKind.INTEGER, 2, 131_072, "both"),)),
    "random_state": Supplement((SEEDS, OfType(("RandomState",)))),
    "reg_alpha": Supplement((AMOUNTS,)),
    "reg_lambda": Supplement((AMOUNTS,)),
    "subsample": Supplement((SHARES,)),
    "subsample_for_bin": Supplement((SIZES,)),
    "subsample_freq": Supplement((COUNTS,)),
}

_CATBOOST_OTHER_NAMES: Final[Mapping[str, str]] = {
    "colsample_bylevel": "rsm",
    "early_stopping_rounds": "od_wait",
    "eta": "learning_rate",
    "max_bin": "border_count",
    "max_depth": "depth",
    "min_child_samples": "min_data_in_leaf",
    "n_estimators": "iterations",
    "num_boost_round": "iterations",
    "num_leaves": "max_leaves",
    "num_trees": "iterations",
    "objective": "loss_function",
    "random_seed": "random_state",
    "reg_lambda": "l2_leaf_reg",
}
"""Other names of CatBoost's parameters, with the name to use. Fitting fails if two names of one parameter are set."""

_CATBOOST_OF_DATA: Final = (
    *("cat_features", "class_names", "class_weights", "classes_count", "combinations_ctr", "ctr_description"),
    *(
        "ctr_target_border_count",
        "dictionaries",
        "embedding_features",
        "feature_calcers",
        "feature_weights",
        "first_feature_use_penalties",
    ),
    *("fixed_binary_splits", "ignored_features", "per_feature_ctr", "per_float_feature_quantization"),
    *("per_object_feature_penalties", "simple_ctr", "target_border", "text_features", "text_processing", "tokenizers"),
)
_CATBOOST_OF_MACHINE: Final = (
    *("data_partition", "dev_efb_max_buckets", "dev_score_calc_obj_block_size", "device_config", "devices"),
    *("gpu_cat_features_storage", "gpu_ram_part", "pinned_memory_size", "used_ram_limit"),
)
_CATBOOST_FILES: Final = (
    *("input_borders", "metadata", "name", "output_borders", "save_snapshot", "snapshot_file", "snapshot_interval"),
    "train_dir",
)
_CATBOOST_BY_RUNTIME: Final = ("allow_writing_files", "logging_level", "metric_period", "silent", "thread_count")
_CATBOOST_JUDGED: Final = ("best_model_min_trees", "custom_loss", "custom_metric", "eval_metric", "use_best_model")

_CATBOOST: Final[Mapping[str, Supplement]] = {
    **{name: Supplement(refused=f"{ANOTHER_NAME_OF}`{own}`") for name, own in _CATBOOST_OTHER_NAMES.items()},
    **dict.fromkeys(_CATBOOST_OF_DATA, Supplement(refused=OF_DATA)),
    **dict.fromkeys(_CATBOOST_OF_MACHINE, Supplement(refused=OF_MACHINE)),
    **dict.fromkeys(_CATBOOST_FILES, Supplement(refused=OPENS_FILES)),
    **dict.fromkeys(_CATBOOST_BY_RUNTIME, Supplement(refused=SET_BY_RUNTIME)),
    **dict.fromkeys(_CATBOOST_JUDGED, Supplement(refused=NO_VALIDATION_ROWS)),
    "callback": Supplement(refused=TAKES_CODE),
    # The number of trees and the learning rate; the library chooses a default learning rate by the number of rows.
    "boosting_type": Supplement((Options(("Ordered", "Plain")),), "Plain"),
    "boost_from_average": Supplement((SWITCH,)),
    "iterations": Supplement((SIZES,), 1000),
    "l2_leaf_reg": Supplement((AMOUNTS,), 3.0),
    "leaf_estimation_backtracking": Supplement((Options(("No", "AnyImprovement")),), "AnyImprovement"),
    "leaf_estimation_iterations": Supplement((SIZES,)),
    "leaf_estimation_method": Supplement((Options(("Newton", "Gradient", "Exact", "Simple")),)),
    "learning_rate": Supplement((Interval(NumberKind.REAL, 1e-6, math.inf, "left"),)),
    "model_shrink_mode": Supplement((Options(("Constant", "Decreasing")),), "Constant"),
    "model_shrink_rate": Supplement((Interval(NumberKind.REAL, 0, 1, "left"),), 0.0),
    # Growth of trees.
    "depth": Supplement((Interval(NumberKind.INTEGER, 0, 16, "both"),), 6),
    "grow_policy": Supplement((Options(("SymmetricTree", "Depthwise", "Lossguide")),), "SymmetricTree"),
    "max_leaves": Supplement((SIZES,), 31),
    "min_data_in_leaf": Supplement((SIZES,), 1),
    "monotone_constraints": Supplement((OfType(("tuple",)),)),
    "penalties_coefficient": Supplement((AMOUNTS,), 1.0),
    "random_score_type": Supplement(
        (Options(("Gumbel", "NormalWithModelSizeDecrease")),), "NormalWithModelSizeDecrease"
    ),
    "random_strength": Supplement((AMOUNTS,), 1.0),
    "rsm": Supplement((SHARES,), 1.0),
    "score_function": Supplement((Options(("Cosine", "L2")),), "Cosine"),
    # Sampling of rows for each tree.
    "bagging_temperature": Supplement((AMOUNTS,), 1.0),
    "bootstrap_type": Supplement((Options(("Bayesian", "Bernoulli", "MVS", "No")),)),
    "mvs_reg": Supplement((AMOUNTS,)),
    "sampling_frequency": Supplement((Options(("PerTree", "PerTreeLevel")),), "PerTree"),
    "sampling_unit": Supplement((Options(("Object",)),), "Object"),
    "subsample": Supplement((SHARES,)),
    # Histograms and data.
    "allow_const_label": Supplement((SWITCH,), False),
    "border_count": Supplement((Interval(NumberKind.INTEGER, 1, 65_535, "both"),), 254),
    "feature_border_type": Supplement(
        (Options(("Median", "Uniform", "UniformAndQuantiles", "MaxLogSum", "MinEntropy", "GreedyLogSum")),),
        "GreedyLogSum",
    ),
    "has_time": Supplement((SWITCH,), False),
    "nan_mode": Supplement((Options(("Forbidden", "Min", "Max")),), "Min"),
    "sparse_features_conflict_fraction": Supplement((Interval(NumberKind.REAL, 0, 1, "left"),), 0.0),
    # Categorical features, which a pipeline encodes in an earlier step.
    "counter_calc_method": Supplement((Options(("Full", "SkipTest")),)),
    "ctr_history_unit": Supplement((Options(("Sample",)),)),
    "ctr_leaf_count_limit": Supplement((SIZES,)),
    "final_ctr_computation_mode": Supplement((Options(("Default",)),), "Default"),
    "max_ctr_complexity": Supplement((Interval(NumberKind.INTEGER, 0, 15, "both"),)),
    "model_size_reg": Supplement((AMOUNTS,), 0.5),
    "one_hot_max_size": Supplement((Interval(NumberKind.INTEGER, 0, 65_535, "both"),)),
    "store_all_simple_ctr": Supplement((SWITCH,)),
    # Permutations of the rows, and ordered boosting.
    "approx_on_full_history": Supplement((SWITCH,)),
    "fold_len_multiplier": Supplement((Interval(NumberKind.REAL, 1, math.inf, "neither"),), 2.0),
    "fold_permutation_block": Supplement((COUNTS,)),
    # Early stopping on a fraction of the rows that is held out.
    "eval_fraction": Supplement((Interval(NumberKind.REAL, 0, 1, "left"),), 0.0),
    "od_pval": Supplement((CHANCES,), 0.0),
    "od_type": Supplement((Options(("IncToDec", "Iter")),), "IncToDec"),
    "od_wait": Supplement((SIZES,), 20),
    # Langevin boosting.
    "diffusion_temperature": Supplement((AMOUNTS,), 10_000.0),
    "langevin": Supplement((SWITCH,), False),
    "posterior_sampling": Supplement((SWITCH,), False),
    # Class weights.
    "auto_class_weights": Supplement((Options(("Balanced", "SqrtBalanced")),)),
    "scale_pos_weight": Supplement((AMOUNTS,), 1.0),
    # General.
    "random_state": Supplement((SEEDS,)),
    "task_type": Supplement((Options(("CPU", "GPU")),), "CPU"),
}

SUPPLEMENTS: Final[Mapping[str, Mapping[str, Supplement]]] = {
    "xgboost": _XGBOOST,
    "lightgbm": _LIGHTGBM,
    "catboost": _CATBOOST,
}
"""The supplements by catalogue and parameter."""

_XGBOOST_HANDED_ON: Final[Mapping[str, Supplement]] = {
    # For the booster `dart`.
    "normalize_type": Supplement((Options(("tree", "forest")),), "tree"),
    "one_drop": Supplement((SWITCH,), False),
    "rate_drop": Supplement((CHANCES,), 0.0),
    "sample_type": Supplement((Options(("uniform", "weighted")),), "uniform"),
    "skip_drop": Supplement((CHANCES,), 0.0),
    # For the booster `gblinear`.
    "feature_selector": Supplement((Options(("cyclic", "shuffle", "random", "greedy", "thrifty")),), "cyclic"),
    "top_k": Supplement((COUNTS,), 0),
    "updater": Supplement((Options(("shotgun", "coord_descent")),), "shotgun"),
    # For single objectives.
    "huber_slope": Supplement((Interval(NumberKind.REAL, -math.inf, math.inf, "neither"),), 1.0),
    "tweedie_variance_power": Supplement((Interval(NumberKind.REAL, 1, 2, "neither"),), 1.5),
    # For all boosters.
    "seed_per_iteration": Supplement((SWITCH,), False),
}

_LIGHTGBM_HANDED_ON: Final[Mapping[str, Supplement]] = {
    # Growth of trees.
    "cat_l2": Supplement((AMOUNTS,), 10.0),
    "cat_smooth": Supplement((AMOUNTS,), 10.0),
    "cegb_penalty_split": Supplement((AMOUNTS,), 0.0),
    "cegb_tradeoff": Supplement((AMOUNTS,), 1.0),
    "extra_trees": Supplement((SWITCH,), False),
    "feature_fraction_bynode": Supplement((SHARES,), 1.0),
    "linear_lambda": Supplement((AMOUNTS,), 0.0),
    "linear_tree": Supplement((SWITCH,), False),
    "max_cat_threshold": Supplement((SIZES,), 32),
    "max_cat_to_onehot": Supplement((SIZES,), 4),
    "max_delta_step": Supplement((Interval(NumberKind.REAL, -math.inf, math.inf, "neither"),), 0.0),
    "min_data_per_group": Supplement((SIZES,), 100),
    "path_smooth": Supplement((AMOUNTS,), 0.0),
    # Sampling of rows for each tree.
    "data_sample_strategy": Supplement((Options(("bagging", "goss")),), "bagging"),
    "neg_bagging_fraction": Supplement((SHARES,), 1.0),
    "other_rate": Supplement((PARTS,), 0.1),
    "pos_bagging_fraction": Supplement((SHARES,), 1.0),
    "top_rate": Supplement((PARTS,), 0.2),
    # For the booster `dart`.
    "drop_rate": Supplement((CHANCES,), 0.1),
    "max_drop": Supplement((INTEGERS,), 50),
    "skip_drop": Supplement((CHANCES,), 0.5),
    "uniform_drop": Supplement((SWITCH,), False),
    "xgboost_dart_mode": Supplement((SWITCH,), False),
    # Histograms.
    "enable_bundle": Supplement((SWITCH,), True),
    "feature_pre_filter": Supplement((SWITCH,), True),
    "is_enable_sparse": Supplement((SWITCH,), True),
    "max_bin": Supplement((BINS,), 255),
    "min_data_in_bin": Supplement((SIZES,), 3),
    "num_grad_quant_bins": Supplement((BINS,), 4),
    "quant_train_renew_leaf": Supplement((SWITCH,), False),
    "stochastic_rounding": Supplement((SWITCH,), True),
    "use_missing": Supplement((SWITCH,), True),
    "use_quantized_grad": Supplement((SWITCH,), False),
    "zero_as_missing": Supplement((SWITCH,), False),
    # For single objectives.
    "alpha": Supplement((POSITIVE,), 0.9),
    "boost_from_average": Supplement((SWITCH,), True),
    "fair_c": Supplement((POSITIVE,), 1.0),
    "is_unbalance": Supplement((SWITCH,), False),
    "poisson_max_delta_step": Supplement((POSITIVE,), 0.7),
    "reg_sqrt": Supplement((SWITCH,), False),
    "scale_pos_weight": Supplement((POSITIVE,), 1.0),
    "sigmoid": Supplement((POSITIVE,), 1.0),
    "tweedie_variance_power": Supplement((Interval(NumberKind.REAL, 1, 2, "left"),), 1.5),
    # For all boosters.
    "deterministic": Supplement((SWITCH,), False),
}

HANDED_ON: Final[Mapping[str, Mapping[str, Supplement]]] = {
    "xgboost": _XGBOOST_HANDED_ON,
    "lightgbm": _LIGHTGBM_HANDED_ON,
    "catboost": {},
}
"""Parameters that constructors take in `**kwargs` and forward to the library, by catalogue, with the library's default.

Not listed are aliases of named parameters, and parameters that open files, talk to other machines, describe single
features of one data set, or set a part of the random seed.
"""

_XGBOOST_CLASSES: Final = ("binary:logistic", "binary:logitraw", "binary:hinge", "multi:softmax", "multi:softprob")
_XGBOOST_NUMBERS: Final = (
    "reg:squarederror",
    "reg:squaredlogerror",
    "reg:logistic",
    "reg:pseudohubererror",
    "reg:absoluteerror",
    "count:poisson",
    "reg:gamma",
    "reg:tweedie",
)
_LIGHTGBM_NUMBERS: Final = (
    "regression",
    "regression_l1",
    "huber",
    "fair",
    "poisson",
    "quantile",
    "mape",
    "gamma",
    "tweedie",
)

_CATBOOST_CLASSES: Final = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
_CATBOOST_NUMBERS: Final = ("RMSE", "MAE", "Quantile", "LogLinQuantile", "MAPE", "Poisson", "LogCosh")

OBJECTIVES: Final[Mapping[tuple[str, Role], tuple[str, ...]]] = {
    ("xgboost", Role.CLASSIFIER): _XGBOOST_CLASSES,
    ("xgboost", Role.REGRESSOR): _XGBOOST_NUMBERS,
    ("lightgbm", Role.CLASSIFIER): ("binary", "multiclass", "multiclassova", "cross_entropy"),
    ("lightgbm", Role.REGRESSOR): _LIGHTGBM_NUMBERS,
    ("catboost", Role.CLASSIFIER): _CATBOOST_CLASSES,
    ("catboost", Role.REGRESSOR): _CATBOOST_NUMBERS,
}
"""The names of the objectives, by catalogue and role."""

OBJECTIVE: Final[Mapping[str, str]] = {"xgboost": "objective", "lightgbm": "objective", "catboost": "loss_function"}
"""The parameter that takes the name of an objective, by catalogue."""


def supplemented(operator: CatalogueEntry) -> CatalogueEntry:
    """Return the operator with the supplements for its parameters and the parameters that it forwards."""
    if operator.catalogue not in SUPPLEMENTS:
        return operator
    parameters = {name: _supplemented(operator, parameter) for name, parameter in operator.parameters.items()}
    for name, known in HANDED_ON[operator.catalogue].items():
        parameters.setdefault(name, Parameter(name, known.default, known.accepts))
    return replace(operator, parameters=parameters)


def _supplemented(operator: CatalogueEntry, parameter: Parameter) -> Parameter:
    known = SUPPLEMENTS[operator.catalogue].get(parameter.name)
    if parameter.name == OBJECTIVE[operator.catalogue]:
        known = _objective(operator)
    if known is None:
        # A parameter of an unknown version: numbers and booleans can be set, strings (with any meaning) cannot.
        literals: tuple[Rule, ...] = (OfType(("number", "tuple")), SWITCH, Options((None,)))
        return parameter if parameter.refused else replace(parameter, accepts=literals)
    if known.refused is not None:
        return replace(parameter, accepts=(), refused=known.refused)
    none = (Options((None,)),) if parameter.default is None else ()
    default = known.default if parameter.default is None else parameter.default
    return replace(parameter, accepts=(*known.accepts, *none), default=default)


def _objective(operator: CatalogueEntry) -> Supplement:
    names = [name for role in sorted(operator.roles) for name in OBJECTIVES.get((operator.catalogue, role), ())]
    return Supplement((Options(tuple(names)),)) if names else Supplement(refused=TAKES_CODE)
