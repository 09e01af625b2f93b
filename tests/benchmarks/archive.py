"""Test if an archive of our own runs is worth shipping: it must beat the default start at trial 25.

    python tests/benchmarks/archive.py DATASETS FOLDER [--sets sonar pc4 …] [--space mosaic] [--trials 100] [--early 25]

DATASETS is a folder of data sets `NAME.csv.gz`, with labels in the column `target`. Without `--sets` all of them are
used; there should be at least 25. At most `--rows` rows of each are sampled, and one run of `--trials` trials searches
them. Runs are stored in FOLDER, and the same command resumes interrupted runs. The archive of all runs is written to
FOLDER/archive.json. Then each set is searched twice for `--early` trials with the same optimizer and seed: once with
the initial configurations that the archive of the other sets suggests, and once with the default configuration.

For each set the script prints both losses at the last of these trials, and their difference (archive minus default).
Then it prints the mean difference with a 95 % bootstrap interval over sets, and the verdict: an archive is shipped if
the interval is below 0. The script asserts nothing. With 25 sets and the space `mosaic` it takes hours.

With `--rows 500 --trial-limit 5s` on 25 classification sets, an hour of one core, the mean difference of the losses is
-0.0002 [-0.0083, 0.0083]: smaller with the archive on 12 sets, equal on 5, larger on 8. No archive is shipped.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spacelang as sl
from spacelang.api.initial_configurations import make_run_archive

MIN_SETS = 25
"""The minimum number of sets of an archive that is shipped."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print a line for each set and the verdict."""
    options = parse(arguments)
    names = options.sets or sorted(path.name.removesuffix(".csv.gz") for path in options.datasets.glob("*.csv.gz"))
    options.folder.mkdir(parents=True, exist_ok=True)
    sets = {name: read_rows(options.datasets / f"{name}.csv.gz", options) for name in names}
    stores = {name: options.folder / f"{name}.db" for name in names}
    for name, data in sets.items():
        search(data, options, options.trials, store=stores[name])
    make_run_archive(stores.values(), options.folder / "archive.json")
    print(f"{options.space}, {options.metric}, {options.optimizer}, seed {options.seed}: at trial {options.early}")
    print(f"{'set':24} {'archive':>9} {'default':>9} {'difference':>11}")
    differences = []
    for name, data in sets.items():
        others = make_run_archive(
            [stores[each] for each in names if each != name], options.folder / f"without_{name}.json"
        )
        warm = search(data, options, options.early, archive=others.archive, store=options.folder / f"{name}_warm.db")
        cold = search(data, options, options.early, initial="default", store=options.folder / f"{name}_default.db")
        differences.append(warm - cold)
        print(f"{name:24} {warm:9.5f} {cold:9.5f} {warm - cold:+11.5f}", flush=True)
    print(format_verdict(np.array(differences), options.resamples))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Compare an archive of our own runs with the default start.")
    parser.add_argument("datasets", type=Path, help="folder of the data sets")
    parser.add_argument("folder", type=Path, help="folder in which runs are stored")
    parser.add_argument("--sets", nargs="+", help="names of data sets")
    parser.add_argument("--space", default="mosaic")
    parser.add_argument("--optimizer", default="random")
    parser.add_argument(
        "--metric", default="balanced_accuracy", help="metric of all runs; an archive needs the same one for all sets"
    )
    parser.add_argument("--rows", type=int, default=1_500, help="maximum number of rows of a set")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--early", type=int, default=25, help="number of trials of the comparison")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trial-limit", default="60s")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--resamples", type=int, default=10_000)
    return parser.parse_args(arguments)


def read_rows(path: Path, options: argparse.Namespace) -> pd.DataFrame:
    """Return at most `--rows` rows of a set, without classes that are too rare for a split."""
    table = pd.read_csv(path, low_memory=False)
    rows = table.sample(min(len(table), options.rows), random_state=options.seed)
    counts = rows["target"].value_counts()
    return rows[rows["target"].isin(counts[counts >= 5].index)]


def search(data: pd.DataFrame, options: argparse.Namespace, trials: int, **start: Any) -> float:
    """Return the final loss of a search; 1 if no trial succeeds."""
    try:
        result = sl.search(
            options.space,
            data.drop(columns="target"),
            data["target"],
            optimizer=options.optimizer,
            metric=options.metric,
            trials=trials,
            trial_limit=options.trial_limit if options.workers else None,
            workers=options.workers,
            seed=options.seed,
            resume=True,
            **start,
        )
    except sl.NoSuccessError:
        return 1.0
    assert result.loss is not None
    return result.loss


def format_verdict(differences: np.ndarray, resamples: int) -> str:
    """Return a text with the mean difference, its interval, and whether to ship an archive."""
    resampled = np.random.default_rng(0).choice(differences, (resamples, len(differences))).mean(axis=1)
    low, high = np.percentile(resampled, [2.5, 97.5])
    text = f"mean difference {differences.mean():+.5f} [{low:+.5f}, {high:+.5f}] over {len(differences)} sets: "
    if len(differences) < MIN_SETS:
        return f"{text}fewer than {MIN_SETS} sets are not conclusive"
    return text + ("ship the archive" if high < 0 else "do not ship it: it does not beat the default start")


if __name__ == "__main__":
    main()
