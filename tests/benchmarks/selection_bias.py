"""Measure the selection bias of a search's winner, for holdout and cross-validation.

    python tests/benchmarks/selection_bias.py DATASETS [--sizes 150 300 600 …] [--repeats 8]

DATASETS is a folder of binary data sets `NAME.csv.gz`, with labels in the column `target`. Some rows of each set are
searched: by the same random pipelines with `holdout(0.3)` and with `cv(5)`, and by a fifth of these pipelines with
`cv(5)`, which takes about the time of the holdout. The winner is fitted on these rows and scored on the others.

The script prints means over sets and repeats of 1 - AUROC times 1,000: `bias` is the winner's loss on the other rows
minus the reported loss, `off` its absolute value, and `truth` the loss on the other rows. Each is followed by its
standard error; that of `truth` is the standard error of the difference from the first line. `time` is a ratio. The
script asserts nothing; `FEW_ROWS` in `spacelang.runtime.evaluation.folds` is based on these results.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spacelang import api
from spacelang.api.search_data import TabularData
from spacelang.ir.trial import Request, Trial
from spacelang.ir.validation import CrossValidation, DeclaredValidation, Holdout
from spacelang.runtime.data.loading import Table, load_dataset

SPACE = """
stage scaler = none | StandardScaler
stage estimator =
  | GaussianNB
  | LogisticRegression { C : float[1e-3, 1e3] log = 1 }
  | KNeighborsClassifier { n_neighbors : int[1, 50] log = 5 }
  | DecisionTreeClassifier { max_depth : int[1, 12] = 5, min_samples_leaf : int[1, 50] log = 1 }
  | RandomForestClassifier { n_estimators = 20, max_depth : int[2, 12] = 6, max_features : float[0.1, 1] = 0.3 }
"""

SETS = ("adult", "bank_marketing", "credit_g", "jm1", "mammography", "sylvine")
SIZES = (150, 300, 600, 1200, 2400, 4800)

MIN_TEST_ROWS = 300
"""The minimum number of rows to score on; a set with fewer rows is skipped."""

MIN_RARE_ROWS = 12
"""The minimum expected number of searched rows with the rarer label; a set with fewer is skipped."""

MAX_TEST_ROWS = 10_000
"""The maximum number of rows to score on."""


@dataclass(frozen=True)
class Variant:
    """A validation, and the share of the pipelines that it evaluates."""

    name: str
    validation: DeclaredValidation
    share: float = 1.0


VARIANTS = (
    Variant("holdout(0.3)", Holdout(0.3)),
    Variant("cv(5)", CrossValidation(5)),
    Variant("cv(5), a fifth", CrossValidation(5), 0.2),
)


@dataclass(frozen=True)
class Winner:
    """The reported loss of a winner, its true loss, and the processor seconds of all trials."""

    reported: float
    truth: float
    seconds: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a block of lines for each size."""
    options = parse(arguments)
    tables = [load_dataset(str(options.datasets / f"{name}.csv.gz"), "target") for name in options.sets]
    columns = "".join(f"{name:>7}   +-" for name in ("bias", "off", "truth"))
    print(f"{'rows':>5} {'validation':15} {'sets':>4} {columns} {'time':>5}")
    for size in options.sizes:
        used = [table for table in tables if has_enough_rows(table, size)]
        winners = [
            search_variants(table, size, seed, options.pipelines) for table in used for seed in range(options.repeats)
        ]
        if winners:
            print_results(size, len(used), winners)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=SETS, help="names of data sets")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of rows to search on")
    parser.add_argument("--repeats", type=int, default=8, help="number of samples of these rows from each set")
    parser.add_argument("--pipelines", type=int, default=50, help="number of random pipelines of a search")
    return parser.parse_args(arguments)


def has_enough_rows(table: Table, size: int) -> bool:
    """Return True if there are enough rows in total and of each class."""
    rows = len(table.target)
    return rows - size >= MIN_TEST_ROWS and table.target.value_counts().min() / rows * size >= MIN_RARE_ROWS


def search_variants(table: Table, size: int, seed: int, pipelines: int) -> tuple[Winner, ...]:
    """Return the winner of each variant on `size` random rows of a table, scored on the other rows."""
    # No pipeline is prepared for a column with missing values in the unseen rows only.
    whole = np.flatnonzero(table.features.notna().all(axis="columns"))
    order = np.random.default_rng(seed).permutation(whole)
    searched, unseen = select_rows(table, order[:size]), select_rows(table, order[size : size + MAX_TEST_ROWS])
    space = api.parse(SPACE)
    configurations = space.sample(pipelines, seed=seed)
    return tuple(find_winner(variant, space, searched, unseen, configurations, seed) for variant in VARIANTS)


def select_rows(table: Table, rows: np.ndarray) -> Table:
    """Return the table with these rows only, and labels 0 and 1."""
    labels = (table.target == max(table.target.unique())).astype(int)
    return replace(table, features=table.features.iloc[rows], target=labels.iloc[rows])


def find_winner(
    variant: Variant, space: api.Space, searched: Table, unseen: Table, configurations: list, seed: int
) -> Winner:
    """Return the losses of the best pipeline that a variant evaluates."""
    rows = TabularData(searched)
    _, objective = rows.bind_space(api.Experiment(space=space, data=rows, seed=seed, validation=variant.validation))
    started = time.process_time()
    trials = [*evaluate_all(objective, configurations[: max(1, round(variant.share * len(configurations)))])]
    seconds = time.process_time() - started
    best = min(trials, key=lambda trial: trial.loss)
    fitted = objective.refit(best.request.configuration)
    return Winner(best.loss, objective.metric.loss(fitted, unseen.features, unseen.target), seconds)


def evaluate_all(objective: object, configurations: Sequence) -> Iterator[Trial]:
    """Yield the successful trials."""
    for configuration in configurations:
        trial = objective.evaluate(Request(configuration))
        if trial.loss is not None:
            yield trial


def print_results(size: int, sets: int, winners: Sequence[tuple[Winner, ...]]) -> None:
    """Print a line for each variant."""
    first = np.array([of_variants[0].truth for of_variants in winners])
    seconds = sum(of_variants[0].seconds for of_variants in winners)
    for place, variant in enumerate(VARIANTS):
        of_variant = [of_variants[place] for of_variants in winners]
        truth = np.array([each.truth for each in of_variant])
        bias = truth - np.array([each.reported for each in of_variant])
        # Differences between data sets do not depend on the validation, so the error is that of differences.
        columns = format_mean(bias, bias) + format_mean(abs(bias), abs(bias)) + format_mean(truth, truth - first)
        ratio = sum(each.seconds for each in of_variant) / seconds
        print(f"{size:5} {variant.name:15} {sets:4} {columns} {ratio:5.1f}", flush=True)


def format_mean(values: np.ndarray, varied: np.ndarray) -> str:
    """Return a text: a mean times 1,000, and the standard error of `varied`."""
    deviation = varied.std(ddof=1) if len(varied) > 1 else 0.0
    return f"{values.mean() * 1000:7.1f} {deviation / np.sqrt(len(varied)) * 1000:4.1f}"


if __name__ == "__main__":
    main()
