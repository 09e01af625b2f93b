"""Measure where ADMM spends its time, and its memory per trial, in runs on the artificial objective.

    python tests/benchmarks/admm.py [--quick]

The space is that of `examples/admm_paper`. Its evaluations take almost no time, so ADMM takes nearly all of it. Times
are processor times on one thread. `proposals` is the time of the models of theta-min and z-min, `evaluations` that of
the objective. `bookkeeping` is the rest of the optimizer, such as penalties and projections; `run` is the rest of the
run, such as storing trials. `first` is the time before the first trial, once per run. Memory is the peak that Python
has allocated, minus the allocation before the first trial, per trial. It is measured with the cheapest parts, so that
there are thousands of trials.
"""

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar
from unittest.mock import patch

import numpy as np

import spacelang
from spacelang.api.experiment import Experiment
from spacelang.api.search_data import BlackBoxData
from spacelang.ir.search_protocol import Problem, Search, SearchEvent
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.request_queue import LazyRequestRegistry
from spacelang.runtime.search_loop import run
from spacelang.surrogates import limit_to_one_thread

SPACE: Final = Path(__file__).parents[2] / "examples" / "admm_paper" / "artificial.space"
PARTS: Final = (("bo", "cmab"), ("bo", "bo"), ("rbf", "cmab"), ("tpe", "cmab"), ("random", "cmab"))
P = ParamSpec("P")
T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few trials, to check only that the benchmark runs")
    quick = options.parse_args(arguments).quick
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; artificial:0 over {SPACE.name}")
    print(f"\n  {'theta':<8}{'z':<8}trials    ms a trial   proposals  evaluations  bookkeeping   run   first, ms")
    with limit_to_one_thread():
        for theta, z in PARTS[-1:] if quick else PARTS:
            spent = measure_run(theta, z, 40 if quick else 300)
            print(f"  {theta:<8}{z:<8}{spent.format_line()}", flush=True)
    for trials in (40,) if quick else (1_000, 5_000):
        print(
            f"\n{measure_memory(trials) / trials:,.0f} bytes a trial after {trials:,} trials with theta=random, z=cmab"
        )


@dataclass
class TimeByActivity:
    """The seconds of a run by activity; `whole` is the total, `asking` the time of the search itself."""

    trials: int = 0
    whole: float = 0.0
    asking: float = 0.0
    first: float = 0.0
    proposing: float = 0.0
    evaluating: float = 0.0

    @contextmanager
    def measure(self, what: str) -> Iterator[None]:
        """Add the time of the block to an activity."""
        before = time.process_time()
        try:
            yield
        finally:
            setattr(self, what, getattr(self, what) + time.process_time() - before)

    def wrap(self, what: str, call: Callable[P, T]) -> Callable[P, T]:
        """Return the function with its time added to an activity."""

        def timed_call(*arguments: P.args, **named: P.kwargs) -> T:
            with self.measure(what):
                return call(*arguments, **named)

        return timed_call

    def format_line(self) -> str:
        """Return one line of the table."""
        rest = self.whole - self.first - self.asking - self.proposing - self.evaluating
        each = self.whole - self.first
        shares = [f"{100 * part / each:.0f} %" for part in (self.proposing, self.evaluating, self.asking, rest)]
        places = "".join(f"{share:>{width}}" for share, width in zip(shares, (12, 13, 13, 8), strict=True))
        return f"{self.trials:>6,}{1_000 * each / self.trials:>14.2f}{places}{1_000 * self.first:>9.0f}"


def measure_run(theta: str, z: str, trials: int) -> TimeByActivity:
    """Make a run, and return its time by activity."""
    spent, (search, objective) = TimeByActivity(), make_search(theta, z)
    executor = InProcess(spent.wrap("evaluating", objective.evaluate))
    with (
        patch.object(LazyRequestRegistry, "commit", spent.wrap("proposing", LazyRequestRegistry.commit)),
        spent.measure("whole"),
    ):
        outcome = run(
            time_search(search, spent),
            executor,
            Budget(trials=trials),
            clock=time.perf_counter,
            training_size=objective.training_size,
            scale=objective.scale,
        )
    spent.trials = len(outcome.records)
    return spent


def make_search(theta: str, z: str) -> tuple[Search, Any]:
    """Return the search with these parts, and its objective."""
    data = BlackBoxData("artificial:0")
    space, objective = data.bind_space(Experiment(space=spacelang.load(SPACE), data=data))
    chosen = OPTIMIZERS.configure(OPTIMIZERS.load("admm"), {"theta": theta, "z": z})
    return chosen.search(Problem(space.checked, objective.training_size, np.random.default_rng(0))), objective


def time_search(search: Search, spent: TimeByActivity) -> Search:
    """Yield the same requests, with the time before the first one measured separately."""
    event: SearchEvent | None = None
    is_first = True
    while True:
        try:
            with spent.measure("first" if is_first else "asking"):
                ask = next(search) if event is None else search.send(event)
        except StopIteration:
            return
        is_first = is_first and not ask.requests
        event = yield ask


def measure_memory(trials: int) -> int:
    """Return the bytes that a run of so many trials allocates after its first trial."""
    search, objective = make_search("random", "cmab")
    base: list[int] = []

    def evaluate(request: Any) -> Any:
        if not base:
            base.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.reset_peak()
        return objective.evaluate(request)

    tracemalloc.start()
    run(search, InProcess(evaluate), Budget(trials=trials), clock=time.perf_counter, scale=objective.scale)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - base[0]


if __name__ == "__main__":
    main()
