"""The stages of a starting space: what there is to try at each step, and why, for data of this kind.

Each function gives the text of a stage with a comment above it, or of two, or nothing where the data has no use for it.
"""

from collections.abc import Iterator
from textwrap import dedent, fill, indent
from typing import Final

from spacelang.diagnostics.cells import visible
from spacelang.runtime.data.profile import ColumnProfile, Profile
from spacelang.runtime.pipelines.columns import Content

SLOW_ROWS: Final = 5_000
"""With more rows kernels take longer than they are worth at first."""
NEIGHBOUR_ROWS: Final = 20_000
"""With more rows every prediction of neighbours takes too long."""
MANY_COLUMNS: Final = 10
"""From so many columns of numbers on it may be worth to have fewer."""
WIDTH: Final = 110
"""Of comments."""
MANY_VALUES: Final = 12
"""From so many categories on a column is worth to be encoded by the labels."""


def imputer(data: Profile) -> str:
    """How missing numbers are filled in."""
    lacking = [column for column in data.of(Content.NUMBER) if column.missing]
    if not lacking:
        return ""
    return _said(
        f"Missing numbers: {_shares(lacking)}. A set in braces is a choice of values; what stands behind the `=` is "
        "the default. `add_indicator` adds a column that says where something was missing.",
        """\
        stage imputer = SimpleImputer {
          strategy      : {mean, median, most_frequent} = median
          add_indicator : bool = false
          keep_empty_features = true
        }
        """,
    )


def scaler(data: Profile) -> str:
    """To which scale numbers are brought."""
    if not data.of(Content.NUMBER):
        return ""
    if data.is_sparse:
        return _said(
            "A stage is a decision among alternatives, and `none` leaves its step out. "
            "Nearly all numbers are 0, and stay it.",
            "stage scaler = MaxAbsScaler | none",
        )
    return _said(
        "A stage is a decision among alternatives, and `none` leaves its step out. `int[10, 1000] log` would be "
        "searched by its logarithm from 10 to 1000; here the bounds know the data.",
        """\
        stage scaler =
          | StandardScaler
          | RobustScaler
          | QuantileTransformer {
              n_quantiles         : int[min(10, n_samples), min(1000, n_samples)] log = 100
              output_distribution : {uniform, normal} = normal
            }
          | none
        """,
    )


def encoder(data: Profile) -> str:
    """What becomes of categories."""
    categories = data.of(Content.CATEGORY)
    if not categories:
        return ""
    most = max(categories, key=lambda column: column.distinct)
    said = f"Categories: {_names(categories)}; `{most.name}` has the most values, {most.distinct:,}."
    joined = most.distinct >= MANY_VALUES
    rare = " Rare ones are joined to one, such that no column becomes a thousand." if joined else ""
    kept = f"max_categories : int[5, {min(50, most.distinct)}] log = 10, " if joined else ""
    unknown = "infrequent_if_exist" if joined else "ignore"
    by_labels = "  | TargetEncoder { smooth : {auto} | float[1, 100] log = auto }\n" if joined else ""
    return (
        remark(said + rare)
        + f"stage encoder =\n  | OneHotEncoder {{ {kept}handle_unknown = {unknown}, sparse_output = false }}\n"
        + f"  | OrdinalEncoder {{\n      {kept.rstrip(', ')}\n      handle_unknown = use_encoded_value\n"
        + f"      unknown_value = -1\n      encoded_missing_value = -2\n    }}\n{by_labels}"
    )


def reader(data: Profile) -> str:
    """What becomes of free text."""
    if not data.texts:
        return ""
    return _said(
        f"Free text: {_names(data.texts)}. `->` puts one step behind the other, in an alternative as in the pipeline.",
        """\
        stage reader = (TfidfVectorizer {
            ngram_range  : {(1, 1), (1, 2)} = (1, 1)
            sublinear_tf : bool = false
            max_features = 5000
          } -> TruncatedSVD { n_components : int[2, 30] log = 10 }) as words
        """,
    )


def selector(data: Profile) -> str:
    """Which columns are left."""
    if len(data.of(Content.NUMBER)) < MANY_COLUMNS:
        return ""
    score = "f_classif" if data.kind == "classification" else "f_regression"
    joined = "PCA { n_components : float[0.5, 0.99] = 0.95 }"
    if data.is_sparse:
        joined = "TruncatedSVD { n_components : int[2, min(100, n_features)] log = 10 }"
    return _said(
        "Fewer columns: the best by themselves, or combinations of them. `@default` marks the default of a stage, "
        "which is its first alternative else.",
        f"""\
        stage selector =
          | SelectPercentile {{ score_func = {score}, percentile : int[10, 90] = 50 }}
          | {joined}
          | none @default
        """,
    )


