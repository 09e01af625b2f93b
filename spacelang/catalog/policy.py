"""Policy: what a space may not set although the library would take it, and what it may name.

A `.space` file is data: no value of it may run code or open a file.
"""

from collections.abc import Mapping
from typing import Final

from spacelang.catalog.rules import Options, Rule

REFUSED: Final[Mapping[str, str]] = {
    "memory": "it names a cache folder, whose pickles would be run",
    "pre_dispatch": "it is evaluated as code",
    "n_jobs": "the runtime sets it",
    "verbose": "the runtime sets it",
}
"""Parameters that no space may set, whichever operator has them."""

TAKES_CODE: Final = "it takes code"
ANOTHER_NAME_OF: Final = "it is another name of "

WITHHELD: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "input": (("file", "it reads from open files"), ("filename", "it opens files")),
}
"""Single values that no space may use, by parameter."""

OVERRIDES: Final[Mapping[str, tuple[Rule, ...]]] = {
    # The library follows a dotted path of attributes from any string here.
    "importance_getter": (Options(("auto", "coef_", "feature_importances_")),),
    # The library formats with any string here, and a format may reach into objects.
    "verbose_feature_names_out": (Options((True, False)),),
}
"""Rules that are stricter than the library's, by parameter."""

HOLDS_OBJECTS: Final = frozenset(
    {
        "class_weight",
        "estimators",
        "param_distributions",
        "param_grid",
        "steps",
        "transformer_list",
        "transformers",
    }
)
"""Parameters whose lists hold dictionaries or operators: no tuple of literals can stand for them."""

_BY_P_VALUE: Final = ("chi2", "f_classif", "f_regression")
_BY_SCORE: Final = (*_BY_P_VALUE, "mutual_info_classif", "mutual_info_regression", "r_regression")

_OF_NUMPY: Final = ("mean", "median", "max", "min")

NAMED: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("FeatureAgglomeration", "pooling_func"): _OF_NUMPY,
    ("GenericUnivariateSelect", "score_func"): _BY_SCORE,
    ("SelectKBest", "score_func"): _BY_SCORE,
    ("SelectPercentile", "score_func"): _BY_SCORE,
    # The rates of false discoveries are about p-values, which the other functions do not return.
    ("SelectFdr", "score_func"): _BY_P_VALUE,
    ("SelectFpr", "score_func"): _BY_P_VALUE,
    ("SelectFwe", "score_func"): _BY_P_VALUE,
}
"""The functions that may be named, by operator and parameter."""

OBJECTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_BY_SCORE, "sklearn.feature_selection"),
    **dict.fromkeys(_OF_NUMPY, "numpy"),
}
"""The module of every named function: the library's own, but for those that are listed here."""

OPERATOR_PARAMETERS: Final = frozenset(
    {
        ("Exponentiation", "kernel"),
        ("FrozenEstimator", "estimator"),
        ("Product", "k1"),
        ("Product", "k2"),
        ("SMOTEENN", "enn"),
        ("SMOTEENN", "smote"),
        ("SMOTETomek", "smote"),
        ("SMOTETomek", "tomek"),
        ("Sum", "k1"),
        ("Sum", "k2"),
    }
)
"""Parameters that take an operator without declaring which methods it has."""

TAKES_CATEGORIES: Final = frozenset({"SimpleImputer"})
"""Operators that take columns of strings though their tags say nothing (with suitable settings)."""

TAKES_CODES_ONLY: Final = frozenset({"CategoricalNB", "CatBoostClassifier", "CatBoostRegressor"})
"""Operators whose tag promises categories but which want them as integers, or to be told which columns have them."""
