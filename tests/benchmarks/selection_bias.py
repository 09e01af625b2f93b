"""How far the loss of a search's winner is from what it has on rows of its own, by holdout and cross-validation.

    python tests/benchmarks/selection_bias.py DATASETS [--sizes 150 300 600 …] [--repeats 8]

DATASETS is a folder with sets of two classes as `NAME.csv.gz`, their labels in the column `target`. Of each set some
rows are searched, by the same random pipelines under `holdout(0.3)` and under `cv(5)`, and by a fifth of them under
`cv(5)`, which takes about the time of the holdout. The winner is fitted on these rows and judged on the others.

Printed are means over sets and repeats of 1 - AUROC times 1,000: `bias` is the winner's loss on the other rows minus
the one that was reported, `off` the absolute value of that, and `truth` its loss on the other rows; behind each stands
its standard error, for `truth` that of the difference to the first line. `time` is a ratio. Nothing is asserted here;
`FEW_ROWS` in `spacelang.runtime.evaluation.folds` comes from these figures.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spacelang import api
from spacelang.api.rows import Rows
from spacelang.ir.task import CrossValidation, Declared, Holdout
from spacelang.ir.trial import Request, Trial
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

FEWEST = 300
"""So many rows are left at least to judge on: with fewer a set is left out."""

RARE = 12
"""So many of the rows that are searched have the rarer label, by expectation: with fewer a set is left out, too."""

MOST = 10_000
"""So many rows are judged on at most."""


@dataclass(frozen=True)
class Way:
    """A validation, and the share of the pipelines that it judges."""

    name: str
    validation: Declared
    share: float = 1.0


WAYS = (
    Way("holdout(0.3)", Holdout(0.3)),
    Way("cv(5)", CrossValidation(5)),
    Way("cv(5), a fifth", CrossValidation(5), 0.2),
)


@dataclass(frozen=True)
class Found:
    """Of a winner what was reported, and what is true; `seconds` are those of the processor for all trials."""

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
        used = [table for table in tables if suits(table, size)]
        found = [searched(table, size, seed, options.pipelines) for table in used for seed in range(options.repeats)]
        if found:
            tell(size, len(used), found)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path, help="the folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=SETS, help="which of them")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="rows that are searched")
    parser.add_argument("--repeats", type=int, default=8, help="draws of these rows from each set")
    parser.add_argument("--pipelines", type=int, default=50, help="random pipelines of a search")
    return parser.parse_args(arguments)


def suits(table: Table, size: int) -> bool:
    """Whether there are enough rows of each kind."""
    rows = len(table.target)
    return rows - size >= FEWEST and table.target.value_counts().min() / rows * size >= RARE


def searched(table: Table, size: int, seed: int, pipelines: int) -> tuple[Found, ...]:
    """What each way finds on `size` random rows of a table, judged on the others."""
    # A value that is missing among the other rows only is more than the searched pipelines are prepared for.
    whole = np.flatnonzero(table.features.notna().all(axis="columns"))
    order = np.random.default_rng(seed).permutation(whole)
    mine, others = taken(table, order[:size]), taken(table, order[size : size + MOST])
    space = api.parse(SPACE)
    configurations = space.sample(pipelines, seed=seed)
    return tuple(winner(way, space, mine, others, configurations, seed) for way in WAYS)


def taken(table: Table, rows: np.ndarray) -> Table:
    """The table with these rows only, and 0 and 1 for its labels."""
    labels = (table.target == max(table.target.unique())).astype(int)
    return replace(table, features=table.features.iloc[rows], target=labels.iloc[rows])


def winner(way: Way, space: api.Space, mine: Table, others: Table, configurations: list, seed: int) -> Found:
    """The best of the pipelines that a way judges, and what it is worth on the other rows."""
    rows = Rows(mine)
    _, objective = rows.over(api.Experiment(space=space, data=rows, seed=seed, validation=way.validation))
    started = time.process_time()
    trials = [*judged(objective, configurations[: max(1, round(way.share * len(configurations)))])]
    seconds = time.process_time() - started
    best = min(trials, key=lambda trial: trial.loss)
    fitted = objective.refit(best.request.configuration)
    return Found(best.loss, objective.metric.loss(fitted, others.features, others.target), seconds)


def judged(objective: object, configurations: Sequence) -> Iterator[Trial]:
    """The trials that succeeded."""
    for configuration in configurations:
        trial = objective.evaluate(Request(configuration))
        if trial.loss is not None:
            yield trial


def tell(size: int, sets: int, found: Sequence[tuple[Found, ...]]) -> None:
    """Print a line for each way."""
    first = np.array([of_ways[0].truth for of_ways in found])
    seconds = sum(of_ways[0].seconds for of_ways in found)
    for place, way in enumerate(WAYS):
        of_way = [of_ways[place] for of_ways in found]
        truth = np.array([each.truth for each in of_way])
        bias = truth - np.array([each.reported for each in of_way])
        # What sets differ in is no matter of the validation: of the truth only differences have an error.
        columns = shown(bias, bias) + shown(abs(bias), abs(bias)) + shown(truth, truth - first)
        ratio = sum(each.seconds for each in of_way) / seconds
        print(f"{size:5} {way.name:15} {sets:4} {columns} {ratio:5.1f}", flush=True)


def shown(values: np.ndarray, varied: np.ndarray) -> str:
    """A mean times 1,000, and the standard error of what varied."""
    deviation = varied.std(ddof=1) if len(varied) > 1 else 0.0
    return f"{values.mean() * 1000:7.1f} {deviation / np.sqrt(len(varied)) * 1000:4.1f}"


if __name__ == "__main__":
    main()
