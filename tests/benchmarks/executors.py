"""What trials in processes of their own cost: prints times in milliseconds, the best of a few rounds.

    python tests/benchmarks/executors.py [--quick]

The overhead of a trial is what it takes beyond the evaluation, which here does nothing; it is measured without limits,
with both, with two workers, and isolated, with a process of its own for each. A start is that of an executor whose
evaluation is an objective over the pipelines of `blds_table1` on breast_cancer, with all the libraries that those need,
as are the isolated trials; a restart is what a trial takes longer than others whose worker must be forked anew, because
the trial before it crashed.
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
        show(name, min(overhead(workers, limits, trials) for _ in range(rounds)))
    evaluate = objective()
    show("a trial, limits, isolated", min(overhead(1, LIMITED, trials // 20, evaluate) for _ in range(rounds)))
    for name, stage in [("until the constructor returns", 0), ("until it is ready", 1), ("until it is closed", 2)]:
        show(name, min(start(evaluate)[stage] for _ in range(rounds)))
    show("a restart of a worker", restart(evaluate, rounds * 5))


def show(name: str, seconds: float) -> None:
    print(f"{name:<40} {1e3 * seconds:9.3f} ms")


def nothing(request: Request) -> Trial:
    return Trial(request, 0.0)


def objective() -> Evaluate:
    """An evaluation that has all that the trials of a search have and does nothing, or crashes."""
    import spacelang
    from spacelang.runtime.data.labels import check_labels
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.evaluation.objective import DataObjective

    space = spacelang.load("blds_table1")
    real = DataObjective(space.checked, check_labels(load_dataset("sklearn:breast_cancer"), "classification"))

    def evaluate(request: Request) -> Trial:
        if request.configuration["x"]:
            os.kill(os.getpid(), signal.SIGSEGV)
        return Trial(request, 0.0, cost=0.0 * real.training_size)

    return evaluate


def overhead(workers: int, limits: Limits, trials: int, isolated: Evaluate | None = None) -> float:
    """The seconds of one trial among many."""
    executor = Processes(isolated or nothing, workers=workers, limits=limits, isolate=isolated is not None)
    executor.ready()
    try:
        everyone(executor)
        started = time.perf_counter()
        begun = ended = 0
        while ended < trials:
            while begun < trials and (free := executor.free):
                executor.start(free[0], Job(begun, Request(Configuration({"x": 0, "number": begun}))))
                begun += 1
            ended += len(executor.wait())
        return (time.perf_counter() - started) / trials
    finally:
        executor.close()


def everyone(executor: Processes) -> None:
    """Have all workers forked."""
    names = executor.free
    for name in names:
        executor.start(name, Job(0, Request(Configuration({"x": 0}))))
    while len(executor.free) < len(names):
        executor.wait()


def start(evaluate: Evaluate) -> tuple[float, float, float]:
    """The seconds of starting and ending."""
    moments = [time.perf_counter()]
    executor = Processes(evaluate, workers=2, limits=LIMITED)
    for act in (lambda: None, executor.ready, lambda: everyone(executor), executor.close):
        act()
        moments.append(time.perf_counter())
    return moments[1] - moments[0], moments[2] - moments[0], moments[4] - moments[3]


def restart(evaluate: Evaluate, rounds: int) -> float:
    """The seconds that a trial takes longer after a crash."""

    executor = Processes(evaluate, limits=LIMITED)

    def timed(value: int) -> float:
        started = time.perf_counter()
        executor.start("1", Job(0, Request(Configuration({"x": value}))))
        executor.wait()
        return time.perf_counter() - started

    try:
        executor.ready()
        usual = min(timed(0) for _ in range(rounds))

        def after_a_crash() -> float:
            timed(1)
            return timed(0)

        return best(after_a_crash, rounds) - usual
    finally:
        executor.close()


def best(act: Callable[[], float], rounds: int) -> float:
    return min(act() for _ in range(rounds))


if __name__ == "__main__":
    main()
