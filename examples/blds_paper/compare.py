"""The comparison of the BLDS paper on loss tables: three that this script makes, and others that are options.

    python examples/blds_paper/compare.py DATASETS --table sylvine.npz --output OUTPUT

DATASETS is a folder with `diabetes.csv.gz`, `credit_g.csv.gz` and `spectf.csv.gz` (OpenML 37, 31 and 337), with labels
in the column `target`. Tables that exist in OUTPUT are reused, and interrupted work is resumed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SPACE = "blds_table1"
DATA = ("diabetes", "credit_g", "spectf")
OPTIMIZERS = (
    "blds:disc=1",
    "blds:disc=2",
    "lds:disc=1",
    "lds:disc=2",
    "mlds:disc=1",
    "mlds:disc=2",
    "cmab:f_hat=0.3",
    "daub",
    "hyperband:hyperparameters=default",
    "random",
)
"""The optimizers of the paper, with its options; all of them fix hyperparameters at their defaults."""
HYPERBAND = "hyperband hyperparameters=default"
CLAIMS = (
    ("blds disc=1", HYPERBAND),
    ("blds disc=2", HYPERBAND),
    ("blds disc=1", "mlds disc=1"),
    ("blds disc=2", "mlds disc=2"),
    ("blds disc=1", "lds disc=1"),
    ("blds disc=2", "lds disc=2"),
    ("blds disc=2", "blds disc=1"),
    ("blds disc=1", "random"),
)
"""Pairs of optimizers; the paper finds the first ahead of the second, at least for a while."""


def main() -> int:
    """Make the missing tables, then compare; return the exit status of the first command that failed."""
    options = parse_arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    tables = [options.output / f"{name}.npz" for name in DATA]
    for name, table in zip(DATA, tables, strict=True):
        if not table.exists() and (status := tabulate(options.datasets / f"{name}.csv.gz", table, options.workers)):
            return status
    compared = [table for table in (*options.table, *tables) if table.exists()]
    status = run_spacelang(
        "compare",
        SPACE,
        *(part for table in compared for part in ("--data", f"table:{table}")),
        *("--optimizers", ",".join(OPTIMIZERS)),
        *("--repeats", str(options.repeats)),
        *("--time", options.time),
        *("--output", str(options.output / "comparison")),
    )
    if not status:
        print_claims(json.loads((options.output / "comparison" / "comparison.json").read_text()))
    return status


def print_claims(comparison: dict[str, Any]) -> None:
    """Print when the first optimizer of a pair had the smaller average rank, and when beyond noise."""
    seconds, rankings = comparison["curves"]["seconds"], comparison["curves"]["ranks"]
    for models, ranks in rankings["mean_losses"].items():
        apart = {tuple(pair["optimizers"]): pair["intervals"] for pair in comparison["apart"][models]}
        print(f"\nsmaller average rank of mean losses, {models} models")
        for one, other in CLAIMS:
            differences = [a - b for a, b in zip(ranks[one]["rank"], ranks[other]["rank"], strict=True)]
            beyond = [
                f"{each['start']:.3g} s to {each['end']:.3g} s"
                for each in apart.get((one, other), []) + apart.get((other, one), [])
                if each["optimizers"] == [one]
            ]
            smaller = "; ".join(find_spans(seconds, differences)) or "never"
            print(f"  {one} than {other}: {smaller}; beyond noise: {'; '.join(beyond) or 'never'}")


def find_spans(seconds: list[float], differences: list[float]) -> list[str]:
    """Return the intervals in which differences are below 0 and that last at least a twentieth of a decade."""
    spans, start = [], None
    for second, difference in zip([*seconds, seconds[-1]], [*differences, 0.0], strict=True):
        if difference < -1e-9:
            start = second if start is None else start
        elif start is not None:
            spans += [f"{start:.3g} s to {second:.3g} s"] if second / start >= 10**0.05 else []
            start = None
    return spans


def tabulate(data: Path, table: Path, workers: int) -> int:
    """Train all 3,072 pipelines on 100, 200, 400, ... and all training rows, and write their losses to a table."""
    store = table.with_suffix(".db")
    options = ("--validate", "holdout(0.3)", "--training-score", "--trial-limit", "300s", "--workers", str(workers))
    print(f"{data.name}: {table}", file=sys.stderr)
    return run_spacelang(
        "tabulate", SPACE, "--data", str(data), "--output", str(table), "--store", str(store), "--resume", *options
    )


def run_spacelang(*command: str) -> int:
    """Run a command of this environment's spacelang; return its exit status."""
    return subprocess.run([sys.executable, "-m", "spacelang", *command], check=False).returncode


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path, help="folder of the data sets")
    parser.add_argument(
        "--table", type=Path, action="append", default=[], help="existing table; repeat the option for several"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("blds_paper"), help="folder for the tables and the comparison"
    )
    parser.add_argument("--workers", type=int, default=1, help="number of trials in parallel while tables are made")
    parser.add_argument("--repeats", type=int, default=10, help="number of seeds of every optimizer on every table")
    parser.add_argument("--time", default="600s", help="time limit of a run, in the recorded time of the tables")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
