"""Measure `show` and `report` for a run of 10,000 trials: seconds and megabytes, with limits.

    python tests/benchmarks/report.py [TRIALS] [SPACE]

The store contains trials of random configurations from a bundled space. The smallest of three times is printed, in
processor seconds, including the start of Python. On the machine of README's measurements, under load, with the space
`mosaic`: show 0.22 s, report 3.9 s, 0.14 MB.
"""

import os
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import numpy as np

from spacelang import api
from spacelang.ir.task import FunctionBound
from spacelang.ir.trial import Measurement, Request, Status, Trial
from spacelang.ir.validation import Holdout
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.run_header import DataFacts, make_run_header
from spacelang.runtime.storage.store import Store

BOUND = FunctionBound("leaves", 4.0)
REASONS = ("ValueError: Input X contains NaN.", "LinAlgError: SVD did not converge", "killed after 60 s")
STATUSES = (Status.ERROR, Status.ERROR, Status.TIMEOUT)


def write_store(path: Path, count: int, space: str) -> None:
    """Write a store of `count` trials with one bound; one in twenty fails."""
    loaded = api.load(space)
    data = DataFacts("wide.csv", 10_000, 40, "0" * 64)
    header = make_run_header(
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
        decision_effects = [
            effects.setdefault(f"{key}={value}", rng.normal(0, 0.03)) if isinstance(value, str) else 0.0
            for key, value in configuration.items()
        ]
        numbers = [value for value in configuration.values() if isinstance(value, float)]
        loss = 0.2 + sum(decision_effects) + 0.02 * np.tanh(sum(numbers) / (1 + len(numbers))) + rng.normal(0, 0.01)
        cost = float(rng.lognormal(-1 + 10 * abs(decision_effects[0]), 0.5))
        request = Request(configuration, int(rng.choice([700, 2_100])) if rng.random() < 0.2 else None)
        measurements = (Measurement(BOUND, float(rng.gamma(3.0))),)
        trial = Trial(request, float(abs(loss)), cost, constraints=measurements)
        if rng.random() < 0.05:
            choice = int(rng.integers(len(REASONS)))
            trial = Trial(request, None, cost, STATUSES[choice], REASONS[choice])
        store.append(TrialRecord(index, trial, clock, clock + cost, "here", 1, 1))
        clock += cost
    store.end_session("budget", clock)


def measure_seconds(*arguments: str) -> float:
    """Return the processor seconds of a command."""
    before = getrusage(RUSAGE_CHILDREN)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "spacelang", *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
    )
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the measurements."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    space = sys.argv[2] if len(sys.argv) > 2 else "mosaic"
    with TemporaryDirectory() as folder:
        store, page = Path(folder, "run.db"), Path(folder, "report.html")
        write_store(store, count, space)
        print(f"{count:,} trials of {space}, {store.stat().st_size / 1e6:.1f} MB")
        print(f"show    {min(measure_seconds('show', str(store)) for _ in range(3)):.2f} s  (below 0.3)")
        print(
            f"report  {min(measure_seconds('report', str(store), '-o', str(page)) for _ in range(3)):.2f} s  (below 5)"
        )
        print(f"page    {page.stat().st_size / 1e6:.2f} MB  (below 3)")


if __name__ == "__main__":
    main()
