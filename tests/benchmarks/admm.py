"""Where the time of ADMM goes, and how much memory a trial takes: prints figures of runs on the artificial objective.

    python tests/benchmarks/admm.py [--quick]

The space is that of `examples/admm_paper`: an evaluation takes no time to speak of, so that all of it is ADMM's. Time
is processor time on one thread. `proposals` are what the models of theta-min and z-min take, `evaluations` what the
objective does. `bookkeeping` is all else that the optimizer does: penalties, projections, what is known of pipelines;
and `run` all that is neither, such as what is kept of each trial. `first` is what there is to do before the first
trial, once a run. Memory is the largest that Python has allocated in the coordinator, what it had allocated before the
first trial subtracted, for each trial: with the cheapest parts, so that there are thousands.
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
from spacelang.api.boxing import box_over
from spacelang.ir.asking import Search, Told
from spacelang.ir.problem import Problem
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.here import Here
from spacelang.runtime.loop import run
from spacelang.runtime.proposals import Proposals
from spacelang.surrogates.threads import one_thread

SPACE: Final = Path(__file__).parents[2] / "examples" / "admm_paper" / "artificial.space"
PARTS: Final = (("bo", "cmab"), ("bo", "bo"), ("rbf", "cmab"), ("tpe", "cmab"), ("random", "cmab"))
P = ParamSpec("P")
T = TypeVar("T")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few trials: that it runs, not how fast")
    quick = options.parse_args(arguments).quick
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; artificial:0 over {SPACE.name}")
    print(f"\n  {'theta':<8}{'z':<8}trials    ms a trial   proposals  evaluations  bookkeeping   run   first, ms")
    with one_thread():
        for theta, z in PARTS[-1:] if quick else PARTS:
            spent = searched(theta, z, 40 if quick else 300)
            print(f"  {theta:<8}{z:<8}{spent.shown()}", flush=True)
    for trials in (40,) if quick else (1_000, 5_000):
        print(f"\n{allocated(trials) / trials:,.0f} bytes a trial after {trials:,} trials with theta=random, z=cmab")


@dataclass
class Spent:
    """The seconds of a run by what they were spent on; `whole` is all of them, `asking` what the search has taken."""

    trials: int = 0
    whole: float = 0.0
    asking: float = 0.0
    first: float = 0.0
    proposing: float = 0.0
    evaluating: float = 0.0

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Count what is done here."""
        before = time.process_time()
        try:
            yield
        finally:
            setattr(self, what, getattr(self, what) + time.process_time() - before)

    def counted(self, what: str, call: Callable[P, T]) -> Callable[P, T]:
        """A function whose time counts."""

        def counting(*given: P.args, **named: P.kwargs) -> T:
            with self.on(what):
                return call(*given, **named)

        return counting

    def shown(self) -> str:
        """One line of figures."""
        rest = self.whole - self.first - self.asking - self.proposing - self.evaluating
        each = self.whole - self.first
        shares = [f"{100 * part / each:.0f} %" for part in (self.proposing, self.evaluating, self.asking, rest)]
        places = "".join(f"{share:>{width}}" for share, width in zip(shares, (12, 13, 13, 8), strict=True))
        return f"{self.trials:>6,}{1_000 * each / self.trials:>14.2f}{places}{1_000 * self.first:>9.0f}"


def searched(theta: str, z: str, trials: int) -> Spent:
    """A run, and what its time was spent on."""
    spent, (search, box) = Spent(), begun(theta, z)
    crew = Here(spent.counted("evaluating", box.evaluate))
    with patch.object(Proposals, "wish", spent.counted("proposing", Proposals.wish)), spent.on("whole"):
        found = run(
            timed(search, spent),
            crew,
            Budget(trials=trials),
            clock=time.perf_counter,
            training_size=box.training_size,
            scale=box.scale,
        )
    spent.trials = len(found.records)
    return spent


def begun(theta: str, z: str) -> tuple[Search, Any]:
    """The search with these parts, and what answers it."""
    space, box = box_over(spacelang.load(SPACE), "artificial:0")
    chosen = OPTIMIZERS.configure(OPTIMIZERS.load("admm"), {"theta": theta, "z": z})
    return chosen.search(Problem(space.checked, box.training_size, np.random.default_rng(0))), box


def timed(search: Search, spent: Spent) -> Search:
    """The same search: what it does before its first wish counts apart."""
    told: Told | None = None
    is_first = True
    while True:
        try:
            with spent.on("first" if is_first else "asking"):
                ask = next(search) if told is None else search.send(told)
        except StopIteration:
            return
        is_first = is_first and not ask.begin
        told = yield ask


def allocated(trials: int) -> int:
    """The bytes that a run of so many trials allocates after its first."""
    search, box = begun("random", "cmab")
    base: list[int] = []

    def evaluate(request: Any) -> Any:
        if not base:
            base.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.reset_peak()
        return box.evaluate(request)

    tracemalloc.start()
    run(search, Here(evaluate), Budget(trials=trials), clock=time.perf_counter, scale=box.scale)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - base[0]


if __name__ == "__main__":
    main()
