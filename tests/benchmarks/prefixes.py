"""Measure how much time trials save by sharing the first steps of their pipelines.

    python tests/benchmarks/prefixes.py [--reduced] [--workers N] [--validation cv]

The script prints ratios of an evaluation without sharing to one with sharing. It evaluates all 8 x 8 x 6 x 8 = 3,072
pipelines of `blds_table1` on breast_cancer in the order of an affinity queue: once with all eight estimators, once with
the four that are fitted in milliseconds. `limit` is the ratio if storing, looking up and copying took no time: the time
without sharing, divided by this time without the repeated work. With one worker, processor time of this process is
measured; with several, wall-clock time. The two evaluations alternate, so that other load on the machine affects both.
`--reduced` uses every second alternative of the first three stages.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

import spacelang
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.ir.validation import CrossValidation, Holdout
from spacelang.runtime.data.labels import check_and_encode_labels
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.evaluation.folds import CACHE_BYTES, EvaluationSettings
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.evaluation.prefix_cache import PrefixCache
from spacelang.runtime.executors import Job
from spacelang.runtime.executors.processes import Processes
from spacelang.runtime.request_queue import AffinityQueue

BLOCK: Final = 192
"""The number of requests that several workers evaluate before the other evaluation continues."""

CHEAP: Final = ("GaussianNB", "KNeighborsClassifier", "QuadraticDiscriminantAnalysis", "DecisionTreeClassifier")


@dataclass(slots=True)
class Measurement:
    """An objective, the trials of all requests by number, and the seconds that they took."""

    objective: DataObjective
    trials: dict[int, Trial] = field(default_factory=dict)
    seconds: float = 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--reduced", action="store_true", help="use an eighth of the prefixes")
    options.add_argument("--workers", type=int, default=1, help="number of trials in parallel")
    options.add_argument("--validation", choices=("holdout", "cv"), default="holdout")
    options.add_argument("--only", choices=("all", "cheap"), help="use all eight estimators, or only the cheap ones")
    chosen = options.parse_args(arguments)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; {chosen.workers} workers")
    for label in (chosen.only,) if chosen.only else ("cheap", "all"):
        requests = make_requests(label, step=2 if chosen.reduced else 1)
        unshared, shared = (Measurement(make_objective(chosen.validation, size)) for size in (0.0, CACHE_BYTES))
        if chosen.workers == 1:
            evaluate_in_turn(requests, unshared, shared)
        else:
            evaluate_in_processes(requests, chosen.workers, unshared, shared)
        report(label, unshared, shared)


def make_requests(label: str, step: int) -> list[Request]:
    """Return every pipeline, with every `step`-th alternative of all stages except the last."""
    *before, last = spacelang.load("blds_table1").checked.stages
    names = [[branch.name for branch in stage.branches][::step] for stage in before]
    names.append([branch.name for branch in last.branches if label == "all" or branch.name in CHEAP])
    keys = [stage.key for stage in (*before, last)]
    return [Request(Configuration(dict(zip(keys, values, strict=True)))) for values in product(*names)]


def make_objective(validation: str, cache_bytes: float) -> DataObjective:
    """Return the objective, with a prefix cache of at most `cache_bytes`."""
    dataset = check_and_encode_labels(load_dataset("sklearn:breast_cancer"), "classification")
    rows = CrossValidation(3) if validation == "cv" else Holdout(0.3)
    return DataObjective(
        spacelang.load("blds_table1").checked, dataset, EvaluationSettings(validation=rows, cache_bytes=cache_bytes)
    )


def evaluate_in_turn(requests: Sequence[Request], *measurements: Measurement) -> None:
    """Evaluate each request with each objective, one after the other."""
    for each in measurements:
        each.objective.evaluate(requests[-1])
        each.objective._prefixes = PrefixCache(each.objective._prefixes.limit, clock=time.process_time)
    agenda = AffinityQueue(
        [Job(number, request) for number, request in enumerate(requests)], measurements[0].objective.prefix_key
    )
    while agenda:
        job = agenda.take_job("")
        for each in measurements[:: -1 if job.number % 2 else 1]:
            started = time.process_time()
            each.trials[job.number] = each.objective.evaluate(job.work)
            each.seconds += time.process_time() - started


def evaluate_in_processes(requests: Sequence[Request], workers: int, *measurements: Measurement) -> None:
    """Evaluate all requests with several workers, in alternating blocks, so that caches persist."""
    executors = [Processes(each.objective.evaluate, workers=workers) for each in measurements]
    route = measurements[0].objective.prefix_key
    jobs = [Job(number, request) for number, request in enumerate(sorted(requests, key=route))]
    for first in range(0, len(jobs), BLOCK):
        pairs = [*zip(executors, measurements, strict=True)]
        for executor, each in pairs[:: -1 if first // BLOCK % 2 else 1]:
            executor.wait_until_ready()
            started = time.perf_counter()
            each.trials |= evaluate_all(executor, AffinityQueue(jobs[first : first + BLOCK], route))
            each.seconds += time.perf_counter() - started
    for executor in executors:
        executor.close()


def evaluate_all(executor: Processes, agenda: AffinityQueue) -> dict[int, Trial]:
    """Return the trials of all jobs by number."""
    trials: dict[int, Trial] = {}
    count = len(agenda)
    while len(trials) < count:
        while agenda and (free := executor.free):
            executor.start(free[0], agenda.take_job(free[0]))
        trials |= {finished.job.number: finished.result for finished in executor.wait()}
    return trials


def report(label: str, unshared: Measurement, shared: Measurement) -> None:
    """Print the ratios of two evaluations of the same requests."""
    count, ratio = len(unshared.trials), unshared.seconds / shared.seconds
    differing = sum(
        (trial.loss, trial.status, trial.reason) != (other.loss, other.status, other.reason)
        for trial, other in ((unshared.trials[number], shared.trials[number]) for number in unshared.trials)
    )
    failed = sum(trial.loss is None for trial in unshared.trials.values())
    print(f"\n{label}: {count:,} trials, {failed:,} of them failed, {differing} differ in loss or reason")
    print(f"  unshared {unshared.seconds:.1f} s, shared {shared.seconds:.1f} s: ratio {ratio:.3f}")
    reused = [trial for trial in shared.trials.values() if trial.cost_alone is not None]
    print(f"  {len(reused):,} trials reused cached steps")
    prefixes = shared.objective._prefixes
    if prefixes.total.saved:
        saved, spent = prefixes.total.saved, prefixes.total.spent
        limit = unshared.seconds / (unshared.seconds - saved)
        print(f"  limit {limit:.3f}; storing and loading take {spent / count * 1e3:.3f} ms a trial")
        print(f"  peak size of the cache {prefixes.peak / 1e6:.1f} MB in {len(prefixes):,} prefixes")
    else:
        saved = sum((trial.cost_alone or trial.cost) - trial.cost for trial in reused)
        print(f"  {saved:.1f} s of work saved, according to the trials")


if __name__ == "__main__":
    main()
