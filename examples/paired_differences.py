"""Compare optimizers in pairs by the losses of their runs on test rows, over several results files.

    python examples/paired_differences.py DATASETS RESULTS.csv [RESULTS.csv ...] --base NAME [--without DATA ...]

DATASETS is the folder of the data sets of the runs, and RESULTS.csv a results file of a contest. The difference of a
data set is the mean over its seeds of log(loss of the base / loss of the other); negative numbers are in favour of the
base. The mean over data sets has a 95 % interval by bootstrap over data sets, and the smallest true difference that a
test with as many data sets would detect with a probability of 80 %. Data sets without all runs are left out. With
`--mann-whitney`, the seeds of each data set are compared as well.
"""

import argparse
import gzip
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb, inf, isnan
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).parent))

from contests import TEST_SHARE, Run, find_data_sets, read_rows
from default.analysis import compare, comparison_table

RunKey: TypeAlias = tuple[str, str, int]
"""The identity of a run: its data set, candidate and seed."""
CONSTANT_LOSS: Final = 0.5
"""The loss of a constant prediction, for 1 - AUROC and for 1 - balanced accuracy of two classes."""
SMALLEST_LOSS: Final = 1e-4
"""The smallest loss that is told apart from 0 on a data set whose number of rows is not known."""
SIGNIFICANT: Final = 0.05
"""A difference of the seeds of a data set with a smaller p is significant, as in the MOSAIC paper."""
MAX_SPLITS: Final = 200_000
"""The largest number of splits of the runs into two groups for an exact test; it suffices for ten seeds."""


def find_floors(paths: Iterable[Path]) -> Mapping[str, float]:
    """Return half of the share of one test row for each data set; smaller losses are not told apart."""
    floors = {}
    for path in paths:
        with gzip.open(path) as lines:
            rows = sum(1 for _ in lines) - 1
        floors[path.name.partition(".")[0]] = 0.5 / max(TEST_SHARE * rows, 1)
    return floors


def final_losses(runs: Iterable[Run]) -> "Mapping[str, pd.Series[Any]]":
    """Return the test losses of the final incumbents by data set and seed, for each candidate.

    A run without a loss has the largest loss of its data set, and at least that of a constant prediction.
    """
    found = [(run, run.losses_at(inf)[1]) for run in runs]
    worst: dict[str, float] = {}
    for run, loss in found:
        worst[run.data] = max(worst.get(run.data, CONSTANT_LOSS), CONSTANT_LOSS if isnan(loss) else loss)
    losses: dict[str, dict[tuple[str, int], float]] = {}
    for run, loss in found:
        losses.setdefault(run.candidate, {})[run.data, run.seed] = worst[run.data] if isnan(loss) else loss
    return {name: pd.Series(each).rename_axis(["table", "seed"]) for name, each in losses.items()}


def comparison_lines(runs: Iterable[Run], base: str, floors: Mapping[str, float]) -> Iterator[str]:
    """Yield a table of the mean log ratios of the test losses of the base to those of the others."""
    logarithms = {name: _log(losses, floors) for name, losses in final_losses(runs).items()}
    others = [name for name in logarithms if name != base]
    yield from comparison_table([compare(logarithms[base], logarithms[name], name) for name in others], base)


def _log(losses: "pd.Series[Any]", floors: Mapping[str, float]) -> "pd.Series[Any]":
    smallest = [floors.get(table, SMALLEST_LOSS) for table in losses.index.get_level_values("table")]
    return pd.Series(np.log(np.maximum(losses.to_numpy(dtype=np.float64), smallest)), index=losses.index)


def mann_whitney_lines(runs: Iterable[Run], base: str) -> Iterator[str]:
    """Yield a table of the two-sided Mann-Whitney tests of the base and each other candidate on each data set.

    If there are too few seeds for any significant difference, yield a sentence that says so instead.
    """
    losses = final_losses(runs)
    tables = [*losses[base].index.unique("table")]
    seeds = len(losses[base]) // len(tables)
    smallest = 2 / comb(2 * seeds, seeds)
    if smallest >= SIGNIFICANT:
        yield (
            f"Mann-Whitney tests of {seeds} {'seed' if seeds == 1 else 'seeds'} cannot be significant, because the "
            f"smallest possible p is {min(smallest, 1):.2g}: use at least 4 seeds"
        )
        return
    yield (
        f"| `{base}` compared with, by Mann-Whitney tests of {seeds} seeds | better (p < {SIGNIFICANT}) | worse "
        "| not significant | p by data set |"
    )
    yield "| --- | --- | --- | --- | --- |"
    for name in (name for name in losses if name != base):
        pairs = {table: (losses[base][table].to_numpy(), losses[name][table].to_numpy()) for table in tables}
        found = {table: mann_whitney(*pair) for table, pair in pairs.items()}
        significant = [table for table, p in found.items() if p < SIGNIFICANT]
        better = sum(np.median(pairs[table][0]) < np.median(pairs[table][1]) for table in significant)
        counts = (better, len(significant) - better, len(tables) - len(significant))
        listed = ", ".join(f"{table} {p:.2g}" for table, p in found.items())
        yield f"| `{name}` | {' | '.join(map(str, counts))} | {listed} |"


