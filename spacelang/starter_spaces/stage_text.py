"""The learners of the starter spaces, and the stages as text without comments, which `fmt` lays out later."""

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent
from typing import Final

from spacelang.ir.task import Kind

MAX_CATEGORIES: Final = 50  # The maximum number of columns that a column of categories is encoded to
IMPUTER: Final = """\
stage imputer = SimpleImputer {
  strategy      : {mean, median, most_frequent} = median when n_missing > 0
  add_indicator : bool = false when n_missing > 0
  keep_empty_features = true
}
"""
SCALER: Final = """\
stage scaler =
  | StandardScaler
  | RobustScaler
  | QuantileTransformer {
      n_quantiles         : int[min(10, n_samples), min(1000, n_samples)] log = 100
      output_distribution : {uniform, normal} = normal
    }
  | none
"""
SPARSE_SCALER: Final = "stage scaler = MaxAbsScaler | none\n"
# Hashing needs no vocabulary, which could be empty or too small: texts may have only single letters, no words or few
# different words, and `TruncatedSVD` needs at least as many features as components.
TEXT_VECTORIZER: Final = """\
stage reader = (HashingVectorizer {
    ngram_range : {(1, 1), (1, 2)} = (1, 1)
    n_features = 16384
    alternate_sign = false
  } -> TfidfTransformer {
    sublinear_tf : bool = false
  } -> TruncatedSVD { n_components : int[2, 30] log = 10 }) as words
"""
# A missing date is a number far below all others. Ranks make it the first one, while a scale would squeeze all other
# dates together. Nothing is left to impute, but the imputer tells the pipeline that missing values are handled.
CALENDAR: Final = """\
stage calendar = (QuantileTransformer { n_quantiles = 100 } -> SimpleImputer { keep_empty_features = true }) as ranks
"""
DATES_REMARK: Final = "Dates become numbers between 0 and 1, in chronological order; a missing date comes first."


@dataclass(frozen=True, slots=True)
class Learner:
    """An alternative of the last stage: an `operator` called `name`, with the lines of its body in `members`.

    With more than `most_rows` rows it is too slow for a first search. `takes_sparse` is False if it cannot fit sparse
    data, `is_scaled` is True if it needs scaled columns, `has_weights` if it can balance the classes by weights, and
    `takes_several` if it can be fitted to several targets. It is available only if the caller allows its `package`; an
    empty `package` stands for scikit-learn.
    """

    name: str
    operator: str
    members: tuple[str, ...]
    most_rows: int | None = None
    takes_sparse: bool = True
    is_scaled: bool = False
    has_weights: bool = False
    takes_several: bool = False
    package: str = ""

    def alternative_text(self, *, weighs: bool) -> str:
        """Return the text of the alternative; class weights are searched if it supports them and `weighs`."""
        weights = (WEIGHTS,) if weighs and self.has_weights else ()
        inside = "".join(f"      {line}\n" for line in (*self.members, *weights))
        return f"| {self.operator} as {self.name} {{\n{inside}    }}\n"


def encoder_stage_text(kind: Kind, max_categories: int | None = None, *, takes_several: bool = False) -> str:
    """Return the text of the stage that encodes categories.

    With `max_categories`, rare categories of a column are merged, so that at most this many remain, and the
    target encoder is one of the alternatives. `takes_several` leaves it out, since it fits a single target only.
    """
    kept = "" if max_categories is None else f"max_categories : int[5, {max_categories}] log = 10\n"
    unknown = "ignore" if max_categories is None else "infrequent_if_exist"
    # By default, the encoder takes whole numbers for classes and makes a column for each.
    labels = "auto" if kind == "classification" else "continuous"
    by_labels = f"  | TargetEncoder {{ target_type = {labels}, smooth : {{auto}} | float[1, 100] log = auto }}\n"
    return f"""\
stage encoder =
  | OneHotEncoder {{
      {kept}handle_unknown = {unknown}
      sparse_output = false
    }}
  | OrdinalEncoder {{
      {kept}handle_unknown = use_encoded_value
      unknown_value = -1
      encoded_missing_value = -2
    }}
{"" if max_categories is None or takes_several else by_labels}"""


def feature_selection_stage_text(kind: Kind, *, is_sparse: bool = False, takes_several: bool = False) -> str:
    """Return the text of the stage that selects features; every alternative leaves at least one feature.

    With `is_sparse`, the projection is one for sparse data. `takes_several` leaves out the selection by scores, which
    fits a single target only.
    """
    score = "f_classif" if kind == "classification" else "f_regression"
    sparse = "TruncatedSVD { n_components : int[2, min(100, n_features)] log = 10 }"
    joined = sparse if is_sparse else "PCA { n_components : float[0.5, 0.99] = 0.95 }"
    best = f"""\
  | SelectPercentile {{
      score_func = {score}
      percentile : int[min(100, max(10, ceil(100 / n_features))), 100] = 50
    }}
"""
    return f"""\
stage selector =
{"" if takes_several else best}  | {joined}
  | none @default
"""


def estimator_stage_text(among: Iterable[Learner], *, weighs: bool) -> str:
    """Return the text of the last stage, whose alternatives are these learners.

    If it `weighs`, learners that support class weights search them.
    """
    return "stage estimator @first =\n" + "".join(indent(each.alternative_text(weighs=weighs), "  ") for each in among)


def scaling_constraint_text(among: Iterable[Learner]) -> str:
    """Return the text of the constraint that forbids to skip the scaler with learners that need scaled columns."""
    sides = " or ".join(f"estimator is {each.name}" for each in among if each.is_scaled)
    return f"forbid scaler is none and {f'({sides})' if ' or ' in sides else sides}\n"


