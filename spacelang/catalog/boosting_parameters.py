"""Accepted values of the parameters of XGBoost, LightGBM and CatBoost, which these libraries do not declare.

The ranges come from the documentation of the libraries; tests try them on the libraries. A string must always be one of
a list. LightGBM joins its parameters into one line of text, so a string with a space could set further parameters,
including names of files. CatBoost reads further parameters from strings such as `Quantile:alpha=0.1`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from spacelang.catalog.catalogue import CatalogueEntry, OperatorRole, Parameter
from spacelang.catalog.value_rules import (
    ANOTHER_NAME_OF,
    TAKES_CODE,
    AllowedValues,
    InstanceOf,
    Interval,
    NumberKind,
    Rule,
)
from spacelang.ir.value import Value


@dataclass(frozen=True, slots=True)
class ParameterSupplement:
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
POSITIVE_FRACTIONS: Final = Interval(NumberKind.REAL, 0, 1, "right")
PROBABILITIES: Final = Interval(NumberKind.REAL, 0, 1, "both")
OPEN_FRACTIONS: Final = Interval(NumberKind.REAL, 0, 1, "neither")
BINS: Final = Interval(NumberKind.INTEGER, 2, math.inf, "left")
POSITIVE: Final = Interval(NumberKind.REAL, 0, math.inf, "neither")
SEEDS: Final = Interval(NumberKind.INTEGER, 0, 2**32 - 1, "both")
SWITCH: Final = AllowedValues((True, False))
SET_BY_RUNTIME: Final = "spacelang sets this parameter"
OF_DATA: Final = "its value depends on the features of one data set"
NO_VALIDATION_ROWS: Final = "it needs validation rows, which a step of a pipeline does not receive"
OF_MACHINE: Final = "its value depends on the machine"
OPENS_FILES: Final = "it opens files"
_XGBOOST: Final[Mapping[str, ParameterSupplement]] = {
    **dict.fromkeys(
        ("colsample_bylevel", "colsample_bynode", "colsample_bytree", "subsample"),
        ParameterSupplement((POSITIVE_FRACTIONS,), 1.0),
    ),
    **dict.fromkeys(("gamma", "max_delta_step", "reg_alpha"), ParameterSupplement((AMOUNTS,), 0.0)),
    **dict.fromkeys(("min_child_weight", "reg_lambda", "scale_pos_weight"), ParameterSupplement((AMOUNTS,), 1.0)),
    **dict.fromkeys(("enable_categorical", "validate_parameters"), ParameterSupplement((SWITCH,))),
    **dict.fromkeys(
        ("interaction_constraints", "monotone_constraints"), ParameterSupplement((InstanceOf(("tuple",)),))
    ),
    **dict.fromkeys(("early_stopping_rounds", "eval_metric"), ParameterSupplement(refused=NO_VALIDATION_ROWS)),
    **dict.fromkeys(("feature_types", "feature_weights"), ParameterSupplement(refused=OF_DATA)),
    "base_score": ParameterSupplement((Interval(NumberKind.REAL, -math.inf, math.inf, "neither"),)),
    "booster": ParameterSupplement((AllowedValues(("gbtree", "gblinear", "dart")),), "gbtree"),
    "callbacks": ParameterSupplement(refused=TAKES_CODE),
    "device": ParameterSupplement((AllowedValues(("cpu", "cuda", "gpu")),), "cpu"),
    "grow_policy": ParameterSupplement((AllowedValues(("depthwise", "lossguide")),), "depthwise"),
    "importance_type": ParameterSupplement((AllowedValues(("gain", "weight", "cover", "total_gain", "total_cover")),)),
    "learning_rate": ParameterSupplement((AMOUNTS,), 0.3),
    "max_bin": ParameterSupplement((BINS,), 256),
    "max_cat_threshold": ParameterSupplement((SIZES,), 64),
    "max_cat_to_onehot": ParameterSupplement((SIZES,), 4),
    "max_depth": ParameterSupplement((COUNTS,), 6),
    "max_leaves": ParameterSupplement((COUNTS,), 0),
    "missing": ParameterSupplement((InstanceOf(("nan", "number")),)),
    "multi_strategy": ParameterSupplement(
        (AllowedValues(("one_output_per_tree", "multi_output_tree")),), "one_output_per_tree"
    ),
    "n_estimators": ParameterSupplement((SIZES,), 100),
    "num_parallel_tree": ParameterSupplement((SIZES,), 1),
    "random_state": ParameterSupplement((SEEDS, InstanceOf(("RandomState",)))),
    "sampling_method": ParameterSupplement((AllowedValues(("uniform", "gradient_based")),), "uniform"),
    "tree_method": ParameterSupplement((AllowedValues(("auto", "exact", "approx", "hist")),), "auto"),
    "verbosity": ParameterSupplement(refused=SET_BY_RUNTIME),
}
_LIGHTGBM: Final[Mapping[str, ParameterSupplement]] = {
    **dict.fromkeys(("min_child_weight", "min_split_gain", "reg_alpha", "reg_lambda"), ParameterSupplement((AMOUNTS,))),
    **dict.fromkeys(("colsample_bytree", "subsample"), ParameterSupplement((POSITIVE_FRACTIONS,))),
    **dict.fromkeys(("min_child_samples", "subsample_freq"), ParameterSupplement((COUNTS,))),
    **dict.fromkeys(("n_estimators", "subsample_for_bin"), ParameterSupplement((SIZES,))),
    "boosting_type": ParameterSupplement((AllowedValues(("gbdt", "dart", "rf")),)),
    "class_weight": ParameterSupplement((AllowedValues(("balanced",)),)),
    "importance_type": ParameterSupplement((AllowedValues(("split", "gain")),)),
    "learning_rate": ParameterSupplement((POSITIVE,)),
    "max_depth": ParameterSupplement((INTEGERS,)),
    "num_leaves": ParameterSupplement((Interval(NumberKind.INTEGER, 2, 131_072, "both"),)),
    "random_state": ParameterSupplement((SEEDS, InstanceOf(("RandomState",)))),
}
_CATBOOST_OTHER_NAMES: Final[Mapping[str, str]] = {
    "colsample_bylevel": "rsm", "early_stopping_rounds": "od_wait", "eta": "learning_rate", "max_bin": "border_count",
    "max_depth": "depth", "min_child_samples": "min_data_in_leaf", "n_estimators": "iterations",
    "num_boost_round": "iterations", "num_leaves": "max_leaves", "num_trees": "iterations",
    "objective": "loss_function", "random_seed": "random_state", "reg_lambda": "l2_leaf_reg",
}  # fmt: skip
"""Other names of CatBoost's parameters, with the name to use. Fitting fails if two names of one parameter are set."""
_CATBOOST_OF_DATA: Final = (
    "cat_features", "class_names", "class_weights", "classes_count", "combinations_ctr", "ctr_description",
    "ctr_target_border_count", "dictionaries", "embedding_features", "feature_calcers", "feature_weights",
    "first_feature_use_penalties", "fixed_binary_splits", "ignored_features", "per_feature_ctr",
    "per_float_feature_quantization", "per_object_feature_penalties", "simple_ctr", "target_border", "text_features",
    "text_processing", "tokenizers",
)  # fmt: skip
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
_CATBOOST: Final[Mapping[str, ParameterSupplement]] = {
    **{name: ParameterSupplement(refused=f"{ANOTHER_NAME_OF}`{own}`") for name, own in _CATBOOST_OTHER_NAMES.items()},
    **dict.fromkeys(_CATBOOST_OF_DATA, ParameterSupplement(refused=OF_DATA)),
    **dict.fromkeys(_CATBOOST_OF_MACHINE, ParameterSupplement(refused=OF_MACHINE)),
    **dict.fromkeys(_CATBOOST_FILES, ParameterSupplement(refused=OPENS_FILES)),
    **dict.fromkeys(_CATBOOST_BY_RUNTIME, ParameterSupplement(refused=SET_BY_RUNTIME)),
    **dict.fromkeys(_CATBOOST_JUDGED, ParameterSupplement(refused=NO_VALIDATION_ROWS)),
    "callback": ParameterSupplement(refused=TAKES_CODE),
    # The number of trees and the learning rate; the library chooses a default learning rate by the number of rows.
    "boosting_type": ParameterSupplement((AllowedValues(("Ordered", "Plain")),), "Plain"),
    "boost_from_average": ParameterSupplement((SWITCH,)),
    "iterations": ParameterSupplement((SIZES,), 1000),
    "l2_leaf_reg": ParameterSupplement((AMOUNTS,), 3.0),
    "leaf_estimation_backtracking": ParameterSupplement((AllowedValues(("No", "AnyImprovement")),), "AnyImprovement"),
    "leaf_estimation_iterations": ParameterSupplement((SIZES,)),
    "leaf_estimation_method": ParameterSupplement((AllowedValues(("Newton", "Gradient", "Exact", "Simple")),)),
    "learning_rate": ParameterSupplement((Interval(NumberKind.REAL, 1e-6, math.inf, "left"),)),
    "model_shrink_mode": ParameterSupplement((AllowedValues(("Constant", "Decreasing")),), "Constant"),
    "model_shrink_rate": ParameterSupplement((Interval(NumberKind.REAL, 0, 1, "left"),), 0.0),
    # Growth of trees.
    "depth": ParameterSupplement((Interval(NumberKind.INTEGER, 0, 16, "both"),), 6),
    "grow_policy": ParameterSupplement((AllowedValues(("SymmetricTree", "Depthwise", "Lossguide")),), "SymmetricTree"),
    "max_leaves": ParameterSupplement((SIZES,), 31),
    "min_data_in_leaf": ParameterSupplement((SIZES,), 1),
    "monotone_constraints": ParameterSupplement((InstanceOf(("tuple",)),)),
    "penalties_coefficient": ParameterSupplement((AMOUNTS,), 1.0),
    "random_score_type": ParameterSupplement(
        (AllowedValues(("Gumbel", "NormalWithModelSizeDecrease")),), "NormalWithModelSizeDecrease"
    ),
    "random_strength": ParameterSupplement((AMOUNTS,), 1.0),
    "rsm": ParameterSupplement((POSITIVE_FRACTIONS,), 1.0),
    "score_function": ParameterSupplement((AllowedValues(("Cosine", "L2")),), "Cosine"),
    # Sampling of rows for each tree.
    "bagging_temperature": ParameterSupplement((AMOUNTS,), 1.0),
    "bootstrap_type": ParameterSupplement((AllowedValues(("Bayesian", "Bernoulli", "MVS", "No")),)),
    "mvs_reg": ParameterSupplement((AMOUNTS,)),
    "sampling_frequency": ParameterSupplement((AllowedValues(("PerTree", "PerTreeLevel")),), "PerTree"),
    "sampling_unit": ParameterSupplement((AllowedValues(("Object",)),), "Object"),
    "subsample": ParameterSupplement((POSITIVE_FRACTIONS,)),
    # Histograms and data.
    "allow_const_label": ParameterSupplement((SWITCH,), False),
    "border_count": ParameterSupplement((Interval(NumberKind.INTEGER, 1, 65_535, "both"),), 254),
    "feature_border_type": ParameterSupplement(
        (AllowedValues(("Median", "Uniform", "UniformAndQuantiles", "MaxLogSum", "MinEntropy", "GreedyLogSum")),),
        "GreedyLogSum",
    ),
    "has_time": ParameterSupplement((SWITCH,), False),
    "nan_mode": ParameterSupplement((AllowedValues(("Forbidden", "Min", "Max")),), "Min"),
    "sparse_features_conflict_fraction": ParameterSupplement((Interval(NumberKind.REAL, 0, 1, "left"),), 0.0),
    # Categorical features, which a pipeline encodes in an earlier step.
    "counter_calc_method": ParameterSupplement((AllowedValues(("Full", "SkipTest")),)),
    "ctr_history_unit": ParameterSupplement((AllowedValues(("Sample",)),)),
    "ctr_leaf_count_limit": ParameterSupplement((SIZES,)),
    "final_ctr_computation_mode": ParameterSupplement((AllowedValues(("Default",)),), "Default"),
    "max_ctr_complexity": ParameterSupplement((Interval(NumberKind.INTEGER, 0, 15, "both"),)),
    "model_size_reg": ParameterSupplement((AMOUNTS,), 0.5),
    "one_hot_max_size": ParameterSupplement((Interval(NumberKind.INTEGER, 0, 65_535, "both"),)),
    "store_all_simple_ctr": ParameterSupplement((SWITCH,)),
    # Permutations of the rows, and ordered boosting.
    "approx_on_full_history": ParameterSupplement((SWITCH,)),
    "fold_len_multiplier": ParameterSupplement((Interval(NumberKind.REAL, 1, math.inf, "neither"),), 2.0),
    "fold_permutation_block": ParameterSupplement((COUNTS,)),
    # Early stopping on a fraction of the rows that is held out.
    "eval_fraction": ParameterSupplement((Interval(NumberKind.REAL, 0, 1, "left"),), 0.0),
    "od_pval": ParameterSupplement((PROBABILITIES,), 0.0),
    "od_type": ParameterSupplement((AllowedValues(("IncToDec", "Iter")),), "IncToDec"),
    "od_wait": ParameterSupplement((SIZES,), 20),
    # Langevin boosting.
    "diffusion_temperature": ParameterSupplement((AMOUNTS,), 10_000.0),
    "langevin": ParameterSupplement((SWITCH,), False),
    "posterior_sampling": ParameterSupplement((SWITCH,), False),
    # Class weights.
    "auto_class_weights": ParameterSupplement((AllowedValues(("Balanced", "SqrtBalanced")),)),
    "scale_pos_weight": ParameterSupplement((AMOUNTS,), 1.0),
    # General.
    "random_state": ParameterSupplement((SEEDS,)),
    "task_type": ParameterSupplement((AllowedValues(("CPU", "GPU")),), "CPU"),
}
SUPPLEMENTS: Final[Mapping[str, Mapping[str, ParameterSupplement]]] = {
    "xgboost": _XGBOOST, "lightgbm": _LIGHTGBM, "catboost": _CATBOOST,
}  # fmt: skip
"""The supplements by catalogue and parameter."""
_XGBOOST_FORWARDED: Final[Mapping[str, ParameterSupplement]] = {
    # For the booster `dart`.
    "normalize_type": ParameterSupplement((AllowedValues(("tree", "forest")),), "tree"),
    "one_drop": ParameterSupplement((SWITCH,), False),
    "rate_drop": ParameterSupplement((PROBABILITIES,), 0.0),
    "sample_type": ParameterSupplement((AllowedValues(("uniform", "weighted")),), "uniform"),
    "skip_drop": ParameterSupplement((PROBABILITIES,), 0.0),
    # For the booster `gblinear`.
    "feature_selector": ParameterSupplement(
        (AllowedValues(("cyclic", "shuffle", "random", "greedy", "thrifty")),), "cyclic"
    ),
    "top_k": ParameterSupplement((COUNTS,), 0),
    "updater": ParameterSupplement((AllowedValues(("shotgun", "coord_descent")),), "shotgun"),
    # For single objectives.
    "huber_slope": ParameterSupplement((Interval(NumberKind.REAL, -math.inf, math.inf, "neither"),), 1.0),
    "tweedie_variance_power": ParameterSupplement((Interval(NumberKind.REAL, 1, 2, "neither"),), 1.5),
    # For all boosters.
    "seed_per_iteration": ParameterSupplement((SWITCH,), False),
}
_LIGHTGBM_FORWARDED: Final[Mapping[str, ParameterSupplement]] = {
    # Growth of trees.
    "cat_l2": ParameterSupplement((AMOUNTS,), 10.0),
    "cat_smooth": ParameterSupplement((AMOUNTS,), 10.0),
    "cegb_penalty_split": ParameterSupplement((AMOUNTS,), 0.0),
    "cegb_tradeoff": ParameterSupplement((AMOUNTS,), 1.0),
    "extra_trees": ParameterSupplement((SWITCH,), False),
    "feature_fraction_bynode": ParameterSupplement((POSITIVE_FRACTIONS,), 1.0),
    "linear_lambda": ParameterSupplement((AMOUNTS,), 0.0),
    "linear_tree": ParameterSupplement((SWITCH,), False),
    "max_cat_threshold": ParameterSupplement((SIZES,), 32),
    "max_cat_to_onehot": ParameterSupplement((SIZES,), 4),
    "max_delta_step": ParameterSupplement((Interval(NumberKind.REAL, -math.inf, math.inf, "neither"),), 0.0),
    "min_data_per_group": ParameterSupplement((SIZES,), 100),
    "path_smooth": ParameterSupplement((AMOUNTS,), 0.0),
    # Sampling of rows for each tree.
    "data_sample_strategy": ParameterSupplement((AllowedValues(("bagging", "goss")),), "bagging"),
    "neg_bagging_fraction": ParameterSupplement((POSITIVE_FRACTIONS,), 1.0),
    "other_rate": ParameterSupplement((OPEN_FRACTIONS,), 0.1),
    "pos_bagging_fraction": ParameterSupplement((POSITIVE_FRACTIONS,), 1.0),
    "top_rate": ParameterSupplement((OPEN_FRACTIONS,), 0.2),
    # For the booster `dart`.
    "drop_rate": ParameterSupplement((PROBABILITIES,), 0.1),
    "max_drop": ParameterSupplement((INTEGERS,), 50),
    "skip_drop": ParameterSupplement((PROBABILITIES,), 0.5),
    "uniform_drop": ParameterSupplement((SWITCH,), False),
    "xgboost_dart_mode": ParameterSupplement((SWITCH,), False),
    # Histograms.
    "enable_bundle": ParameterSupplement((SWITCH,), True),
    "feature_pre_filter": ParameterSupplement((SWITCH,), True),
    "is_enable_sparse": ParameterSupplement((SWITCH,), True),
    "max_bin": ParameterSupplement((BINS,), 255),
    "min_data_in_bin": ParameterSupplement((SIZES,), 3),
    "num_grad_quant_bins": ParameterSupplement((BINS,), 4),
    "quant_train_renew_leaf": ParameterSupplement((SWITCH,), False),
    "stochastic_rounding": ParameterSupplement((SWITCH,), True),
    "use_missing": ParameterSupplement((SWITCH,), True),
    "use_quantized_grad": ParameterSupplement((SWITCH,), False),
    "zero_as_missing": ParameterSupplement((SWITCH,), False),
    # For single objectives.
    "alpha": ParameterSupplement((POSITIVE,), 0.9),
    "boost_from_average": ParameterSupplement((SWITCH,), True),
    "fair_c": ParameterSupplement((POSITIVE,), 1.0),
    "is_unbalance": ParameterSupplement((SWITCH,), False),
    "poisson_max_delta_step": ParameterSupplement((POSITIVE,), 0.7),
    "reg_sqrt": ParameterSupplement((SWITCH,), False),
    "scale_pos_weight": ParameterSupplement((POSITIVE,), 1.0),
    "sigmoid": ParameterSupplement((POSITIVE,), 1.0),
    "tweedie_variance_power": ParameterSupplement((Interval(NumberKind.REAL, 1, 2, "left"),), 1.5),
    # For all boosters.
    "deterministic": ParameterSupplement((SWITCH,), False),
}
FORWARDED: Final[Mapping[str, Mapping[str, ParameterSupplement]]] = {
    "xgboost": _XGBOOST_FORWARDED, "lightgbm": _LIGHTGBM_FORWARDED, "catboost": {},
}  # fmt: skip
"""Parameters that constructors take in `**kwargs` and forward to the library, by catalogue, with the library's default.

Not listed are aliases of named parameters, and parameters that open files, talk to other machines, describe single
features of one data set, or set a part of the random seed.
"""
_XGBOOST_NUMBERS: Final = (
    "reg:squarederror", "reg:squaredlogerror", "reg:logistic", "reg:pseudohubererror", "reg:absoluteerror",
    "count:poisson", "reg:gamma", "reg:tweedie",
)  # fmt: skip
_LIGHTGBM_NUMBERS: Final = (
    "regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma", "tweedie",
)  # fmt: skip
OBJECTIVES: Final[Mapping[tuple[str, OperatorRole], tuple[str, ...]]] = {
    ("xgboost", OperatorRole.CLASSIFIER): (
        *("binary:logistic", "binary:logitraw", "binary:hinge", "multi:softmax", "multi:softprob"),
    ),
    ("xgboost", OperatorRole.REGRESSOR): _XGBOOST_NUMBERS,
    ("lightgbm", OperatorRole.CLASSIFIER): ("binary", "multiclass", "multiclassova", "cross_entropy"),
    ("lightgbm", OperatorRole.REGRESSOR): _LIGHTGBM_NUMBERS,
    ("catboost", OperatorRole.CLASSIFIER): ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"),
    ("catboost", OperatorRole.REGRESSOR): ("RMSE", "MAE", "Quantile", "LogLinQuantile", "MAPE", "Poisson", "LogCosh"),
}
"""The names of the objectives, by catalogue and role."""
OBJECTIVE_PARAMETER: Final[Mapping[str, str]] = {
    "xgboost": "objective", "lightgbm": "objective", "catboost": "loss_function",
}  # fmt: skip
"""The parameter that takes the name of an objective, by catalogue."""


