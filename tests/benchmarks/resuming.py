"""What a resumed run takes until it goes on, as a share of the time that making its proposals again would take.

    python tests/benchmarks/resuming.py [--trials 1000] [--proposal 0.05] [--workers 4]

A search whose proposals take so many seconds each is run with a store, and resumed for one trial more; its trials
themselves take no time. Nothing is asserted here.
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

from spacelang.bench.simulated import Simulated
from spacelang.ir.asking import Ask, Later, Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.loop import run

KEYS = 20
"""So many hyperparameters has a configuration."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for the run and for its resumption."""
    options = parse(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        first = searched(path, options.trials, options)
        resumed = searched(path, options.trials + 1, options)
    made = options.trials * options.proposal
    print(f"{'proposals':10} {made:8.2f} s, {options.trials:,} of {1000 * options.proposal:g} ms")
    for name, seconds in (("the run", first), ("resumed", resumed)):
        print(f"{name:10} {seconds:8.2f} s {seconds / made:8.3f} times the proposals")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1_000)
    parser.add_argument("--proposal", type=float, default=0.05, help="the seconds that making a proposal takes")
    parser.add_argument("--workers", type=int, default=4)
    return parser.parse_args(arguments)


def searched(path: Path, trials: int, options: argparse.Namespace) -> float:
    """The seconds of a run, which goes on where there is one in the file."""
    began = time.perf_counter()
    with kept(path) as journal:
        crew = Simulated(evaluate, workers=options.workers, now=journal.seconds)
        run(search(options.proposal), crew, Budget(trials=trials), clock=crew.clock, journal=journal)
    return time.perf_counter() - began


def search(seconds: float) -> Search:
    """Whoever has nothing to do is given what takes so long to propose."""
    told = yield Ask()
    while True:
        told = yield Ask(tuple(Later(partial(propose, seconds)) for _ in range(told.room)))


def propose(seconds: float, rng: np.random.Generator) -> Request:
    """A point, with the numbers that it was made of."""
    time.sleep(seconds)
    numbers = tuple(rng.random(KEYS).tolist())
    return Request(Configuration({f"key {place}": number for place, number in enumerate(numbers)}), memo=numbers)


def evaluate(request: Request) -> Trial:
    """The first of its numbers, at once."""
    return Trial(request, float(request.memo[0]), cost=1.0)


if __name__ == "__main__":
    main()
