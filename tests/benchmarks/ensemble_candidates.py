"""Compare two rules for the candidates of an ensemble: those of spacelang, and the 32 best pipelines of all learners.

    python tests/benchmarks/ensemble_candidates.py DATASETS TABLE [TABLE ...] --output FOLDER [--seconds 60] [--seed 0]

DATASETS is a folder of tables `NAME.csv.gz`, with labels in the column `target`. For each table one search by `auto`
with the learners of lightgbm and xgboost is stored in FOLDER. From its trials the members are selected by each rule,
fitted on all training rows, and scored on a fifth of the rows that no trial saw. The script prints the losses, and the
mean log ratio of the losses over all tables, with a 95 % interval by bootstrap over tables. It asserts nothing.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from default import benchmark
from default.single_run import TARGET

from spacelang.api.reopened_runs import ReopenedRun, reopen_run
from spacelang.bench.comparison.ranks import bootstrap_mean
from spacelang.runtime.ensembles import construction

PACKAGES: Final = ("lightgbm", "xgboost")
VOTES: Final = 32
EQUAL_SHARES: Final = construction.choose_equal_shares


def choose_lowest_losses(
    losses: Sequence[float], _learners: Sequence[str], size: int, usable: Callable[[int], bool] = lambda _: True
) -> list[int]:
    """Return the ascending indices of the lowest losses, whatever their learners."""
    return EQUAL_SHARES(losses, [""] * len(losses), size, usable)


def measure_loss(run: ReopenedRun, split: benchmark.Split, rule: Callable[..., list[int]]) -> tuple[float, int]:
    """Return the loss on test rows of the ensemble by a rule, and its number of members."""
    construction.choose_equal_shares = rule
    chosen = run.select_ensemble(VOTES)
    features, test = (rows.drop(columns=TARGET) for rows in (split.training, split.test))
    vote = run.unfitted_pipeline(chosen).fit(features, split.training[TARGET])
    if split.metric == "roc_auc":
        predicted = vote.predict_proba(test)[:, [*vote.classes_].index(split.classes[-1])]
    else:
        predicted = vote.predict(test)
    return split.loss(np.asarray(predicted)), len(chosen.members)


def compare_rules(table: Path, folder: Path, seconds: float, seed: int) -> tuple[float, float]:
    """Search a table if its store does not exist, print both losses, and return them at least as the floor."""
    split = benchmark.split_table(table, seed)
    name = table.name.removesuffix(".csv.gz")
    data, store = folder / f"{name}.csv", folder / f"{name}_{seconds:g}_{seed}.db"
    if not store.exists():
        split.training.to_csv(data, index=False)
        options = {"data": data, "target-column": TARGET, "metric": split.metric, "time": f"{seconds:g}s", "seed": seed}
        given = [f"--{name}={value}" for name, value in {**options, "ensemble": VOTES, "store": store}.items()]
        allowed = [f"--allow={each}" for each in PACKAGES]
        subprocess.run(
            [sys.executable, "-m", "spacelang", "run", *given, *allowed], check=True, stdout=subprocess.DEVNULL
        )
    run = reopen_run(store, data=str(data), allow=PACKAGES)
    (ours, members), (other, others) = (measure_loss(run, split, rule) for rule in (EQUAL_SHARES, choose_lowest_losses))
    print(f"{name} {split.metric}: {ours:.5f} with {members} members, {other:.5f} with {others}", flush=True)
    return max(ours, split.floor), max(other, split.floor)


def main() -> None:
    """Compare both rules on the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    losses = [
        compare_rules(given.datasets / f"{name}.csv.gz", given.output, given.seconds, given.seed)
        for name in given.tables
    ]
    found = bootstrap_mean(np.log([ours / other for ours, other in losses]))
    print(f"mean log ratio {found.value:.3f} [{found.low:.3f}, {found.high:.3f}]")


if __name__ == "__main__":
    main()
