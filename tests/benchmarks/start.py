"""What a run takes of the processor besides its trials, as a multiple of importing once what its pipelines need.

    python tests/benchmarks/start.py [SPACE] [--data sklearn:breast_cancer] [--repeats 3]

A command with one trial is run, then resumed; seconds are those of all of its processes together. What they are divided
by is a fresh Python that imports pandas and the modules of all operators of the space. Of several repeats the smallest
counts. Nothing is asserted here.
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
from spacelang.runtime.pipelines.library import class_of


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for the imports, the run and its resumption."""
    options = parse(arguments)
    modules = sorted({class_of(each).__module__ for each in operators(api.load_for_data(options.space).checked.root)})
    peer = least([sys.executable, "-c", f"import pandas, {', '.join(modules)}"], options.repeats)
    print(f"{'imports, once':15} {peer:6.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        stores = (Path(folder) / f"{number}.db" for number in range(options.repeats))
        took = [first_and_resumed(options.space, options.data, store) for store in stores]
    for name, seconds in zip(("a run", "resumed"), map(min, zip(*took, strict=True)), strict=True):
        print(f"{name:15} {seconds:6.2f} s {seconds / peer:6.2f} times the imports")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("space", nargs="?", default="blds_table1", help="a bundled space or a file")
    parser.add_argument("--data", default="sklearn:breast_cancer", help="what it is searched on")
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement")
    return parser.parse_args(arguments)


def first_and_resumed(space: str, data: str, store: Path) -> tuple[float, float]:
    """The seconds of a run of one trial, and of its resumption for another one."""
    run = [sys.executable, "-m", "spacelang", "run", space, "--data", data, "--optimizer", "random"]
    run += ["--validate", "holdout(0.3)", "--store", str(store)]
    return least([*run, "--trials", "1"]), least([*run, "--trials", "2", "--resume"])


def least(command: Sequence[str], repeats: int = 1) -> float:
    """The processor's seconds for a command and all that it starts and waits for: the smallest of some repeats."""
    return min(seconds_of(command) for _ in range(repeats))


def seconds_of(command: Sequence[str]) -> float:
    """The processor's seconds for a command, once."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


if __name__ == "__main__":
    main()
