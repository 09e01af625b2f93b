"""Compare ADMM with a single Gaussian process on data: prints tables of losses, also on test rows, and times.

    python examples/admm_paper/real_data.py DATASETS --output OUTPUT [--data pc4] [--seconds 160] [--seeds 3] [--jobs 2]

DATASETS is a folder with `fri_c2_1000_25.csv.gz` and `pc4.csv.gz`, with labels in the column `target`. A seed draws a
fifth of the rows as the test set, and 30 % of the other rows as the held-out rows of the search. Runs are stored in
OUTPUT, and the same command resumes interrupted runs.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from admm_paper.evidence import (
    BASE,
    Run,
    RunRequest,
    add_search_options,
    compute_improvements,
    compute_speedups,
    format_median,
    format_times,
    get_search_options,
    make_runs,
    write_csv,
)
from contests import make_base_parser

DATA: Final = ("fri_c2_1000_25", "pc4")
SPACE: Final = "admm_table_a3"
VARIANT_NAMES: Final = (BASE, "AdADMM-F16(BO,Ba)", "AdADMM-F16(BO,BO)")
MIN_TRIALS: Final = 300
"""The number of trials that a run should have."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the missing runs, and print the results of all."""
    options = make_base_parser(__doc__, seconds=160, seeds=3)
    add_search_options(options, "1s 4GB")
    options.add_argument(
        "--data", action="append", help="name of a data set; repeat the option for several", default=[]
    )
    chosen = options.parse_args(arguments)
    names, seeds = chosen.data or DATA, range(chosen.seeds)
    search_options = {**get_search_options(chosen), "validate": "holdout(0.3)", "test": 0.2}
    requests = [
        RunRequest(variant, seed, SPACE, label=name, data=chosen.datasets / f"{name}.csv.gz", options=search_options)
        for seed in seeds
        for name in names
        for variant in VARIANT_NAMES
    ]
    runs = make_runs(requests, Run.from_stored, chosen.output, chosen.jobs)
    found = {(request.label, request.variant, request.seed): run for request, run in zip(requests, runs, strict=True)}
    for name in names:
        write_csv(
            chosen.output / f"{name}.csv", [make_row(*key, run, found) for key, run in found.items() if key[0] == name]
        )
        report(
            name, {variant: [found[name, variant, seed] for seed in seeds] for variant in VARIANT_NAMES}, chosen.seconds
        )


def make_row(
    data: str, variant: str, seed: int, run: Run, runs: Mapping[tuple[str, str, int], Run]
) -> dict[str, object]:
    """Return the row of a run."""
    return {
        "data": data,
        "optimizer": variant,
        "seed": seed,
        "trials": run.trials,
        "failed": run.failed,
        "iterations": run.iterations,
        "loss": run.loss,
        "test": run.test,
        "test_low": run.test_low,
        "test_high": run.test_high,
        "reaches_jopt": run.seconds_to_reach(runs[data, BASE, seed].loss),
    }


def report(name: str, runs: Mapping[str, Sequence[Run]], seconds: float) -> None:
    """Print medians over the seeds with 95 % bootstrap intervals; differences compare runs of the same seed."""
    base = runs[BASE]
    print(f"\n{name}: {len(base)} runs of {seconds:g} s each")
    for variant, own in runs.items():
        print(f"{variant}")
        few = [each.trials for each in own if each.trials < MIN_TRIALS]
        warning = f"; fewer than {MIN_TRIALS}: {', '.join(map(str, few))}" if few else ""
        print(
            f"  trials               {min(each.trials for each in own)} to {max(each.trials for each in own)}{warning}"
        )
        print(f"  failed trials        {min(each.failed for each in own)} to {max(each.failed for each in own)}")
        if variant != BASE:
            print(f"  iterations           at least {min(each.iterations for each in own)}")
        print(f"  loss in the search   {format_median(each.loss for each in own)}")
        print(f"  loss on test rows    {format_median(each.test for each in own)}")
        if variant != BASE:
            print_differences(own, base)


def print_differences(own: Sequence[Run], base: Sequence[Run]) -> None:
    """Print a comparison of runs with those of the base."""
    pairs = list(zip(own, base, strict=True))
    times = [each.seconds_to_reach(other.loss) for each, other in pairs]
    print(f"  reaches {BASE}'s best  after {format_times(times)}")
    print(f"  times as fast        {format_median(compute_speedups(own, base), 2)}; 0 if never reached")
    print(f"  better in the search {format_median(compute_improvements(own, base), 1)} %")
    print(f"  less on test rows    {format_median(other.test - each.test for each, other in pairs)}")


if __name__ == "__main__":
    main()
