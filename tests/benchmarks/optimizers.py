"""How much time and memory optimizers take for themselves: prints figures of searches that are answered from a table.

    python tests/benchmarks/optimizers.py [--quick] [--workers N]

Only what happens between an answer and the next request is timed, in processor time, the preparation of the search
included. `table` is the space of the BLDS paper, 3,072 pipelines with a loss that falls with the rows; a search ends
there once it has nothing left to ask for. `wide` has 20 stages of 10 alternatives each: 10^20 pipelines. `ranges` is a
space of the ADMM paper, 108 pipelines with 36 hyperparameters. Memory is the largest that Python has allocated during a
run, what it keeps of its trials included. With `--workers` so many trials go on at a time, and `early` counts those
that ended before they were wanted, if they ever were; the figures are those of a trial that was wanted.
"""

import argparse
import random
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

import spacelang
from spacelang.bench.simulated import Simulated
from spacelang.ir.asking import Search, Told
from spacelang.ir.problem import Problem
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.loop import run

REQUESTS: Final = 10_000
SIZE: Final = 7_619
LIBRARIES: Final = {"boasf", "random_forest_tpe", "select_best", "tpe"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few requests: that it runs, not how fast")
    options.add_argument("--workers", type=int, default=1, help="how many trials go on at a time")
    chosen = options.parse_args(arguments)
    limit, rounds = (200, 1) if chosen.quick else (REQUESTS, 3)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; best of {rounds}, processor time")
    for label, space in spaces():
        print(f"\n{label}: {space.structures:,} pipelines, up to {limit:,} requests of {SIZE:,} rows")
        print("  optimizer                 requests    early   seconds   us a request   before the first   memory")
        for name, optimizer in optimizers():
            print(f"  {name:<24}{measured(optimizer, space.checked, limit, chosen.workers, rounds)}")


def spaces() -> Iterator[tuple[str, Any]]:
    """What is searched."""
    yield "table", spacelang.load("blds_table1")
    yield "wide", spacelang.parse(wide())
    yield "ranges", spacelang.load("admm_table_a3")


def wide() -> str:
    """Twenty stages of ten alternatives."""
    names = [f"{letter}{stage}" for stage in range(20) for letter in "ABCDEFGHIJ"]
    abstract = "\n".join(f"abstract {name}" for name in names)
    stages = "\n".join(f"stage s{n} = {' | '.join(names[10 * n : 10 * n + 10])}" for n in range(20))
    return f"space wide\n{abstract}\n{stages}\n"


def optimizers() -> Iterator[tuple[str, Any]]:
    """Every optimizer with its defaults, and with another discrepancy, but for those that wait for a library's model.

    `proposals.py` has the times of these.
    """
    for name in (each for each in OPTIMIZERS.names() if each not in LIBRARIES):
        optimizer = OPTIMIZERS.load(name)()
        yield name, optimizer
        if hasattr(optimizer, "disc"):
            yield f"{name} disc=2", replace(optimizer, disc=2)


@dataclass
class Searched:
    """How many trials a search was told of, how many had ended early, and its time: all, and before its first wish."""

    requests: int = 0
    early: int = 0
    seconds: float = 0.0
    first: float = 0.0


def measured(optimizer: Any, space: Space, limit: int, workers: int, rounds: int) -> str:
    """One line of figures."""
    found = min((searched(optimizer, space, limit, workers) for _ in range(rounds)), key=lambda each: each.seconds)
    tracemalloc.start()
    searched(optimizer, space, limit, workers)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    each = found.seconds / found.requests * 1e6
    return (
        f"{found.requests:>10,}{found.early:>9,}{found.seconds:>10.3f}{each:>15.1f}"
        f"{found.first * 1000:>16.1f} ms{peak / 2**20:>6.1f} MB"
    )


def searched(optimizer: Any, space: Space, limit: int, workers: int) -> Searched:
    """Answer a search until it ends or was told of so many trials."""
    found = Searched()
    crew = Simulated(answers(), workers=workers)
    asking = timed(optimizer.search(Problem(space, SIZE, np.random.default_rng(0))), found)
    outcome = run(asking, crew, Budget(trials=limit), clock=crew.clock, training_size=SIZE)
    found.early = sum(record.is_early for record in outcome.records)
    return found


def timed(asking: Search, found: Searched) -> Search:
    """The same search; the time that it takes is added up."""
    told: Told | None = None
    while True:
        before = time.process_time()
        try:
            ask = next(asking) if told is None else asking.send(told)
        except StopIteration:
            return
        finally:
            found.seconds += time.process_time() - before
        found.first = found.first or (found.seconds if ask.begin else 0.0)
        told = yield ask
        found.requests += told.ended is not None


def answers() -> Any:
    """Losses that fall with the rows, drawn for each request as it comes; nothing is kept."""
    rng = random.Random(0)

    def answer(request: Request) -> Trial:
        loss = min(1.0, rng.random() * (0.6 + 40 / (request.fidelity or SIZE)))
        return Trial(request, loss, 1.0, training_loss=loss / 2)

    return answer


if __name__ == "__main__":
    main()
