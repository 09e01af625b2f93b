"""How many random configurations of a space fail on a data set, and why: nothing is asserted here.

    python tests/benchmarks/failures.py [SPACE ...] [-n 200] [--data breast_cancer digits]

Each configuration is fitted on the training part of a holdout and scored on the other, with one thread, in a process
that is ended when the time for one fit is over. Times are those of the processor, so that what else the machine does
changes nothing. As a control the first space is drawn from once more as it is without data: with the bounds of an
arbitrarily large table, and without constraints.
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
from spacelang.api.rows import Rows
from spacelang.draws.sampling import Sampler
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Holdout
from spacelang.ir.trial import Request, Status
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.solver.counting import Structures

SPACES = ("admm_table_a2", "blds_table1_hpo", "mosaic", "boasf_models")
DATA = ("breast_cancer", "digits")

FREE = " without bounds"
"""What follows the name of a space that is drawn from as if nothing were known of the data."""

SEED = 0
"""Of the drawing, of the holdout and of the pipelines."""

PATIENCE = 10.0
"""So many times the limit a process may take by the clock on the wall, whatever else the machine does."""

STARTING = 300.0
"""Seconds for a process to import the libraries and prepare the data."""

Numbered: TypeAlias = tuple[int, Configuration]


@dataclass(frozen=True)
class Verdict:
    """What became of one configuration: success, failure with a reason, or neither within the limit."""

    seconds: float
    reason: str = ""
    is_timeout: bool = False


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each space and data set, and then the reasons by frequency."""
    options = parse(arguments)
    names = [*options.spaces, *([] if options.no_control else [options.spaces[0] + FREE])]
    reasons: dict[tuple[str, str], Counter[str]] = {}
    print(f"{'space':29} {'data':13} {'drawn':>5} {'failed':>6} {'timeouts':>8} {'seconds':>7}", flush=True)
    for name in names:
        for data in options.data:
            verdicts = judge(name, data, options.n, options.limit)
            timeouts = sum(verdict.is_timeout for verdict in verdicts)
            reasons[name, data] = Counter(verdict.reason for verdict in verdicts if verdict.reason)
            failed, seconds = reasons[name, data].total() - timeouts, sum(verdict.seconds for verdict in verdicts)
            print(f"{name:29} {data:13} {options.n:5} {failed:6} {timeouts:8} {seconds:7.0f}", flush=True)
    for (name, data), found in reasons.items():
        print(f"\n{name}, {data}:" if found else "", end="\n" if found else "")
        for reason, times in found.most_common():
            print(f"{times:5} {reason}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spaces", nargs="*", metavar="SPACE", default=SPACES, help="bundled spaces or files")
    parser.add_argument("-n", type=int, default=200, help="configurations of each space on each data set")
    parser.add_argument("--data", nargs="+", default=DATA, help="data sets that scikit-learn ships")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of the processor for a fit and its score")
    parser.add_argument("--no-control", action="store_true", help="leave out the space without bounds")
    return parser.parse_args(arguments)


def judge(name: str, data: str, drawn: int, limit: float) -> list[Verdict]:
    """Draw configurations of a space and try each, in as many processes as there are cores; in the order drawn."""
    structures, _ = prepare(name, data)
    sampler, rng = Sampler(structures), np.random.default_rng(SEED)
    waiting: SimpleQueue[Numbered] = SimpleQueue()
    for number in range(drawn):
        waiting.put((number, sampler.configuration(rng)))
    cores = min(len(os.sched_getaffinity(0)), drawn)
    with ThreadPoolExecutor(cores) as pool:
        lanes = [pool.submit(work, Laboratory(name, data, limit), waiting) for _ in range(cores)]
        found = dict(pair for lane in lanes for pair in lane.result())
    return [found[number] for number in range(drawn)]


def prepare(name: str, data: str) -> tuple[Structures, DataObjective]:
    """The structures of a space and what its pipelines are judged by; bound by the data unless it is the control."""
    space = api.load_for_data(name.removesuffix(FREE))
    rows = Rows(load_dataset(f"sklearn:{data}"))
    bound, objective = rows.over(api.Experiment(space=space, data=rows, seed=SEED, validation=Holdout(0.3)))
    if not name.endswith(FREE):
        return bound.counted, objective
    free = replace(space.checked, constraints=())
    return Structures(free), objective.over(free)


def work(laboratory: "Laboratory", waiting: "SimpleQueue[Numbered]") -> list[tuple[int, Verdict]]:
    """Try configurations until there are none left."""
    found = []
    try:
        while True:
            number, configuration = waiting.get_nowait()
            found.append((number, laboratory.verdict(configuration)))
    except Empty:
        return found
    finally:
        laboratory.close()


class Laboratory:
    """A process that tries one configuration at a time; another takes its place when one takes too long or ends it."""

    def __init__(self, name: str, data: str, limit: float) -> None:
        self._arguments = (name, data, limit)
        self._limit = limit
        self._start()

    def verdict(self, configuration: Configuration) -> Verdict:
        """What becomes of a configuration."""
        self._connection.send(configuration)
        try:
            if self._connection.poll(PATIENCE * self._limit):
                seconds, reason = self._connection.recv()
                return Verdict(seconds, general(reason))
        except EOFError:
            self._process.join()
            if self._process.exitcode != -signal.SIGPROF:  # it used too much memory, or compiled code crashed
                self._restart()
                return Verdict(0.0, f"the process ended: {decisions(configuration)}")
        self._restart()
        return Verdict(self._limit, f"timeout: {decisions(configuration)}", is_timeout=True)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()
        if not self._connection.poll(STARTING) or self._connection.recv() != "ready":
            raise TimeoutError("the process is not ready in time")

    def _restart(self) -> None:
        self.close()
        self._start()


def serve(connection: Connection, name: str, data: str, limit: float) -> None:
    """The process of a laboratory: answers each configuration with the seconds that it took and why it failed, if so.

    The signal of the timer ends the process, in compiled code too.
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


def general(reason: str) -> str:
    """A reason without its numbers, so that it can be counted together with others."""
    return re.sub(r"\d[\d.e+-]*", "N", reason)


def decisions(configuration: Configuration) -> str:
    """The alternatives that a configuration takes, by which one that was too slow is known."""
    return ", ".join(str(value) for key, value in sorted(configuration.items()) if "." not in key)


if __name__ == "__main__":
    main()
