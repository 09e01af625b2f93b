"""The stages of the spaces to start from, without a word of comment: what there is to try at each step.

Each is a text, laid out as `fmt` does once it stands in a space.
"""

from collections.abc import Iterable
from textwrap import indent
from typing import Final

from spacelang.ir.task import Kind
from spacelang.starting.learners import Learner

CATEGORIES: Final = 50
"""No column of categories becomes more columns than this."""

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

# Hashed: a text of single letters, or of none, leaves a vocabulary empty, and few words one that has no ten directions.
READER: Final = """\
stage reader = (HashingVectorizer {
    ngram_range : {(1, 1), (1, 2)} = (1, 1)
    n_features = 16384
    alternate_sign = false
  } -> TfidfTransformer {
    sublinear_tf : bool = false
  } -> TruncatedSVD { n_components : int[2, 30] log = 10 }) as words
"""

# By ranks: a missing date is a number before all others, of which ranks make the first and scales the only one.
# There is nothing left to impute then, which only the imputer behind can say.
CALENDAR: Final = """\
stage calendar = (QuantileTransformer { n_quantiles = 100 } -> SimpleImputer { keep_empty_features = true }) as ranks
"""
OF_DATES: Final = "They become numbers from 0 to 1 in their order; a missing one is before all others."


def encoder(kind: Kind, most: int | None = None) -> str:
    """What becomes of categories: where a column may have many, the rare ones are joined, `most` being left."""
    kept = "" if most is None else f"max_categories : int[5, {most}] log = 10\n"
    unknown = "ignore" if most is None else "infrequent_if_exist"
    # By itself the encoder takes whole numbers for classes, each of which were a column.
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
    """Which columns are left, one at least."""
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
    """Who learns."""
    return "stage estimator @first =\n" + "".join(indent(each.text(weighs=weighs), "  ") for each in among)


def constraint(among: Iterable[Learner]) -> str:
    """Who wants columns of one size."""
    sides = " or ".join(f"estimator is {each.name}" for each in among if each.is_scaled)
    return f"forbid scaler is none and {f'({sides})' if ' or ' in sides else sides}\n"
