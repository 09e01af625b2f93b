"""Measure how long resuming a run takes, as a share of the time to compute its proposals again.

    python tests/benchmarks/resuming.py [--trials 1000] [--proposal 0.05] [--workers 4]

A search whose proposals take a fixed time is run with a store, and resumed for one more trial. Its trials take no time.
The script asserts nothing.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from storing import kept

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import Ask, LazyRequest, Search
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.search_loop import run

KEYS = 20
"""The number of hyperparameters of a configuration."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for the run and for its resumption."""
    options = parse(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        first = measure_run(path, options.trials, options)
        resumed = measure_run(path, options.trials + 1, options)
    total = options.trials * options.proposal
    print(f"{'proposals':10} {total:8.2f} s, {options.trials:,} of {1000 * options.proposal:g} ms")
    for name, seconds in (("the run", first), ("resumed", resumed)):
        print(f"{name:10} {seconds:8.2f} s {seconds / total:8.3f} times the proposals")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1_000, help="number of trials")
    parser.add_argument("--proposal", type=float, default=0.05, help="seconds of a proposal")
    parser.add_argument("--workers", type=int, default=4, help="number of workers")
    return parser.parse_args(arguments)


def measure_run(path: Path, trials: int, options: argparse.Namespace) -> float:
    """Return the seconds of a run, which is resumed if the file exists."""
    started = time.perf_counter()
    with kept(path) as journal:
        executor = SimulatedExecutor(evaluate, workers=options.workers, now=journal.seconds)
        run(search(options.proposal), executor, Budget(trials=trials), clock=executor.clock, journal=journal)
    return time.perf_counter() - started


def search(seconds: float) -> Search:
    """Yield one slow lazy request for each idle worker."""
    event = yield Ask()
    while True:
        event = yield Ask(tuple(LazyRequest(partial(propose, seconds)) for _ in range(event.idle_workers)))


def propose(seconds: float, rng: np.random.Generator) -> Request:
    """Return a random point, with its numbers as the memo, after some seconds."""
    time.sleep(seconds)
    numbers = tuple(rng.random(KEYS).tolist())
    return Request(Configuration({f"key {place}": number for place, number in enumerate(numbers)}), memo=numbers)


def evaluate(request: Request) -> Trial:
    """Return a trial whose loss is the first number of the memo."""
    return Trial(request, float(request.memo[0]), cost=1.0)


if __name__ == "__main__":
    main()
