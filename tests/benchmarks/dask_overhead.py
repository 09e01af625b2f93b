"""What an executor costs beside the evaluations: prints figures, and ratios to the search's own process in this run.

    python tests/benchmarks/dask_overhead.py [--reduced] [--trials N]

Each evaluation fits and scores a naive Bayes pipeline on breast_cancer and says how long it took; what passes beyond
that is the overhead, a median over the trials of a worker that has one trial at a time. The processor time of a trial
is that of the search's own process, dask's scheduler included. Memory is what this process has grown by
from the first tenth of the trials to the last.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final

import psutil
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Limits
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.executors import Evaluate, Executor, Job
from spacelang.runtime.executors.dask import Dask
from spacelang.runtime.executors.here import Here
from spacelang.runtime.executors.processes import Processes

LIMITS: Final = Limits(trial_seconds=60, trial_bytes=2e9)

ASKED: Final = {"processes": 5.0, "dask": 30.0}
"""The most milliseconds that were asked for."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--reduced", action="store_true", help="few trials: that it runs, not how fast")
    options.add_argument("--trials", type=int, default=500, help="how many each executor is given")
    chosen = options.parse_args(arguments)
    trials = 20 if chosen.reduced else chosen.trials
    evaluate = evaluation()
    print(f"{trials} trials, one at a time")
    print("executor     ready in  overhead, median  of here  processor time  growth")
    base = 0.0
    for name, make in executors().items():
        started = time.perf_counter()
        with closing(make(evaluate)) as executor:
            executor.ready()
            seconds = time.perf_counter() - started
            processor, overheads, growth = measured(executor, trials)
        overhead = statistics.median(overheads)
        base = base or overhead
        spent = f"{processor * 1e3:11.2f} ms" if name in ASKED else " " * 14
        figures = f"{seconds:7.2f} s  {overhead * 1e3:13.2f} ms  {overhead / base:7.0f}  {spent}"
        asked = f"  (asked: below {ASKED[name]:g} ms)" if name in ASKED else ""
        print(f"{name:<12}{figures}  {growth / 1e6:3.0f} MB{asked}")


def executors() -> dict[str, Callable[[Evaluate], Executor]]:
    """All that are compared, the base first."""
    return {
        "here": Here,
        "processes": lambda evaluate: Processes(evaluate, limits=LIMITS),
        "dask": lambda evaluate: Dask(evaluate, limits=LIMITS),
    }


def evaluation() -> Evaluate:
    """What is evaluated; it takes its data along."""
    features, labels = load_breast_cancer(return_X_y=True)
    training, held_out, target, truth = train_test_split(features, labels, random_state=0)

    def evaluate(request: Request) -> Trial:
        started = time.perf_counter()
        pipeline: Any = make_pipeline(StandardScaler(), GaussianNB())
        score = pipeline.fit(training, target).score(held_out, truth)
        return Trial(request, 1 - score, time.perf_counter() - started)

    return evaluate


def measured(executor: Executor, trials: int) -> tuple[float, list[float], float]:
    """The processor time of a trial in this process, the overheads of all, and by how many bytes this has grown."""
    this = psutil.Process()
    processor = time.process_time()
    overheads, sizes = [], []
    for overhead in evaluated(executor, trials):
        overheads.append(overhead)
        sizes.append(this.memory_info().rss)
    tenth = max(trials // 10, 1)
    growth = statistics.median(sizes[-tenth:]) - statistics.median(sizes[:tenth])
    return (time.process_time() - processor) / trials, overheads, growth


def evaluated(executor: Executor, trials: int) -> Iterator[float]:
    """Of each trial, the seconds that it took beyond its own."""
    for number in range(trials):
        started = time.perf_counter()
        executor.start(executor.free[0], Job(number, Request(Configuration({"number": number}))))
        (finished,) = executor.wait()
        assert finished.trial.loss is not None
        yield time.perf_counter() - started - finished.trial.cost


if __name__ == "__main__":
    main()
