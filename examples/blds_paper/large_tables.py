"""Compare the optimizers of the BLDS paper on large tables, by the loss on rows that no trial saw.

    python examples/blds_paper/large_tables.py DATASETS --output OUTPUT [--results RESULTS] [--seconds 300] [--jobs 2]

The paper's claim is about tables of 10,885 to 245,057 rows. This script searches the paper's 3,072 pipelines
(`blds_table1`) on four tables of 34,465 to 70,000 rows, with the options of the paper and two seeds. A fifth of the
rows, drawn with the seed, is the test set. Runs are stored in OUTPUT, and the same command resumes interrupted runs;
runs in the CSV file of RESULTS are not repeated.

The script prints the mean log ratio of the test losses of BLDS and each other optimizer at the end of the time, with a
95 % interval by bootstrap over tables, and the smallest difference that could have been detected. It also prints ranks
of mean losses, as the paper has them, and how many times longer a trial takes on all rows than on 100 rows.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan, log
from pathlib import Path
from statistics import median
from typing import Any, Final

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from contests import (
    Candidate,
    Contest,
    Run,
    find_data_sets,
    get_results_path,
    get_search_options,
    make_parser,
    make_runs,
    report,
    select_available,
)
from default.analysis import compare, comparison_table

import spacelang as sl

DATA: Final = ("cardio", "adult", "bank_marketing", "nomao")
FEW_ROWS: Final = 100
"""The number of rows of the cheapest trials of BLDS, CMAB, DAUB and Hyperband."""
SMALLEST_LOSS: Final = 1e-4
"""Losses below this one are equal to it: about half of the share of one test row."""
COSTS: Final = ("ms on 100 rows", "ms on all rows")


def measure_costs(result: sl.Result) -> Mapping[str, int]:
    """Return the median milliseconds of a run's trials on 100 rows, and on all training rows."""
    finished = [record.trial for record in result.outcome.records if record.trial.loss is not None]
    few = [trial.cost for trial in finished if trial.request.fidelity == FEW_ROWS]
    whole = [trial.cost for trial in finished if trial.request.fidelity is None]
    return {name: round(1000 * median(each)) for name, each in zip(COSTS, (few, whole), strict=True) if each}


def make_candidate(name: str, optimizer: str, **options: str) -> Candidate:
    """Return an optimizer with options."""
    return Candidate(name, optimizer, options, counts=measure_costs)


CANDIDATES: Final = (
    make_candidate("blds disc=1", "blds", disc="1"),
    make_candidate("lds disc=1", "lds", disc="1"),
    make_candidate("mlds disc=1", "mlds", disc="1"),
    make_candidate("cmab f_hat=0.3", "cmab", f_hat="0.3"),
    make_candidate("daub", "daub"),
    make_candidate("hyperband defaults", "hyperband", hyperparameters="default"),
    make_candidate("random", "random"),
)
BASE: Final = CANDIDATES[0].name


def log_losses(runs: Iterable[Run], seconds: float) -> "Mapping[str, pd.Series[Any]]":
    """Return the logarithms of the last test losses by table and seed, for each candidate.

    A run without a loss counts as a constant prediction, whose loss is 0.5.
    """
    found: dict[str, dict[tuple[str, int], float]] = {}
    for run in runs:
        _, loss = run.losses_at(seconds)
        found.setdefault(run.candidate, {})[run.data, run.seed] = log(max(0.5 if isnan(loss) else loss, SMALLEST_LOSS))
    return {name: pd.Series(losses).rename_axis(["table", "seed"]) for name, losses in found.items()}


def comparison_lines(runs: Iterable[Run], seconds: float) -> Iterable[str]:
    """Return a table of the mean log ratios of test losses of BLDS to those of the others."""
    losses = log_losses(runs, seconds)
    return comparison_table([compare(losses[BASE], losses[name], name) for name in losses if name != BASE], BASE)


def cost_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield how many times longer the median trial takes on all rows than on 100 rows, for each table."""
    for data in dict.fromkeys(run.data for run in runs):
        costs = [[run.counts[name] for run in runs if run.data == data and name in run.counts] for name in COSTS]
        if all(costs):
            few, whole = (median(each) for each in costs)
            yield f"{data}: {few:.0f} ms on {FEW_ROWS} rows, {whole:.0f} ms on all, ratio {whole / few:.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_parser(__doc__, seconds=300, seeds=2)
    chosen = options.parse_args(arguments)
    contest = Contest(
        "blds_table1",
        select_available(CANDIDATES),
        find_data_sets(chosen.datasets, chosen.data or DATA),
        range(chosen.seeds),
        chosen.seconds,
        {"metric": "roc_auc", "validate": "holdout(0.3)", **get_search_options(chosen)},
        get_results_path(chosen.results, "large_tables", seconds=chosen.seconds),
    )
    runs = make_runs(contest, chosen.output, chosen.jobs)
    report(contest, runs, BASE)
    print("", *comparison_lines(runs, chosen.seconds), "", *cost_lines(runs), sep="\n")


if __name__ == "__main__":
    main()
