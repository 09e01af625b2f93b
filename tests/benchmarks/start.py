"""Measure the processor time of a run without its trials, as a multiple of importing its libraries once.

    python tests/benchmarks/start.py [SPACE] [--data sklearn:breast_cancer] [--repeats 3]

A command with one trial is run and then resumed; the seconds of all its processes are added. They are divided by the
seconds of a new Python process that imports pandas and the modules of all operators of the space. The smallest of
several repeats is used. The script asserts nothing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from spacelang import api
from spacelang.ir.space import operators
from spacelang.runtime.pipelines.catalogue_access import import_operator_class


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for the imports, the run and its resumption."""
    options = parse(arguments)
    modules = sorted(
        {import_operator_class(each).__module__ for each in operators(api.load_for_data(options.space).checked.root)}
    )
    import_seconds = measure_best([sys.executable, "-c", f"import pandas, {', '.join(modules)}"], options.repeats)
    print(f"{'imports':15} {import_seconds:6.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        stores = (Path(folder) / f"{number}.db" for number in range(options.repeats))
        times = [measure_runs(options.space, options.data, store) for store in stores]
    for name, seconds in zip(("new run", "resumed run"), map(min, zip(*times, strict=True)), strict=True):
        print(f"{name:15} {seconds:6.2f} s {seconds / import_seconds:6.2f} times the imports")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("space", nargs="?", default="blds_table1", help="a bundled space or a file")
    parser.add_argument("--data", default="sklearn:breast_cancer", help="data to search on")
    parser.add_argument("--repeats", type=int, default=3, help="number of repeats of each measurement")
    return parser.parse_args(arguments)


def measure_runs(space: str, data: str, store: Path) -> tuple[float, float]:
    """Return the seconds of a run of one trial, and of its resumption for another trial."""
    run = [sys.executable, "-m", "spacelang", "run", space, "--data", data, "--optimizer", "random"]
    run += ["--validate", "holdout(0.3)", "--store", str(store)]
    return measure_best([*run, "--trials", "1"]), measure_best([*run, "--trials", "2", "--resume"])


def measure_best(command: Sequence[str], repeats: int = 1) -> float:
    """Return the smallest processor seconds of a command and its child processes, over some repeats."""
    return min(measure_seconds(command) for _ in range(repeats))


def measure_seconds(command: Sequence[str]) -> float:
    """Return the processor seconds of a command."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


if __name__ == "__main__":
    main()