def supplement_parameters(operator: CatalogueEntry) -> CatalogueEntry:
    """Return an operator of a boosting library with accepted values for its parameters; any other one is unchanged.

    Parameters that the operator takes as `**kwargs` and forwards to the library are added.
    """
    if operator.catalogue not in SUPPLEMENTS:
        return operator
    parameters = {name: _supplement_parameter(operator, parameter) for name, parameter in operator.parameters.items()}
    for name, known in FORWARDED[operator.catalogue].items():
        parameters.setdefault(name, Parameter(name, known.default, known.accepts))
    return replace(operator, parameters=parameters)


def _supplement_parameter(operator: CatalogueEntry, parameter: Parameter) -> Parameter:
    known = SUPPLEMENTS[operator.catalogue].get(parameter.name)
    if parameter.name == OBJECTIVE_PARAMETER[operator.catalogue]:
        known = _objective(operator)
    if known is None:
        # A parameter of an unknown version: numbers and booleans can be set, strings (with any meaning) cannot.
        literals: tuple[Rule, ...] = (InstanceOf(("number", "tuple")), SWITCH, AllowedValues((None,)))
        return parameter if parameter.refused else replace(parameter, accepts=literals)
    if known.refused is not None:
        return replace(parameter, accepts=(), refused=known.refused)
    none = (AllowedValues((None,)),) if parameter.default is None else ()
    default = known.default if parameter.default is None else parameter.default
    return replace(parameter, accepts=(*known.accepts, *none), default=default)


def _objective(operator: CatalogueEntry) -> ParameterSupplement:
    names = [name for role in sorted(operator.roles) for name in OBJECTIVES.get((operator.catalogue, role), ())]
    return ParameterSupplement((AllowedValues(tuple(names)),)) if names else ParameterSupplement(refused=TAKES_CODE)
