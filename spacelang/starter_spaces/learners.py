"""The estimators of the starter spaces, and the hyperparameters that are searched for each."""

from dataclasses import dataclass
from typing import Final

from spacelang.ir.task import Kind


@dataclass(frozen=True, slots=True)
class Learner:
    """An alternative of the last stage: an `operator` called `name`, with the lines of its body in `members`.

    With more than `most_rows` rows it is too slow for a first search. `takes_sparse` is False if it cannot fit sparse
    data, `is_scaled` is True if it needs scaled columns, and `has_weights` if it can balance the classes by weights. It
    is available only if the caller allows its `package`; an empty `package` stands for scikit-learn.
    """

    name: str
    operator: str
    members: tuple[str, ...]
    most_rows: int | None = None
    takes_sparse: bool = True
    is_scaled: bool = False
    has_weights: bool = False
    package: str = ""

    def text(self, *, weighs: bool) -> str:
        """Return the text of the alternative in a space.

        If `weighs` is True and the learner supports it, class weights are searched as well.
        """
        weights = (WEIGHTS,) if weighs and self.has_weights else ()
        inside = "".join(f"      {line}\n" for line in (*self.members, *weights))
        return f"| {self.operator} as {self.name} {{\n{inside}    }}\n"


def learners(kind: Kind) -> tuple[Learner, ...]:
    """Return all learners for a kind of task. The first one is the default."""
    return CLASSIFIERS if kind == "classification" else REGRESSORS


KERNEL_ROWS: Final = 5_000
"""With more rows, kernel methods are too slow for a first search."""
NEIGHBOUR_ROWS: Final = 20_000
"""With more rows, predictions by nearest neighbours are too slow."""

WEIGHTS: Final = "class_weight : {none, balanced} = none"
BOOSTING: Final = (
    "learning_rate     : float[0.01, 0.5] log = 0.1",
    "max_iter          : int[50, 500] log = 100",
    "max_leaf_nodes    : int[7, 127] log = 31",
    "min_samples_leaf  : int[2, 100] log = 20",
    "l2_regularization : {0.0} | float[1e-6, 10] log = 0.0",
)
TREES: Final = (
    "n_estimators = 200",
    "max_features     : float[0.1, 1] = 0.5",
    "min_samples_leaf : int[1, 30] log = 1",
)
FOREST: Final = (
    *TREES,
    "bootstrap        : bool = true",
    "max_samples      : float[0.3, 1] = 1.0 when bootstrap",
)
NEIGHBOURS: Final = (
    "n_neighbors : int[1, min(50, n_samples / 4)] log = 5",
    "weights     : {uniform, distance} = uniform",
)
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
    Learner("forest", "RandomForestClassifier", (*FOREST, "criterion : {gini, entropy} = gini"), has_weights=True),
    Learner("extra_trees", "ExtraTreesClassifier", TREES, has_weights=True),
    Learner("linear", "LogisticRegression", ("C : float[1e-3, 1e3] log = 1", "max_iter = 1000"), has_weights=True),
    Learner("neighbors", "KNeighborsClassifier", NEIGHBOURS, NEIGHBOUR_ROWS, is_scaled=True),
    Learner("kernel", "SVC", KERNEL, KERNEL_ROWS, is_scaled=True, has_weights=True),
    Learner("network", "MLPClassifier", NETWORK, is_scaled=True),
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
    Learner("forest", "RandomForestRegressor", FOREST),
    Learner("extra_trees", "ExtraTreesRegressor", TREES),
    Learner("linear", "Ridge", ("alpha : float[1e-3, 1e4] log = 1",)),
    Learner("neighbors", "KNeighborsRegressor", NEIGHBOURS, NEIGHBOUR_ROWS, is_scaled=True),
    Learner("kernel", "SVR", (*KERNEL, "epsilon : float[0.001, 1] log = 0.1"), KERNEL_ROWS, is_scaled=True),
    Learner(
        "network",
        "TransformedTargetRegressor",
        # Without scaling, the gradients overflow if the labels are far from 0.
        (
            "transformer = StandardScaler",
            "regressor = MLPRegressor {",
            *NETWORK,
            "}",
        ),
        is_scaled=True,
    ),
    Learner("xgboost", "xgboost.XGBRegressor", XGBOOST, package="xgboost"),
    Learner("lightgbm", "lightgbm.LGBMRegressor", LIGHTGBM, package="lightgbm"),
)