def estimator(data: Profile) -> str:
    """Who learns."""
    said = [
        "Hyperparameters are searched in the body of their estimator; what stands there with a plain `=` is fixed. "
        "`when` says in which cases one is active.",
        *([f"With {data.rows:,} rows kernels are left out."] if NEIGHBOUR_ROWS >= data.rows > SLOW_ROWS else ()),
        *([f"With {data.rows:,} rows neighbours and kernels are left out."] if data.rows > NEIGHBOUR_ROWS else ()),
        *(["`class_weight` counts a rare class as much as a frequent one."] if data.is_imbalanced else ()),
        "Other libraries are alternatives too: `use lightgbm` below the first line, and `run` with `--allow lightgbm`.",
    ]
    parts = _classifiers(data) if data.kind == "classification" else _regressors(data)
    return remark(" ".join(said)) + "stage estimator @first =\n" + "".join(indent(part, "  ") for part in parts)


def constraint(data: Profile) -> str:
    """What is known to be of no use."""
    if not data.of(Content.NUMBER):
        return ""
    sides = " or ".join(f"estimator is {name}" for name in _blind(data))
    condition = f"({sides})" if " or " in sides else sides
    return _said(
        "Distances and gradients want columns of one size: what is forbidden is never tried.",
        f"forbid scaler is none and {condition}",
    )


def _blind(data: Profile) -> Iterator[str]:
    """Those who see columns by their size."""
    if data.rows <= NEIGHBOUR_ROWS:
        yield "neighbors"
    if data.rows <= SLOW_ROWS:
        yield "kernel"
    yield "network"


def _classifiers(data: Profile) -> Iterator[str]:
    weight = "class_weight     : {none, balanced} = none" if data.is_imbalanced else ""
    if not data.is_sparse:
        yield _body("HistGradientBoostingClassifier as boosting", _BOOSTING, weight)
    yield _body("RandomForestClassifier as forest", _FOREST, "criterion        : {gini, entropy} = gini", weight)
    yield _body("LogisticRegression as linear", ("C : float[1e-3, 1e3] log = 1", "max_iter = 1000"), weight)
    if data.rows <= NEIGHBOUR_ROWS:
        yield _body("KNeighborsClassifier as neighbors", _NEIGHBOURS)
    if data.rows <= SLOW_ROWS:
        yield _body("SVC as kernel", _KERNEL, weight)
    yield _body("MLPClassifier as network", _NETWORK)


def _regressors(data: Profile) -> Iterator[str]:
    loss = "loss             : {squared_error, absolute_error} = squared_error"
    if not data.is_sparse:
        yield _body("HistGradientBoostingRegressor as boosting", _BOOSTING, loss)
    yield _body("RandomForestRegressor as forest", _FOREST)
    yield _body("Ridge as linear", ("alpha : float[1e-3, 1e4] log = 1",))
    if data.rows <= NEIGHBOUR_ROWS:
        yield _body("KNeighborsRegressor as neighbors", _NEIGHBOURS)
    if data.rows <= SLOW_ROWS:
        yield _body("SVR as kernel", (*_KERNEL, "epsilon : float[0.001, 1] log = 0.1"))
    yield _body("MLPRegressor as network", _NETWORK)


_BOOSTING: Final = (
    "learning_rate    : float[0.01, 0.5] log = 0.1",
    "max_iter         : int[50, 500] log = 100",
    "max_leaf_nodes   : int[7, 127] log = 31",
    "min_samples_leaf : int[2, 100] log = 20",
    "l2_regularization : {0.0} | float[1e-6, 10] log = 0.0",
)
_FOREST: Final = (
    "n_estimators = 200",
    "max_features     : float[0.1, 1] = 0.5",
    "min_samples_leaf : int[1, 30] log = 1",
    "bootstrap        : bool = true",
    "max_samples      : float[0.3, 1] = 1.0 when bootstrap",
)
_NEIGHBOURS: Final = (
    "n_neighbors : int[1, min(50, n_samples / 4)] log = 5",
    "weights     : {uniform, distance} = uniform",
)
_KERNEL: Final = (
    "kernel : {rbf, poly} = rbf",
    "degree : int[2, 4] = 3 when kernel == poly",
    "C      : float[1e-2, 1e3] log = 1",
    "gamma  : {scale} | float[1e-4, 1] log = scale",
)
_NETWORK: Final = (
    "hidden_layer_sizes : {(50,), (100,), (100, 50)} = (100,)",
    "alpha              : float[1e-6, 1e-1] log = 1e-4",
    "learning_rate_init : float[1e-4, 1e-1] log = 1e-3",
    "max_iter = 300",
)


def _body(name: str, lines: tuple[str, ...], *more: str) -> str:
    inside = "".join(f"      {line}\n" for line in (*lines, *filter(None, more)))
    return f"| {name} {{\n{inside}    }}\n"


def remark(text: str) -> str:
    """A comment of as many lines as it needs; columns are called as whoever made the data liked."""
    return fill(visible(text), WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False) + "\n"


def _said(comment: str, stage: str) -> str:
    return remark(comment) + dedent(stage).rstrip() + "\n"


def _shares(columns: list[ColumnProfile]) -> str:
    several = sorted(columns, key=lambda column: -column.missing)
    shown = [f"{column.name} {column.missing:.1%}" for column in several[:3]]
    return ", ".join(shown) + (f" and {len(several) - 3} more" if len(several) > 3 else "")


def _names(columns: tuple[ColumnProfile, ...]) -> str:
    shown = ", ".join(column.name for column in columns[:4])
    return shown + (f" and {len(columns) - 4} more" if len(columns) > 4 else "")