def learners_for_kind(kind: Kind) -> tuple[Learner, ...]:
    """Return all learners for a kind of task. The first one is the default."""
    return CLASSIFIERS if kind == "classification" else REGRESSORS


KERNEL_ROWS: Final = 5_000  # With more rows, kernel methods are too slow for a first search
NEIGHBOUR_ROWS: Final = 20_000  # With more rows, predictions by nearest neighbours are too slow
WEIGHTS: Final = "class_weight : {none, balanced} = none"
BOOSTING: Final = (
    "learning_rate     : float[0.01, 0.5] log = 0.1",
    "max_iter          : int[50, 500] log = 100",
    "max_leaf_nodes    : int[7, 127] log = 31",
    "min_samples_leaf  : int[2, 100] log = 20",
    "l2_regularization : {0.0} | float[1e-6, 10] log = 0.0",
    # By default it stops early from 10,000 rows on. Trials on fewer rows would say nothing about the fit on all rows.
    "early_stopping    = false",
)
TREES: Final = ("n_estimators = 200", "max_features     : float[0.1, 1] = 0.5", "min_samples_leaf : int[1, 30] log = 1")
FOREST: Final = (*TREES, "bootstrap        : bool = true", "max_samples      : float[0.3, 1] = 1.0 when bootstrap")
NEIGHBOURS: Final = "n_neighbors : int[1, min(50, n_samples / 4)] log = 5", "weights : {uniform, distance} = uniform"
KERNEL: Final = (
    "kernel : {rbf, poly} = rbf",
    "degree : int[2, 4] = 3 when kernel == poly",
    "C      : float[1e-2, 1e3] log = 1",
    "gamma  : {scale} | float[1e-4, 1] log = scale",
)
NETWORK: Final = (
    "hidden_layer_sizes : {(50,), (100,), (100, 50)} = (100,)",
    "alpha              : float[1e-6, 1e-1] log = 1e-4",
    "learning_rate_init : float[1e-4, 1e-1] log = 1e-3",
    "max_iter = 300",
)
XGBOOST: Final = (
    "n_estimators     : int[50, 500] log = 100",
    "learning_rate    : float[0.01, 0.5] log = 0.1",
    "max_depth        : int[3, 10] = 6",
    "min_child_weight : float[0.5, 20] log = 1",
    "subsample        : float[0.5, 1] = 1",
    "colsample_bytree : float[0.4, 1] = 1",
    "reg_lambda       : float[1e-3, 100] log = 1",
)
LIGHTGBM: Final = (
    "n_estimators      : int[50, 500] log = 100",
    "learning_rate     : float[0.01, 0.5] log = 0.1",
    "num_leaves        : int[7, 127] log = 31",
    "min_child_samples : int[2, 100] log = 20",
    "colsample_bytree  : float[0.4, 1] = 1",
    "reg_lambda        : {0.0} | float[1e-6, 10] log = 0.0",
)
CLASSIFIERS: Final = (
    Learner("boosting", "HistGradientBoostingClassifier", BOOSTING, takes_sparse=False, has_weights=True),
    Learner(
        "forest",
        "RandomForestClassifier",
        (*FOREST, "criterion : {gini, entropy} = gini"),
        has_weights=True,
        takes_several=True,
    ),
    Learner("extra_trees", "ExtraTreesClassifier", TREES, has_weights=True, takes_several=True),
    Learner("linear", "LogisticRegression", ("C : float[1e-3, 1e3] log = 1", "max_iter = 1000"), has_weights=True),
    Learner("neighbors", "KNeighborsClassifier", NEIGHBOURS, NEIGHBOUR_ROWS, is_scaled=True, takes_several=True),
    Learner("kernel", "SVC", KERNEL, KERNEL_ROWS, is_scaled=True, has_weights=True),
    Learner("network", "MLPClassifier", NETWORK, is_scaled=True, takes_several=True),
    Learner("xgboost", "xgboost.XGBClassifier", XGBOOST, package="xgboost"),
    Learner("lightgbm", "lightgbm.LGBMClassifier", LIGHTGBM, has_weights=True, package="lightgbm"),
)
REGRESSORS: Final = (
    Learner(
        "boosting",
        "HistGradientBoostingRegressor",
        (*BOOSTING, "loss : {squared_error, absolute_error} = squared_error"),
        takes_sparse=False,
    ),
    Learner("forest", "RandomForestRegressor", FOREST, takes_several=True),
    Learner("extra_trees", "ExtraTreesRegressor", TREES, takes_several=True),
    Learner("linear", "Ridge", ("alpha : float[1e-3, 1e4] log = 1",), takes_several=True),
    Learner("neighbors", "KNeighborsRegressor", NEIGHBOURS, NEIGHBOUR_ROWS, is_scaled=True, takes_several=True),
    Learner("kernel", "SVR", (*KERNEL, "epsilon : float[0.001, 1] log = 0.1"), KERNEL_ROWS, is_scaled=True),
    Learner(
        "network",
        "TransformedTargetRegressor",
        # Without scaling, the gradients overflow if the labels are far from 0.
        ("transformer = StandardScaler", "regressor = MLPRegressor {", *NETWORK, "}"),
        is_scaled=True,
        takes_several=True,
    ),
    Learner("xgboost", "xgboost.XGBRegressor", XGBOOST, package="xgboost"),
    Learner("lightgbm", "lightgbm.LGBMRegressor", LIGHTGBM, package="lightgbm"),
)
