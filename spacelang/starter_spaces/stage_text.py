"""The stages of the starter spaces as text without comments. `fmt` lays them out once they are in a space."""

from collections.abc import Iterable
from textwrap import indent
from typing import Final

from spacelang.ir.task import Kind
from spacelang.starter_spaces.learners import Learner

MAX_CATEGORIES: Final = 50
"""The maximum number of columns that a column of categories is encoded to."""

IMPUTER: Final = """\
stage imputer = SimpleImputer {
  strategy      : {mean, median, most_frequent} = median
  add_indicator : bool = false
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


def encoder(kind: Kind, most: int | None = None) -> str:
    """Return the stage that encodes categories.

    If `most` is given, rare categories are merged, so that at most `most` categories of a column remain.
    """
    kept = "" if most is None else f"max_categories : int[5, {most}] log = 10\n"
    unknown = "ignore" if most is None else "infrequent_if_exist"
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
{"" if most is None else by_labels}"""


def selector(kind: Kind, *, is_sparse: bool = False) -> str:
    """Return the stage that selects columns. At least one column is left."""
    score = "f_classif" if kind == "classification" else "f_regression"
    joined = "PCA { n_components : float[0.5, 0.99] = 0.95 }"
    if is_sparse:
        joined = "TruncatedSVD { n_components : int[2, min(100, n_features)] log = 10 }"
    return f"""\
stage selector =
  | SelectPercentile {{
      score_func = {score}
      percentile : int[min(100, max(10, ceil(100 / n_features))), 100] = 50
    }}
  | {joined}
  | none @default
"""


def estimator(among: Iterable[Learner], *, weighs: bool) -> str:
    """Return the stage of the estimators."""
    return "stage estimator @first =\n" + "".join(indent(each.text(weighs=weighs), "  ") for each in among)


def constraint(among: Iterable[Learner]) -> str:
    """Return the constraint that estimators that need scaled columns are not used without a scaler."""
    sides = " or ".join(f"estimator is {each.name}" for each in among if each.is_scaled)
    return f"forbid scaler is none and {f'({sides})' if ' or ' in sides else sides}\n"
