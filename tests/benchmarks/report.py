"""What `show` and `report` take for a run of 10,000 trials: seconds, beside the limits 0.3 and 5, and megabytes.

    python tests/benchmarks/report.py [TRIALS] [SPACE]

A store is made of trials that no optimizer has asked for, drawn from a bundled space; the smallest of three counts, in
seconds of the processor, the start of Python included. Measured on the machine of README's figures while others worked
on it, for the space `mosaic`: show 0.22 s, report 3.9 s, 0.14 MB.
"""

import os
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import numpy as np

from spacelang import api
from spacelang.ir.task import FunctionBound, Holdout
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.runtime.history import Record
from spacelang.runtime.storing.header import DataFacts, make_header
from spacelang.runtime.storing.store import Store

BOUND = FunctionBound("leaves", 4.0)
REASONS = ("ValueError: Input X contains NaN.", "LinAlgError: SVD did not converge", "killed after 60 s")
STATUSES = (Status.ERROR, Status.ERROR, Status.TIMEOUT)


def write(path: Path, count: int, space: str) -> None:
    """A store of `count` trials: one in twenty fails, the loss depends on decisions and numbers, one bound."""
    loaded = api.load(space)
    data = DataFacts("wide.csv", 10_000, 40, "0" * 64)
    header = make_header(
        loaded.checked,
        data,
        metric="1 - roc_auc",
        validation=Holdout(0.3),
        training_size=7_000,
        seed=0,
        optimizer="random",
        bounds=(BOUND,),
        options={},
    )
    rng = np.random.default_rng(0)
    effects: dict[str, float] = {}
    store = Store.create(path, header, durable=False)
    clock = 0.0
    for index, configuration in enumerate(loaded.sample(count, seed=0), 1):
        told = [
            effects.setdefault(f"{key}={value}", rng.normal(0, 0.03)) if isinstance(value, str) else 0.0
            for key, value in configuration.items()
        ]
        numbers = [value for value in configuration.values() if isinstance(value, float)]
        loss = 0.2 + sum(told) + 0.02 * np.tanh(sum(numbers) / (1 + len(numbers))) + rng.normal(0, 0.01)
        cost = float(rng.lognormal(-1 + 10 * abs(told[0]), 0.5))
        request = Request(configuration, int(rng.choice([700, 2_100])) if rng.random() < 0.2 else None)
        measured = (Measurement(BOUND, float(rng.gamma(3.0))),)
        trial = Trial(request, float(abs(loss)), cost, constraints=measured)
        if rng.random() < 0.05:
            which = int(rng.integers(len(REASONS)))
            trial = Trial(request, None, cost, STATUSES[which], REASONS[which])
        store.append(Record(index, trial, clock, clock + cost, "here", 1, 1))
        clock += cost
    store.end("budget", clock)


def seconds(*arguments: str) -> float:
    """The processor seconds of a command."""
    before = getrusage(RUSAGE_CHILDREN)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "spacelang", *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
    )
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    space = sys.argv[2] if len(sys.argv) > 2 else "mosaic"
    with TemporaryDirectory() as folder:
        store, page = Path(folder, "run.db"), Path(folder, "report.html")
        write(store, count, space)
        print(f"{count:,} trials of {space}, {store.stat().st_size / 1e6:.1f} MB")
        print(f"show    {min(seconds('show', str(store)) for _ in range(3)):.2f} s  (below 0.3)")
        print(f"report  {min(seconds('report', str(store), '-o', str(page)) for _ in range(3)):.2f} s  (below 5)")
        print(f"page    {page.stat().st_size / 1e6:.2f} MB  (below 3)")


if __name__ == "__main__":
    main()
