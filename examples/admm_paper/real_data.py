"""ADMM against one Gaussian process over everything, on data: prints tables of losses, on test rows too, and times.

    python examples/admm_paper/real_data.py DATASETS --output OUTPUT [--data pc4] [--seconds 160] [--seeds 3] [--jobs 2]

DATASETS is a folder with `fri_c2_1000_25.csv.gz` and `pc4.csv.gz`, their labels in the column `target`. A seed sets a
fifth of the rows apart, which no trial sees, and decides on which 30 % of the others trials are judged. Every run is
kept in OUTPUT, and what was stopped goes on by the same command.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from admm_paper.evidence import BASE, Run, Wish, better, budget, faster, limited, made, seconds_shown, shown, write
from contests import keeping

DATA: Final = ("fri_c2_1000_25", "pc4")
SPACE: Final = "admm_table_a3"
NAMES: Final = (BASE, "AdADMM-F16(BO,Ba)", "AdADMM-F16(BO,BO)")
ENOUGH: Final = 300
"""So many trials should a run have."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not there yet, and print what came of all."""
    options = keeping(__doc__, seconds=160, seeds=3)
    limited(options, "1s 4GB")
    options.add_argument("--data", action="append", help="a data set, again for each", default=[])
    chosen = options.parse_args(arguments)
    names, seeds = chosen.data or DATA, range(chosen.seeds)
    told = {**budget(chosen), "validate": "holdout(0.3)", "test": 0.2}
    wishes = [
        Wish(variant, seed, SPACE, label=name, data=chosen.datasets / f"{name}.csv.gz", options=told)
        for seed in seeds
        for name in names
        for variant in NAMES
    ]
    runs = made(wishes, Run.of, chosen.output, chosen.jobs)
    found = {(wish.label, wish.variant, wish.seed): run for wish, run in zip(wishes, runs, strict=True)}
    for name in names:
        write(chosen.output / f"{name}.csv", [row(*key, run, found) for key, run in found.items() if key[0] == name])
        report(name, {variant: [found[name, variant, seed] for seed in seeds] for variant in NAMES}, chosen.seconds)


def row(data: str, variant: str, seed: int, run: Run, runs: Mapping[tuple[str, str, int], Run]) -> dict[str, object]:
    """Of a run."""
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
        "reaches_jopt": run.reaches(runs[data, BASE, seed].loss),
    }


def report(name: str, runs: Mapping[str, Sequence[Run]], seconds: float) -> None:
    """Print a table of medians over the seeds with 95 % bootstrap intervals; differences are those of the same seed."""
    base = runs[BASE]
    print(f"\n{name}: {len(base)} runs of {seconds:g} s each")
    for variant, own in runs.items():
        print(f"{variant}")
        few = [each.trials for each in own if each.trials < ENOUGH]
        said = f"; fewer than {ENOUGH}: {', '.join(map(str, few))}" if few else ""
        print(f"  trials               {min(each.trials for each in own)} to {max(each.trials for each in own)}{said}")
        print(f"  of them failed       {min(each.failed for each in own)} to {max(each.failed for each in own)}")
        if variant != BASE:
            print(f"  iterations           at least {min(each.iterations for each in own)}")
        print(f"  loss in the search   {shown(each.loss for each in own)}")
        print(f"  loss on test rows    {shown(each.test for each in own)}")
        if variant != BASE:
            against(own, base)


def against(own: Sequence[Run], base: Sequence[Run]) -> None:
    """Print how runs do beside those of the base."""
    pairs = list(zip(own, base, strict=True))
    after = [each.reaches(other.loss) for each, other in pairs]
    print(f"  reaches {BASE}'s best  after {seconds_shown(after)}")
    print(f"  times as fast        {shown(faster(own, base), 2)}; 0 where it does not")
    print(f"  better in the search {shown(better(own, base), 1)} %")
    print(f"  less on test rows    {shown(other.test - each.test for each, other in pairs)}")


if __name__ == "__main__":
    main()
