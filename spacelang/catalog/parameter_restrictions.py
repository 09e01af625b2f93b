"""Parameters and values that a space may not set, so that none runs code or opens a file, and objects it may name."""

from collections.abc import Mapping
from math import inf
from typing import Final

from spacelang.catalog.rules import AllowedValues, Interval, NumberKind, Rule

REFUSED_PARAMETERS: Final[Mapping[str, str]] = {
    "memory": "it names a cache folder, whose pickles would be executed",
    "pre_dispatch": "its value is evaluated as code",
    "n_jobs": "spacelang sets this parameter",
    "verbose": "spacelang sets this parameter",
}
"""Parameters that a space may not set for any operator, with the reason."""
TAKES_CODE: Final = "it takes code"
ANOTHER_NAME_OF: Final = "it is another name of "
REFUSED_VALUES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "input": (
        ("file", "with this value, the operator reads from open files"),
        ("filename", "with this value, the operator opens files"),
    )
}
"""Values that a space may not use, by parameter, each with the reason."""
RULE_OVERRIDES: Final[Mapping[str, tuple[Rule, ...]]] = {
    # The library evaluates any string here as a dotted path of attributes.
    "importance_getter": (AllowedValues(("auto", "coef_", "feature_importances_")),),
    # The library uses any string here as a format, which can access attributes of objects.
    "verbose_feature_names_out": (AllowedValues((True, False)),),
}
"""Rules that are stricter than those of the library, by parameter."""
_COUNTS: Final = (Interval(NumberKind.INTEGER, 1, inf, "left"),)
_POSITIVE: Final = (Interval(NumberKind.REAL, 0, inf, "neither"),)
ELEMENT_RULES: Final[Mapping[tuple[str, str], tuple[Rule, ...]]] = {
    ("CountVectorizer", "ngram_range"): _COUNTS,
    ("HashingVectorizer", "ngram_range"): _COUNTS,
    ("KBinsDiscretizer", "n_bins"): (Interval(NumberKind.INTEGER, 2, inf, "left"),),
    ("LogisticRegressionCV", "Cs"): _POSITIVE,
    ("MLPClassifier", "hidden_layer_sizes"): _COUNTS,
    ("MLPRegressor", "hidden_layer_sizes"): _COUNTS,
    ("RidgeCV", "alphas"): _POSITIVE,
    ("RidgeClassifierCV", "alphas"): _POSITIVE,
    ("TfidfVectorizer", "ngram_range"): _COUNTS,
}
"""The rules for the elements of tuples, by operator and parameter; the library's own checks stop at the tuple."""
HOLDS_OBJECTS: Final = frozenset(
    {"class_weight", "estimators", "param_distributions", "param_grid", "steps", "transformer_list", "transformers"}
)
"""Parameters whose lists contain dictionaries or operators; a tuple of literals cannot represent them."""
_BY_P_VALUE: Final = ("chi2", "f_classif", "f_regression")
_BY_SCORE: Final = (*_BY_P_VALUE, "mutual_info_classif", "mutual_info_regression", "r_regression")
_OF_NUMPY: Final = ("mean", "median", "max", "min")
NAMED_FUNCTIONS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("FeatureAgglomeration", "pooling_func"): _OF_NUMPY,
    ("GenericUnivariateSelect", "score_func"): _BY_SCORE,
    ("SelectKBest", "score_func"): _BY_SCORE,
    ("SelectPercentile", "score_func"): _BY_SCORE,
    # False discovery rates need p-values, which the other functions do not return.
    ("SelectFdr", "score_func"): _BY_P_VALUE,
    ("SelectFpr", "score_func"): _BY_P_VALUE,
    ("SelectFwe", "score_func"): _BY_P_VALUE,
}
"""The functions that a space may name as a value, by operator and parameter."""
FUNCTION_MODULES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_BY_SCORE, "sklearn.feature_selection"),
    **dict.fromkeys(_OF_NUMPY, "numpy"),
}
"""The module of every function that a space may name."""
OPERATOR_PARAMETERS: Final = frozenset({
    ("Exponentiation", "kernel"), ("FrozenEstimator", "estimator"), ("Product", "k1"), ("Product", "k2"),
    ("SMOTEENN", "enn"), ("SMOTEENN", "smote"), ("SMOTETomek", "smote"), ("SMOTETomek", "tomek"), ("Sum", "k1"),
    ("Sum", "k2"),
})  # fmt: skip
"""Parameters that take an operator although the library does not declare it."""
ACCEPTS_CATEGORIES: Final = frozenset({"SimpleImputer"})
"""Operators that accept columns of strings (with suitable settings) although their tags do not say so."""
NEEDS_ENCODED_CATEGORIES: Final = frozenset({"CategoricalNB", "CatBoostClassifier", "CatBoostRegressor"})
"""Operators whose tags promise categories, but that need integer codes or a list of the categorical columns."""
