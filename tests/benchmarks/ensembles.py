"""What an ensemble is worth beside the best pipeline of the same run, on rows that neither has seen.

    python tests/benchmarks/ensembles.py DATASETS [--sets sonar pc4 …] [--rows 1500] [--trials 40] [--votes 32]

DATASETS is a folder with sets as `NAME.csv.gz`, their labels in the column `target`. Of each set at most so many rows
are drawn, a part of them is kept for testing, and one run searches the others; its best pipeline and the ensemble of
its trials, both fitted on all that the run may see, are judged on the test rows.

Printed are, for each set, the loss (1 - AUROC of two classes, 1 - balanced accuracy of more) of both on the rows of the
search and on the test rows, and the difference there (ensemble minus best pipeline) with its 95 % interval: by the
bootstrap, the same rows drawn for both. `no worse` says that this interval does not lie above 0, `better` that it lies
below. `members` have the votes, and `fit` is what fitting them took, as a share of the seconds of the search. Nothing
is asserted.
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
class Compared:
    """Losses on the rows of the search and on the test rows, of the best pipeline and of the ensemble."""

    rows: tuple[int, int]
    searched: tuple[float, float]
    tested: tuple[float, float]
    interval: tuple[float, float]
    members: int
    fit: float

    @property
    def difference(self) -> float:
        """By how much the ensemble is worse on the test rows."""
        return self.tested[1] - self.tested[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each set, and how often the ensemble was no worse, better, and lower at all."""
    options = parse(arguments)
    print(
        f"{options.trials} trials of {options.optimizer} on {options.space}, {options.votes} votes, seed {options.seed}"
    )
    print(f"{'set':22}  rows test | search: best  ens. | test: best  ens. | difference [95 %]          | members  fit")
    found = []
    for name in options.sets:
        each = compare(pd.read_csv(options.datasets / f"{name}.csv.gz", low_memory=False), options)
        found.append(each)
        print(line(name, each), flush=True)
    no_worse = sum(each.interval[0] <= 0 for each in found)
    better = sum(each.interval[1] < 0 for each in found)
    lower = sum(each.difference <= 0 for each in found)
    print(f"no worse: {no_worse} of {len(found)}, better: {better}, as low or lower: {lower}", end="; ")
    print(f"mean difference {np.mean([each.difference for each in found]):+.4f}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="Ensembles beside best pipelines, on test rows.")
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--space", default="admm_table_a3")
    parser.add_argument("--optimizer", default="random")
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--share", type=float, default=0.4, help="of the rows for testing")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--votes", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trial-limit", default="10s")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--resamples", type=int, default=1_000)
    return parser.parse_args(arguments)


def compare(table: pd.DataFrame, options: argparse.Namespace) -> Compared:
    """One run on a part of a table, and what came of it on another."""
    rows = table.sample(min(len(table), options.rows), random_state=options.seed)
    seen, test = train_test_split(rows, test_size=options.share, random_state=options.seed, stratify=rows["target"])
    begun = time.perf_counter()
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
    took = time.perf_counter() - begun
    judged = [Judged(model, test) for model in (result.best_pipeline, result.ensemble)]
    everything = np.arange(len(test))
    rng = np.random.default_rng(options.seed)
    drawn = [rng.integers(0, len(test), len(test)) for _ in range(options.resamples)]
    differences = [judged[1].loss(places) - judged[0].loss(places) for places in drawn]
    low, high = np.nanpercentile(differences, (2.5, 97.5))
    return Compared(
        rows=(len(seen), len(test)),
        searched=(result.loss, result.ensemble_loss),
        tested=(judged[0].loss(everything), judged[1].loss(everything)),
        interval=(float(low), float(high)),
        members=len(result.ensemble_members),
        fit=float(result.ensemble_members["seconds"].sum()) / took,
    )


class Judged:
    """What a fitted classifier says of test rows, to be judged on any of them."""

    def __init__(self, model: Any, test: pd.DataFrame) -> None:
        features = test.drop(columns="target")
        self.labels = test["target"].to_numpy()
        self.second = model.classes_[1]
        self.is_binary = len(model.classes_) == 2
        self.answers = model.predict_proba(features)[:, 1] if self.is_binary else model.predict(features)

    def loss(self, places: Any) -> float:
        """1 - AUROC of two classes, 1 - balanced accuracy of more, as searches have it; nan where it is undefined."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.is_binary:
                return 1 - float(roc_auc_score(self.labels[places] == self.second, self.answers[places]))
            return 1 - float(balanced_accuracy_score(self.labels[places], self.answers[places]))


def line(name: str, each: Compared) -> str:
    """The line of a set."""
    searched, tested = (f"{best:.4f} {ensemble:.4f}" for best, ensemble in (each.searched, each.tested))
    difference = f"{each.difference:+.4f} [{each.interval[0]:+.4f}, {each.interval[1]:+.4f}]"
    counted = "".join(f"{count:5}" for count in each.rows)
    word = "better" if each.interval[1] < 0 else "no worse" if each.interval[0] <= 0 else "worse"
    members = f"{each.members:5} {each.fit:6.1%}"
    return f"{name:22} {counted} |   {searched}   |  {tested}   | {difference}  {word:8} | {members}"


if __name__ == "__main__":
    main()
