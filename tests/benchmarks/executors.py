"""Measure the overhead of trials in worker processes: times in milliseconds, the best of a few rounds.

    python tests/benchmarks/executors.py [--quick]

The overhead of a trial is its time beyond the evaluation, which does nothing here. It is measured without limits, with
limits, with two workers, and isolated, with a process per trial. The start is that of an executor whose objective has
the pipelines of `blds_table1` on breast_cancer and all their libraries; isolated trials use the same objective. A
restart is the additional time of a trial after a crash, when its worker must be forked again.
"""

import argparse
import os
import signal
import time
from collections.abc import Callable

from spacelang.ir.configuration import Configuration
from spacelang.ir.task import UNLIMITED, Limits
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.executors import Evaluate, Job
from spacelang.runtime.executors.processes import Processes

LIMITED = Limits(trial_seconds=60, trial_bytes=4e9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and trials")
    quick = parser.parse_args().quick
    rounds, trials = (2, 200) if quick else (5, 2_000)
    for name, workers, limits in [
        ("a trial, no limits", 1, UNLIMITED),
        ("a trial, limits of time and memory", 1, LIMITED),
        ("a trial, limits, two workers", 2, LIMITED),
    ]:
        print_time(name, min(measure_overhead(workers, limits, trials) for _ in range(rounds)))
    evaluate = make_objective()
    print_time(
        "a trial, limits, isolated", min(measure_overhead(1, LIMITED, trials // 20, evaluate) for _ in range(rounds))
    )
    for name, stage in [("constructor returns after", 0), ("ready after", 1), ("closed after", 2)]:
        print_time(name, min(measure_start(evaluate)[stage] for _ in range(rounds)))
    print_time("a restart of a worker", measure_restart(evaluate, rounds * 5))


def print_time(name: str, seconds: float) -> None:
    print(f"{name:<40} {1e3 * seconds:9.3f} ms")


def evaluate_nothing(request: Request) -> Trial:
    return Trial(request, 0.0)


def make_objective() -> Evaluate:
    """Return an evaluation that has the data of a search and does nothing, or crashes."""
    import spacelang
    from spacelang.runtime.data.labels import check_and_encode_labels
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.evaluation.objective import DataObjective

    space = spacelang.load("blds_table1")
    real = DataObjective(
        space.checked, check_and_encode_labels(load_dataset("sklearn:breast_cancer"), "classification")
    )

    def evaluate(request: Request) -> Trial:
        if request.configuration["x"]:
            os.kill(os.getpid(), signal.SIGSEGV)
        return Trial(request, 0.0, cost=0.0 * real.training_size)

    return evaluate


def measure_overhead(workers: int, limits: Limits, trials: int, isolated: Evaluate | None = None) -> float:
    """Return the mean seconds of one trial among many."""
    executor = Processes(isolated or evaluate_nothing, workers=workers, limits=limits, isolate=isolated is not None)
    executor.wait_until_ready()
    try:
        start_workers(executor)
        started = time.perf_counter()
        started_trials = finished_trials = 0
        while finished_trials < trials:
            while started_trials < trials and (free := executor.free):
                executor.start(free[0], Job(started_trials, Request(Configuration({"x": 0, "number": started_trials}))))
                started_trials += 1
            finished_trials += len(executor.wait())
        return (time.perf_counter() - started) / trials
    finally:
        executor.close()


def start_workers(executor: Processes) -> None:
    """Start all workers."""
    names = executor.free
    for name in names:
        executor.start(name, Job(0, Request(Configuration({"x": 0}))))
    while len(executor.free) < len(names):
        executor.wait()


def measure_start(evaluate: Evaluate) -> tuple[float, float, float]:
    """Return the seconds until the constructor returns, until the executor is ready, and until it is closed."""
    moments = [time.perf_counter()]
    executor = Processes(evaluate, workers=2, limits=LIMITED)
    for act in (lambda: None, executor.ready, lambda: start_workers(executor), executor.close):
        act()
        moments.append(time.perf_counter())
    return moments[1] - moments[0], moments[2] - moments[0], moments[4] - moments[3]


def measure_restart(evaluate: Evaluate, rounds: int) -> float:
    """Return the additional seconds of a trial after a crash."""
    executor = Processes(evaluate, limits=LIMITED)

    def timed(value: int) -> float:
        started = time.perf_counter()
        executor.start("1", Job(0, Request(Configuration({"x": value}))))
        executor.wait()
        return time.perf_counter() - started

    try:
        executor.wait_until_ready()
        normal = min(timed(0) for _ in range(rounds))

        def time_after_crash() -> float:
            timed(1)
            return timed(0)

        return time_best(time_after_crash, rounds) - normal
    finally:
        executor.close()


def time_best(act: Callable[[], float], rounds: int) -> float:
    return min(act() for _ in range(rounds))


if __name__ == "__main__":
    main()
