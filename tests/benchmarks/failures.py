"""Count how many random configurations of a space fail on a data set, and print the reasons.

    python tests/benchmarks/failures.py [SPACE ...] [-n 200] [--data breast_cancer digits]

Each configuration is fitted on the training rows of a holdout and scored on the other rows, with one thread, in a
process with a time limit for each fit. Times are processor times, so that other load on the machine does not matter. As
a control, the first space is also sampled as it is without data: with the bounds of an arbitrarily large table, and
without constraints. The script asserts nothing.
"""

import argparse
import multiprocessing
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import TypeAlias

import numpy as np

from spacelang import api
from spacelang.api.search_data import TabularData
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Status
from spacelang.ir.validation import Holdout
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures

SPACES = ("admm_table_a2", "blds_table1_hpo", "mosaic", "boasf_models")
DATA = ("breast_cancer", "digits")

CONTROL_SUFFIX = " without bounds"
"""The suffix of the name of a space that is sampled without facts about the data."""

SEED = 0
"""The seed of the samples, of the holdout and of the pipelines."""

WALL_CLOCK_FACTOR = 10.0
"""The maximum wall-clock time of a fit, as a multiple of its limit."""

START_SECONDS = 300.0
"""The maximum seconds for a process to import the libraries and prepare the data."""

Numbered: TypeAlias = tuple[int, Configuration]


@dataclass(frozen=True)
class FitResult:
    """The result of one configuration: success, failure with a reason, or a timeout."""

    seconds: float
    reason: str = ""
    is_timeout: bool = False


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each space and data set, and then the reasons by frequency."""
    options = parse(arguments)
    names = [*options.spaces, *([] if options.no_control else [options.spaces[0] + CONTROL_SUFFIX])]
    reasons: dict[tuple[str, str], Counter[str]] = {}
    print(f"{'space':29} {'data':13} {'drawn':>5} {'failed':>6} {'timeouts':>8} {'seconds':>7}", flush=True)
    for name in names:
        for data in options.data:
            results = evaluate_samples(name, data, options.n, options.limit)
            timeouts = sum(evaluate.is_timeout for evaluate in results)
            reasons[name, data] = Counter(evaluate.reason for evaluate in results if evaluate.reason)
            failed, seconds = reasons[name, data].total() - timeouts, sum(evaluate.seconds for evaluate in results)
            print(f"{name:29} {data:13} {options.n:5} {failed:6} {timeouts:8} {seconds:7.0f}", flush=True)
    for (name, data), found in reasons.items():
        print(f"\n{name}, {data}:" if found else "", end="\n" if found else "")
        for reason, times in found.most_common():
            print(f"{times:5} {reason}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spaces", nargs="*", metavar="SPACE", default=SPACES, help="bundled spaces or files")
    parser.add_argument("-n", type=int, default=200, help="number of configurations of each space on each data set")
    parser.add_argument("--data", nargs="+", default=DATA, help="names of data sets included in scikit-learn")
    parser.add_argument("--limit", type=float, default=60.0, help="limit of processor seconds for a fit and its score")
    parser.add_argument("--no-control", action="store_true", help="skip the control without bounds")
    return parser.parse_args(arguments)


def evaluate_samples(name: str, data: str, drawn: int, limit: float) -> list[FitResult]:
    """Sample configurations of a space and evaluate them, one process per core; return results in sample order."""
    structures, _ = prepare(name, data)
    sampler, rng = Sampler(structures), np.random.default_rng(SEED)
    waiting: SimpleQueue[Numbered] = SimpleQueue()
    for number in range(drawn):
        waiting.put((number, sampler.configuration(rng)))
    cores = min(len(os.sched_getaffinity(0)), drawn)
    with ThreadPoolExecutor(cores) as pool:
        futures = [pool.submit(evaluate_queue, FitProcess(name, data, limit), waiting) for _ in range(cores)]
        found = dict(pair for future in futures for pair in future.result())
    return [found[number] for number in range(drawn)]


def prepare(name: str, data: str) -> tuple[Structures, DataObjective]:
    """Return the structures and the objective of a space, bound to the data unless it is the control."""
    space = api.load_for_data(name.removesuffix(CONTROL_SUFFIX))
    rows = TabularData(load_dataset(f"sklearn:{data}"))
    bound, objective = rows.bind_space(api.Experiment(space=space, data=rows, seed=SEED, validation=Holdout(0.3)))
    if not name.endswith(CONTROL_SUFFIX):
        return bound.counted, objective
    unbounded = replace(space.checked, constraints=())
    return Structures(unbounded), objective.with_bound_space(unbounded)


def evaluate_queue(process: "FitProcess", waiting: "SimpleQueue[Numbered]") -> list[tuple[int, FitResult]]:
    """Evaluate configurations until none are left."""
    found = []
    try:
        while True:
            number, configuration = waiting.get_nowait()
            found.append((number, process.evaluate(configuration)))
    except Empty:
        return found
    finally:
        process.close()


class FitProcess:
    """A process that evaluates one configuration at a time, and is replaced after a timeout or a crash."""

    def __init__(self, name: str, data: str, limit: float) -> None:
        self._arguments = (name, data, limit)
        self._limit = limit
        self._start()

    def evaluate(self, configuration: Configuration) -> FitResult:
        """Return the result of a configuration."""
        self._connection.send(configuration)
        try:
            if self._connection.poll(WALL_CLOCK_FACTOR * self._limit):
                seconds, reason = self._connection.recv()
                return FitResult(seconds, strip_numbers(reason))
        except EOFError:
            self._process.join()
            if self._process.exitcode != -signal.SIGPROF:  # out of memory, or a crash in compiled code
                self._restart()
                return FitResult(0.0, f"the process ended: {format_decisions(configuration)}")
        self._restart()
        return FitResult(self._limit, f"timeout: {format_decisions(configuration)}", is_timeout=True)

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()
        if not self._connection.poll(START_SECONDS) or self._connection.recv() != "ready":
            raise TimeoutError("the process did not start in time")

    def _restart(self) -> None:
        self.close()
        self._start()


def serve(connection: Connection, name: str, data: str, limit: float) -> None:
    """Answer each configuration with the seconds that it took, and the reason if it failed.

    This is the main function of the process. The signal of the timer ends the process, also in compiled code.
    """
    _, objective = prepare(name, data)
    connection.send("ready")
    while True:
        configuration, started = connection.recv(), time.process_time()
        signal.setitimer(signal.ITIMER_PROF, limit)
        trial = objective.evaluate(Request(configuration))
        signal.setitimer(signal.ITIMER_PROF, 0)
        reason = "" if trial.status is Status.SUCCESS else trial.reason
        connection.send((time.process_time() - started, reason))


def strip_numbers(reason: str) -> str:
    """Return a reason without its numbers, so that similar reasons are counted together."""
    return re.sub(r"\d[\d.e+-]*", "N", reason)


def format_decisions(configuration: Configuration) -> str:
    """Return the alternatives of a configuration as a text."""
    return ", ".join(str(value) for key, value in sorted(configuration.items()) if "." not in key)


if __name__ == "__main__":
    main()
