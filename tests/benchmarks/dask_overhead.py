"""Measure the overhead of executors: times, and ratios to evaluations in this process.

    python tests/benchmarks/dask_overhead.py [--reduced] [--trials N]

Each evaluation fits and scores a naive Bayes pipeline on breast_cancer, and measures its own time. The remaining time
of a trial is the overhead. Its median over the trials of one worker with one trial at a time is printed. The processor
time of a trial is that of this process, including dask's scheduler. Memory growth is that of this process from the
first tenth of the trials to the last.
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
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.executors.processes import Processes

LIMITS: Final = Limits(trial_seconds=60, trial_bytes=2e9)

MAX_MILLISECONDS: Final = {"processes": 5.0, "dask": 30.0}
"""The maximum overhead that is required, in milliseconds."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--reduced", action="store_true", help="few trials, to check only that the benchmark runs")
    options.add_argument("--trials", type=int, default=500, help="number of trials of each executor")
    chosen = options.parse_args(arguments)
    trials = 20 if chosen.reduced else chosen.trials
    evaluate = make_evaluation()
    print(f"{trials} trials, one at a time")
    print("executor     ready in  overhead, median  of here  processor time  growth")
    base = 0.0
    for name, make in list_executors().items():
        started = time.perf_counter()
        with closing(make(evaluate)) as executor:
            executor.wait_until_ready()
            seconds = time.perf_counter() - started
            processor, overheads, growth = measure(executor, trials)
        overhead = statistics.median(overheads)
        base = base or overhead
        spent = f"{processor * 1e3:11.2f} ms" if name in MAX_MILLISECONDS else " " * 14
        columns = f"{seconds:7.2f} s  {overhead * 1e3:13.2f} ms  {overhead / base:7.0f}  {spent}"
        required = f"  (required: below {MAX_MILLISECONDS[name]:g} ms)" if name in MAX_MILLISECONDS else ""
        print(f"{name:<12}{columns}  {growth / 1e6:3.0f} MB{required}")


def list_executors() -> dict[str, Callable[[Evaluate], Executor]]:
    """Return the executors to compare, the base first."""
    return {
        "here": InProcess,
        "processes": lambda evaluate: Processes(evaluate, limits=LIMITS),
        "dask": lambda evaluate: Dask(evaluate, limits=LIMITS),
    }


def make_evaluation() -> Evaluate:
    """Return the evaluation, which contains its data."""
    features, labels = load_breast_cancer(return_X_y=True)
    training, held_out, target, truth = train_test_split(features, labels, random_state=0)

    def evaluate(request: Request) -> Trial:
        started = time.perf_counter()
        pipeline: Any = make_pipeline(StandardScaler(), GaussianNB())
        score = pipeline.fit(training, target).score(held_out, truth)
        return Trial(request, 1 - score, time.perf_counter() - started)

    return evaluate


def measure(executor: Executor, trials: int) -> tuple[float, list[float], float]:
    """Return the processor seconds per trial in this process, all overheads, and the growth in bytes."""
    this = psutil.Process()
    processor = time.process_time()
    overheads, sizes = [], []
    for overhead in time_trials(executor, trials):
        overheads.append(overhead)
        sizes.append(this.memory_info().rss)
    tenth = max(trials // 10, 1)
    growth = statistics.median(sizes[-tenth:]) - statistics.median(sizes[:tenth])
    return (time.process_time() - processor) / trials, overheads, growth


def time_trials(executor: Executor, trials: int) -> Iterator[float]:
    """Yield the seconds of each trial beyond its evaluation."""
    for number in range(trials):
        started = time.perf_counter()
        executor.start(executor.free[0], Job(number, Request(Configuration({"number": number}))))
        (finished,) = executor.wait()
        assert finished.result.loss is not None
        yield time.perf_counter() - started - finished.result.cost


if __name__ == "__main__":
    main()
