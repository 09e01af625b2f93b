"""Compare optimizers with random search on the functions of `tests/benchmark_functions.py`.

    PYTHONPATH=tests python tests/benchmarks/cheap_functions.py --output regrets.csv auto smac:retrain_after=32

Each argument is an optimizer, with options after a colon, separated by commas. The script prints for each optimizer and
function the number of seeds for which it is ahead of random search, its median regret and the mean seconds of a run.
Regrets are appended to the CSV file, which a later run reads instead of searching again. The table in
`spacelang/optimizers/README.md`, section "Cheap functions", has 10 seeds.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from time import process_time
from typing import Final

from benchmark_functions import FUNCTIONS, regret

from spacelang.optimizers import OPTIMIZERS

BASELINE: Final = "random"
Regrets = dict[tuple[str, str, int], tuple[float, float]]
"""The regret and the seconds of an optimizer on a function with a seed."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each optimizer and function."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("optimizers", nargs="+", metavar="OPTIMIZER[:OPTION=VALUE,...]")
    options.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=["bowl", "conditional", "noisy"])
    options.add_argument("--seeds", type=int, default=10, help="number of seeds")
    options.add_argument("--output", type=Path, required=True, metavar="FILE.csv", help="the file of the regrets")
    chosen = options.parse_args(arguments)
    known = read(chosen.output)
    for function in chosen.functions:
        for optimizer in dict.fromkeys([BASELINE, *chosen.optimizers]):
            for seed in range(chosen.seeds):
                if (optimizer, function, seed) not in known:
                    start = process_time()
                    found = regret(configured(optimizer), FUNCTIONS[function], seed)
                    known[optimizer, function, seed] = found, process_time() - start
                    with chosen.output.open("a", newline="", encoding="utf-8") as file:
                        csv.writer(file).writerow([optimizer, function, seed, *known[optimizer, function, seed]])
            print(summary(known, optimizer, function, chosen.seeds), flush=True)


def read(path: Path) -> Regrets:
    """Return the regrets in a file; none if it does not exist."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {(each[0], each[1], int(each[2])): (float(each[3]), float(each[4])) for each in csv.reader(file)}


def configured(text: str) -> object:
    """Return the optimizer of an argument."""
    name, _, options = text.partition(":")
    given = dict(each.split("=", 1) for each in options.split(",") if each)
    return OPTIMIZERS.configure(OPTIMIZERS.load(name), given)


def summary(known: Regrets, optimizer: str, function: str, seeds: int) -> str:
    """Return the line of an optimizer on a function."""
    own, other = ([known[each, function, seed] for seed in range(seeds)] for each in (optimizer, BASELINE))
    ahead = sum(one[0] < two[0] for one, two in zip(own, other, strict=True))
    middle, seconds = median(regret for regret, _ in own), fmean(seconds for _, seconds in own)
    return f"{function:12} {optimizer:50} {ahead:3} of {seeds} ahead, median regret {middle:.5f}, {seconds:.1f} s"


if __name__ == "__main__":
    main()
