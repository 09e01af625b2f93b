"""Compare the optimizers of the BLDS paper on large tables, by the loss on rows that no trial saw.

    python examples/blds_paper/large_tables.py DATASETS --output OUTPUT [--results RESULTS] [--seconds 300] [--report]

The paper's claim is about tables of 10,885 to 245,057 rows. This script searches the paper's 3,072 pipelines
(`blds_table1`) on four tables of 34,465 to 70,000 rows, with the options of the paper and two seeds. A fifth of the
rows, drawn with the seed, is the test set. Runs are stored in OUTPUT, and the same command resumes interrupted runs;
runs in the CSV file of RESULTS are not repeated. With `--report`, no runs are made, and the tables all of whose runs
are stored are reported.

The script prints the mean log ratio of the test losses of BLDS and each other optimizer at the end of the time, with a
95 % interval by bootstrap over tables, and the smallest difference that could have been detected. It also prints ranks
of mean losses, as the paper has them, and how many times longer a trial takes on all rows than on 100 rows.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from contest_reports import Part, run_part
from contests import Candidate, Run, make_parser

import spacelang as sl

DATA: Final = ("cardio", "adult", "bank_marketing", "nomao")
FEW_ROWS: Final = 100
"""The number of rows of the cheapest trials of BLDS, MLDS, DAUB and Hyperband."""
COSTS: Final = ("ms on 100 rows", "ms on all rows")
RATIO: Final = "cost ratio"


def measure_costs(result: sl.Result) -> Mapping[str, float]:
    """Return the median milliseconds of a run's trials on 100 rows and on all training rows, and the median ratio.

    The ratio is that of the same pipeline, over the pipelines that were trained on both.
    """
    finished = [record.trial for record in result.outcome.records if record.trial.loss is not None]
    few, whole = (
        {trial.request.configuration: trial.cost for trial in finished if trial.request.fidelity == rows}
        for rows in (FEW_ROWS, None)
    )
    costs = {
        name: round(1000 * median(each.values()), 1) for name, each in zip(COSTS, (few, whole), strict=True) if each
    }
    ratios = [cost / few[pipeline] for pipeline, cost in whole.items() if pipeline in few]
    return {**costs, RATIO: round(median(ratios), 2)} if ratios else costs


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
PART: Final = Part("blds_table1", CANDIDATES, BASE, (BASE,), seeds=2)


def cost_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield how many times longer a trial takes on all rows than on 100 rows, for each table.

    The first ratio is that of the medians over all runs, so it compares different pipelines. The second one is that of
    the same pipelines, which are those that a run promotes from 100 rows to all.
    """
    for data in dict.fromkeys(run.data for run in runs):
        found = [
            [run.counts[name] for run in runs if run.data == data and name in run.counts] for name in (*COSTS, RATIO)
        ]
        few, whole, ratio = (median(each) if each else nan for each in found)
        same = "" if isnan(ratio) else f"; of the same pipelines {ratio:.1f}"
        yield (
            f"{data}: no trial on {FEW_ROWS} rows and on all rows finished"
            if isnan(few) or isnan(whole)
            else f"{data}: {few:.0f} ms on {FEW_ROWS} rows, {whole:.0f} ms on all, ratio {whole / few:.1f}{same}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    chosen = make_parser(__doc__, seconds=300).parse_args(arguments)
    search_options = {"metric": "roc_auc", "validate": "holdout(0.3)"}
    runs = run_part(PART, chosen, DATA, search_options, folder=chosen.output, results="large_tables")
    print("", *cost_lines(runs), sep="\n")


if __name__ == "__main__":
    main()
