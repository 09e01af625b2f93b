"""Whether an archive of our own runs is worth shipping: one set left out, it must beat the default start at trial 25.

    python tests/benchmarks/archive.py DATASETS FOLDER [--sets sonar pc4 …] [--space mosaic] [--trials 100] [--early 25]

DATASETS is a folder with sets as `NAME.csv.gz`, their labels in the column `target`; without `--sets` all of them are
taken, which should be 25 at least. Of each at most `--rows` rows are drawn, and one run of `--trials` trials searches
them; it is kept in FOLDER, where what was stopped goes on by the same command. The archive of all of them is written
to FOLDER/archive.json. Then each set is searched twice for `--early` trials by the same optimizer and seed: once begun
with what the archive of the other sets suggests, and once with the default configuration.

Printed are, for each set, the losses of both at the last of these trials, and their difference (archive minus default);
then its mean with a 95 % interval by the bootstrap over sets, and the verdict: an archive is shipped where the interval
lies below 0. Nothing is asserted. With 25 sets and the space `mosaic` it takes hours.

With `--rows 500 --trial-limit 5s` on 25 sets of classes, an hour of one core, the mean difference of the losses is
-0.0002 [-0.0083, 0.0083]: smaller with the archive on 12 sets, equal on 5, larger on 8. None is shipped.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import spacelang as sl
from spacelang.api.archiving import make_archive

ENOUGH = 25
"""So many sets an archive has at least that is shipped."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make what is not there yet, and print a line for each set and the verdict."""
    options = parse(arguments)
    names = options.sets or sorted(path.name.removesuffix(".csv.gz") for path in options.datasets.glob("*.csv.gz"))
    options.folder.mkdir(parents=True, exist_ok=True)
    sets = {name: read(options.datasets / f"{name}.csv.gz", options) for name in names}
    stores = {name: options.folder / f"{name}.db" for name in names}
    for name, data in sets.items():
        search(data, options, options.trials, store=stores[name])
    make_archive(stores.values(), options.folder / "archive.json")
    print(f"{options.space}, {options.metric}, {options.optimizer}, seed {options.seed}: at trial {options.early}")
    print(f"{'set':24} {'archive':>9} {'default':>9} {'difference':>11}")
    differences = []
    for name, data in sets.items():
        others = make_archive([stores[each] for each in names if each != name], options.folder / f"without_{name}.json")
        warm = search(data, options, options.early, archive=others.archive, store=options.folder / f"{name}_warm.db")
        cold = search(data, options, options.early, initial="default", store=options.folder / f"{name}_default.db")
        differences.append(warm - cold)
        print(f"{name:24} {warm:9.5f} {cold:9.5f} {warm - cold:+11.5f}", flush=True)
    print(verdict(np.array(differences), options.resamples))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description="An archive of our own runs beside the default start.")
    parser.add_argument("datasets", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--space", default="mosaic")
    parser.add_argument("--optimizer", default="random")
    parser.add_argument("--metric", default="balanced_accuracy", help="the same for all sets, so that all can be used")
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--early", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trial-limit", default="60s")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--resamples", type=int, default=10_000)
    return parser.parse_args(arguments)


def read(path: Path, options: argparse.Namespace) -> pd.DataFrame:
    """At most so many rows of a set, without classes that are too rare for a split."""
    table = pd.read_csv(path, low_memory=False)
    rows = table.sample(min(len(table), options.rows), random_state=options.seed)
    counts = rows["target"].value_counts()
    return rows[rows["target"].isin(counts[counts >= 5].index)]


def search(data: pd.DataFrame, options: argparse.Namespace, trials: int, **begun: Any) -> float:
    """The loss that so many trials come to; 1 where none succeeds."""
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
            **begun,
        )
    except sl.NoSuccessError:
        return 1.0
    assert result.loss is not None
    return result.loss


def verdict(differences: np.ndarray, resamples: int) -> str:
    """The mean difference with its interval, and whether an archive is to be shipped."""
    drawn = np.random.default_rng(0).choice(differences, (resamples, len(differences))).mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    told = f"mean difference {differences.mean():+.5f} [{low:+.5f}, {high:+.5f}] over {len(differences)} sets: "
    if len(differences) < ENOUGH:
        return f"{told}fewer than {ENOUGH} sets say nothing yet"
    return told + ("ship the archive" if high < 0 else "ship none: it does not beat the default start")


if __name__ == "__main__":
    main()
