"""How much time and memory optimizers take for themselves: prints figures of searches that are answered from a table.

    python tests/benchmarks/optimizers.py [--quick] [--ahead N]

Only what happens between an answer and the next request is timed, in processor time, the preparation of the search
included. `table` is the space of the BLDS paper, 3,072 pipelines with a loss that falls with the rows; a search ends
there once it has nothing left to ask for. `wide` has 20 stages of 10 alternatives each: 10^20 pipelines. `ranges` is a
space of the ADMM paper, 108 pipelines with 36 hyperparameters. Memory is the largest that Python has allocated during a
search, beside what the answers take.
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
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Search, Trial
from spacelang.optimizers import OPTIMIZERS

REQUESTS: Final = 10_000
SIZE: Final = 7_619


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few requests: that it runs, not how fast")
    options.add_argument("--ahead", type=int, default=3, help="what blds, lds and mlds ask ahead in their second line")
    chosen = options.parse_args(arguments)
    limit, rounds = (200, 1) if chosen.quick else (REQUESTS, 3)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; best of {rounds}, processor time")
    for label, space in spaces():
        print(f"\n{label}: {space.structures:,} pipelines, up to {limit:,} requests of {SIZE:,} rows")
        print("  optimizer                 requests   rounds   seconds   us a request   before the first   memory")
        for name, optimizer in optimizers(chosen.ahead):
            print(f"  {name:<24}{measured(optimizer, space.checked, limit, rounds)}")


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


def optimizers(ahead: int) -> Iterator[tuple[str, Any]]:
    """Every optimizer with its defaults, and with what it may ask ahead or another discrepancy."""
    for name in OPTIMIZERS.names():
        optimizer = OPTIMIZERS.load(name)()
        yield name, optimizer
        if hasattr(optimizer, "disc"):
            yield f"{name} disc=2", replace(optimizer, disc=2)
        if hasattr(optimizer, "ahead"):
            yield f"{name} ahead={ahead}", replace(optimizer, ahead=ahead)


@dataclass
class Searched:
    """What a search asked for, and what that took; `first` is the time before its first request."""

    requests: int = 0
    rounds: int = 0
    seconds: float = 0.0
    first: float = 0.0


def measured(optimizer: Any, space: Space, limit: int, rounds: int) -> str:
    """One line of figures."""
    found = min((searched(optimizer, space, limit) for _ in range(rounds)), key=lambda each: each.seconds)
    tracemalloc.start()
    searched(optimizer, space, limit)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    each = found.seconds / found.requests * 1e6
    return (
        f"{found.requests:>10,}{found.rounds:>9,}{found.seconds:>10.3f}{each:>15.1f}"
        f"{found.first * 1000:>16.1f} ms{peak / 2**20:>6.1f} MB"
    )


def searched(optimizer: Any, space: Space, limit: int) -> Searched:
    """Answer a search until it ends or has asked so many times."""
    found = Searched()
    answer = answers()
    asking: Search = optimizer.search(space, SIZE, np.random.default_rng(0))
    before = time.process_time()
    requests: Sequence[Request] | None = next(asking, None)
    found.first = found.seconds = time.process_time() - before
    while requests is not None and found.requests < limit:
        found.requests += len(requests)
        found.rounds += 1
        trials = [answer(request) for request in requests]
        before = time.process_time()
        try:
            requests = asking.send(trials)
        except StopIteration:
            requests = None
        found.seconds += time.process_time() - before
    return found


def answers() -> Any:
    """Losses that fall with the rows, drawn for each request as it comes; nothing is kept."""
    rng = random.Random(0)

    def answer(request: Request) -> Trial:
        loss = min(1.0, rng.random() * (0.6 + 40 / (request.fidelity or SIZE)))
        return Trial(request, loss, 1.0, training_loss=loss / 2)

    return answer


if __name__ == "__main__":
    main()
