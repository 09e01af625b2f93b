"""Measure the time and memory of optimizers without evaluations.

    python tests/benchmarks/optimizers.py [--quick] [--workers N]

Only the processor time between an answer and the next request is measured, including the preparation of the search.
`table` is the space of the BLDS paper, 3,072 pipelines with a loss that falls with the number of rows; a search ends
there if it has no more requests. `wide` has 20 stages of 10 alternatives each, 10^20 pipelines. `ranges` is a space of
the ADMM paper, 108 pipelines with 36 hyperparameters. Memory is the peak that Python has allocated during a run,
including stored trials. With `--workers`, several trials run at a time. `early` is the number of speculative trials,
which ended before the search asked for them; times are per trial that the search used.
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
from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.search_protocol import Problem, Search, SearchEvent
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.search_loop import run

REQUESTS: Final = 10_000
SIZE: Final = 7_619
LIBRARIES: Final = {"boasf", "random_forest_tpe", "select_best", "tpe"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few requests, to check only that the benchmark runs")
    options.add_argument("--workers", type=int, default=1, help="number of trials in parallel")
    chosen = options.parse_args(arguments)
    limit, rounds = (200, 1) if chosen.quick else (REQUESTS, 3)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; best of {rounds}, processor time")
    for label, space in list_spaces():
        print(f"\n{label}: {space.structures:,} pipelines, up to {limit:,} requests of {SIZE:,} rows")
        print("  optimizer                 requests    early   seconds   us a request   before the first   memory")
        for name, optimizer in list_optimizers():
            print(f"  {name:<24}{measure(optimizer, space.checked, limit, chosen.workers, rounds)}")


def list_spaces() -> Iterator[tuple[str, Any]]:
    """Yield the name and the space of each search."""
    yield "table", spacelang.load("blds_table1")
    yield "wide", spacelang.parse(write_wide_space())
    yield "ranges", spacelang.load("admm_table_a3")


def write_wide_space() -> str:
    """Return the text of twenty stages of ten alternatives."""
    names = [f"{letter}{stage}" for stage in range(20) for letter in "ABCDEFGHIJ"]
    abstract = "\n".join(f"abstract {name}" for name in names)
    stages = "\n".join(f"stage s{n} = {' | '.join(names[10 * n : 10 * n + 10])}" for n in range(20))
    return f"space wide\n{abstract}\n{stages}\n"


def list_optimizers() -> Iterator[tuple[str, Any]]:
    """Yield every optimizer with its defaults, and with another discrepancy, except those with a library's model.

    `proposals.py` measures these.
    """
    for name in (each for each in OPTIMIZERS.names() if each not in LIBRARIES):
        optimizer = OPTIMIZERS.load(name)()
        yield name, optimizer
        if hasattr(optimizer, "disc"):
            yield f"{name} disc=2", replace(optimizer, disc=2)


@dataclass
class SearchStatistics:
    """The trials and speculative trials of a search, and its seconds: in total, and before the first request."""

    requests: int = 0
    speculative: int = 0
    seconds: float = 0.0
    first: float = 0.0


def measure(optimizer: Any, space: Space, limit: int, workers: int, rounds: int) -> str:
    """Return one line of the table."""
    statistics = min(
        (run_search(optimizer, space, limit, workers) for _ in range(rounds)), key=lambda each: each.seconds
    )
    tracemalloc.start()
    run_search(optimizer, space, limit, workers)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    each = statistics.seconds / statistics.requests * 1e6
    return (
        f"{statistics.requests:>10,}{statistics.speculative:>9,}{statistics.seconds:>10.3f}{each:>15.1f}"
        f"{statistics.first * 1000:>16.1f} ms{peak / 2**20:>6.1f} MB"
    )


def run_search(optimizer: Any, space: Space, limit: int, workers: int) -> SearchStatistics:
    """Run a search until it ends or has used `limit` trials, and return its statistics."""
    statistics = SearchStatistics()
    executor = SimulatedExecutor(make_answers(), workers=workers)
    search = time_search(optimizer.search(Problem(space, SIZE, np.random.default_rng(0))), statistics)
    outcome = run(search, executor, Budget(trials=limit), clock=executor.clock, training_size=SIZE)
    statistics.speculative = sum(record.is_speculative for record in outcome.records)
    return statistics


def time_search(search: Search, statistics: SearchStatistics) -> Search:
    """Yield the same requests, and add up the time of the search."""
    event: SearchEvent | None = None
    while True:
        before = time.process_time()
        try:
            ask = next(search) if event is None else search.send(event)
        except StopIteration:
            return
        finally:
            statistics.seconds += time.process_time() - before
        statistics.first = statistics.first or (statistics.seconds if ask.requests else 0.0)
        event = yield ask
        statistics.requests += event.finished is not None


def make_answers() -> Any:
    """Return a function that answers a request with a random loss that falls with the number of rows."""
    rng = random.Random(0)

    def answer(request: Request) -> Trial:
        loss = min(1.0, rng.random() * (0.6 + 40 / (request.fidelity or SIZE)))
        return Trial(request, loss, 1.0, training_loss=loss / 2)

    return answer


if __name__ == "__main__":
    main()
