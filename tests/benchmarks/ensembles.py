"""Compare the ensemble of a run with its best pipeline, on test rows.

    python tests/benchmarks/ensembles.py DATASETS [--sets sonar pc4 …] [--rows 1500] [--trials 40] [--votes 32]

DATASETS is a folder of data sets `NAME.csv.gz`, with labels in the column `target`. At most `--rows` rows of each set
are sampled, and a share of them is the test set. One run searches the other rows. Its best pipeline and its ensemble
are both fitted on all these rows, and scored on the test set.

For each set the script prints both losses (1 - AUROC of two classes, 1 - balanced accuracy of more) in the search and
on the test set. It also prints the difference on the test set (ensemble minus best pipeline) with a 95 % interval, by
bootstrap over the rows. `no worse` means that this interval is not above 0, `better` that it is below 0. `members` is
the number of pipelines in the ensemble, and `fit` the time to fit them, as a share of the time of the search. The
script asserts nothing.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

import spacelang as sl

SETS = (
    "adult",
    "analcatdata_germangss",
    "bank_marketing",
    "credit_approval",
    "credit_g",
    "diabetes",
    "disclosure_x_bias",
    "elevators",
    "fri_c2_1000_25",
    "heart_statlog",
)


@dataclass(frozen=True)
class Comparison:
    """The losses of the best pipeline and of the ensemble, in the search and on the test set."""

    rows: tuple[int, int]
    search_losses: tuple[float, float]
    test_losses: tuple[float, float]
    interval: tuple[float, float]
    members: int
    fit: float

    @property
    def difference(self) -> float:
        """Return the loss of the ensemble minus that of the best pipeline, on the test set."""
        return self.test_losses[1] - self.test_losses[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each set, and how often the ensemble was no worse, better, and at most equal."""
    options = parse(arguments)
    print(
        f"{options.trials} trials of {options.optimizer} on {options.space}, {options.votes} votes, seed {options.seed}"
    )
    print(f"{'set':22}  rows test | search: best  ens. | test: best  ens. | difference [95 %]          | members  fit")
    comparisons = []
    for name in options.sets:
        each = compare(pd.read_csv(options.datasets / f"{name}.csv.gz", low_memory=False), options)
        comparisons.append(each)
        print(format_line(name, each), flush=True)
    no_worse = sum(each.interval[0] <= 0 for each in comparisons)
    better = sum(each.interval[1] < 0 for each in comparisons)
    lower = sum(each.difference <= 0 for each in comparisons)
    print(f"no worse: {no_worse} of {len(comparisons)}, better: {better}, equal or better: {lower}", end="; ")
    print(f"mean difference {np.mean([each.difference for each in comparisons]):+.4f}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Compare ensembles with best pipelines, on test rows.")
    parser.add_argument("datasets", type=Path, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=SETS, help="names of data sets")
    parser.add_argument("--space", default="admm_table_a3")
    parser.add_argument("--optimizer", default="random")
    parser.add_argument("--rows", type=int, default=1_500, help="maximum number of rows of a set")
    parser.add_argument("--share", type=float, default=0.4, help="share of the rows in the test set")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--votes", type=int, default=32, help="size of the ensemble")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trial-limit", default="10s")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--resamples", type=int, default=1_000)
    return parser.parse_args(arguments)


def compare(table: pd.DataFrame, options: argparse.Namespace) -> Comparison:
    """Make one run on a part of a table, and score it on the test set."""
    rows = table.sample(min(len(table), options.rows), random_state=options.seed)
    seen, test = train_test_split(rows, test_size=options.share, random_state=options.seed, stratify=rows["target"])
    started = time.perf_counter()
    result = sl.search(
        options.space,
        seen.drop(columns="target"),
        seen["target"],
        optimizer=options.optimizer,
        trials=options.trials,
        trial_limit=options.trial_limit if options.workers else None,
        workers=options.workers,
        seed=options.seed,
        ensemble=options.votes,
    )
    assert result.loss is not None
    assert result.ensemble_loss is not None
    assert result.ensemble_members is not None
    seconds = time.perf_counter() - started
    predictions = [TestPredictions(model, test) for model in (result.best_pipeline, result.ensemble)]
    all_rows = np.arange(len(test))
    rng = np.random.default_rng(options.seed)
    samples = [rng.integers(0, len(test), len(test)) for _ in range(options.resamples)]
    differences = [predictions[1].loss(places) - predictions[0].loss(places) for places in samples]
    low, high = np.nanpercentile(differences, (2.5, 97.5))
    return Comparison(
        rows=(len(seen), len(test)),
        search_losses=(result.loss, result.ensemble_loss),
        test_losses=(predictions[0].loss(all_rows), predictions[1].loss(all_rows)),
        interval=(float(low), float(high)),
        members=len(result.ensemble_members),
        fit=float(result.ensemble_members["seconds"].sum()) / seconds,
    )


class TestPredictions:
    """The predictions of a fitted classifier for test rows, which can be scored on any sample of them."""

    def __init__(self, model: Any, test: pd.DataFrame) -> None:
        features = test.drop(columns="target")
        self.labels = test["target"].to_numpy()
        self.second = model.classes_[1]
        self.is_binary = len(model.classes_) == 2
        self.answers = model.predict_proba(features)[:, 1] if self.is_binary else model.predict(features)

    def loss(self, places: Any) -> float:
        """Return 1 - AUROC of two classes, or 1 - balanced accuracy of more; NaN where it is undefined."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.is_binary:
                return 1 - float(roc_auc_score(self.labels[places] == self.second, self.answers[places]))
            return 1 - float(balanced_accuracy_score(self.labels[places], self.answers[places]))


def format_line(name: str, each: Comparison) -> str:
    """Return the line of a data set."""
    search_losses, test_losses = (
        f"{best:.4f} {ensemble:.4f}" for best, ensemble in (each.search_losses, each.test_losses)
    )
    difference = f"{each.difference:+.4f} [{each.interval[0]:+.4f}, {each.interval[1]:+.4f}]"
    counted = "".join(f"{count:5}" for count in each.rows)
    word = "better" if each.interval[1] < 0 else "no worse" if each.interval[0] <= 0 else "worse"
    members = f"{each.members:5} {each.fit:6.1%}"
    return f"{name:22} {counted} |   {search_losses}   |  {test_losses}   | {difference}  {word:8} | {members}"


if __name__ == "__main__":
    main()