def mann_whitney(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the exact two-sided p of the Mann-Whitney test, also for tied values.

    It is the share of all splits of the values into two groups of these sizes whose rank sums differ at least as much
    from their mean.
    """
    number, size = len(one) + len(other), len(one)
    if comb(number, size) > MAX_SPLITS:
        sys.exit(f"an exact test of {size} and {number - size} runs takes too long: use at most 10 seeds")
    ranks = rankdata([*one, *other])
    sums = np.array([sum(each) for each in combinations(ranks, size)])
    distances = np.abs(sums - size * (number + 1) / 2)
    return float(np.mean(distances >= distances[0] - 1e-9))  # the first split is the observed one


def with_ensembles(runs: Iterable[Run]) -> list[Run]:
    """Return the runs, followed by their copies with ensembles of the candidates that always have one."""
    runs = [*runs]
    some = {run.candidate for run in runs if run.ensemble is not None}
    always = some - {run.candidate for run in runs if run.curve and run.ensemble is None}
    return runs + [run.with_ensemble() for run in runs if run.candidate in always]


def select_complete_data(runs: Sequence[Run], missing: Iterable[RunKey]) -> list[Run]:
    """Return the runs on the data sets without missing runs; print the missing ones."""
    by_data: dict[str, list[RunKey]] = {}
    for key in missing:
        by_data.setdefault(key[0], []).append(key)
    complete = [run for run in runs if run.data not in by_data]
    if not by_data:
        return complete
    number = sum(map(len, by_data.values()))
    print(f"\n{number} of {len(runs) + number} runs are missing; data sets without all runs are left out:")
    made = {run.data for run in runs}
    for data, keys in by_data.items():
        names = "; ".join(f"{candidate}, seed {seed}" for _, candidate, seed in keys)
        print(f"  {data}: {names if data in made else f'all {len(keys)} runs'}")
    # With fewer seeds more data sets may be complete.
    first_missing = {data: min(seed for _, _, seed in keys) for data, keys in by_data.items()}
    usable = [f"{data}: {seeds}" for data, seeds in first_missing.items() if seeds > 0]
    if usable:
        print(f"  numbers of seeds that are complete, for `--seeds`: {', '.join(usable)}")
    if not complete:
        print("  nothing to compare: no data set has all runs")
    return complete


def find_missing(runs: Sequence[Run]) -> Iterator[RunKey]:
    """Yield the keys of runs that others of the same results would lead one to expect."""
    keys = {run.key for run in runs}
    for data, name, seed in ((d, n, s) for d in _unique(keys, 0) for n in _unique(keys, 1) for s in _unique(keys, 2)):
        if (data, name, seed) not in keys:
            yield data, name, seed


def _unique(keys: Iterable[tuple[Any, ...]], place: int) -> list[Any]:
    return sorted({key[place] for key in keys})


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the comparison of the runs in results files."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("datasets", type=Path, help="folder of the data sets `NAME.csv.gz`")
    options.add_argument("results", type=Path, nargs="+", help="results file of a contest")
    options.add_argument("--base", required=True, help="the optimizer that is compared with all others")
    options.add_argument("--without", action="append", default=[], help="a data set to leave out; repeat for several")
    options.add_argument("--seeds", type=int, help="number of seeds to compare, from 0 on (default: all)")
    options.add_argument("--mann-whitney", action="store_true", help="compare the seeds of each data set as well")
    chosen = options.parse_args(arguments)
    absent = [str(path) for path in chosen.results if not path.exists()]
    if absent:
        sys.exit(f"these files do not exist: {', '.join(absent)}")
    runs = [run for path in chosen.results for run in read_rows(path, 0.0) if run.data not in chosen.without]
    runs = with_ensembles(run for run in runs if chosen.seeds is None or run.seed < chosen.seeds)
    names = dict.fromkeys(run.candidate for run in runs)
    if chosen.base not in names:
        sys.exit(
            f"there is no run of `{chosen.base}`; choose another --base: {', '.join(names) or 'there are no runs'}"
        )
    complete = select_complete_data(runs, find_missing(runs))
    if complete:
        data = [*dict.fromkeys(run.data for run in complete)]
        print(f"{len(data)} data sets, {len(complete)} runs: {', '.join(data)}")
        floors = find_floors(find_data_sets(chosen.datasets, data))
        print("", *comparison_lines(complete, chosen.base, floors), sep="\n")
        if chosen.mann_whitney:
            print("", *mann_whitney_lines(complete, chosen.base), sep="\n")


if __name__ == "__main__":
    main()
