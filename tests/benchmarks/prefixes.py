"""What trials save by sharing the beginnings of their pipelines: ratios of an unshared to a shared evaluation.

    python tests/benchmarks/prefixes.py [--reduced] [--workers N] [--validation cv]

Every pipeline of `blds_table1` on breast_cancer, 8 x 8 x 6 x 8 = 3,072 of them, in the order of an agenda; once over
all eight estimators, once over the four that are fitted in milliseconds. `limit` is what the ratio would be if keeping,
looking up and copying took no time at all: the unshared time over what of it is left without the repetitions. With one
worker processor time is taken in this process, with more, wall-clock time in processes;
the two evaluations take turns, so that what else the machine does hits both.
`--reduced` takes every second alternative of the first three stages.
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
from spacelang.ir.task import CrossValidation, Holdout
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.agenda import Agenda
from spacelang.runtime.data.labels import check_labels
from spacelang.runtime.data.loading import load_dataset
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.evaluation.prefixes import Prefixes
from spacelang.runtime.evaluation.settings import CACHE_BYTES, Settings
from spacelang.runtime.executors import Job
from spacelang.runtime.executors.processes import Processes

BLOCK: Final = 192
"""How many requests several workers evaluate before those of the other evaluation have their turn."""

CHEAP: Final = ("GaussianNB", "KNeighborsClassifier", "QuadraticDiscriminantAnalysis", "DecisionTreeClassifier")


@dataclass(slots=True)
class Measured:
    """An objective, the trials of all requests by their numbers, and the seconds that these took."""

    objective: DataObjective
    trials: dict[int, Trial] = field(default_factory=dict)
    seconds: float = 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--reduced", action="store_true", help="an eighth of the prefixes")
    options.add_argument("--workers", type=int, default=1, help="how many trials at once")
    options.add_argument("--validation", choices=("holdout", "cv"), default="holdout")
    options.add_argument("--only", choices=("all", "cheap"), help="over all eight estimators, or over the cheap ones")
    chosen = options.parse_args(arguments)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; {chosen.workers} workers")
    for label in (chosen.only,) if chosen.only else ("cheap", "all"):
        wishes = requests(label, step=2 if chosen.reduced else 1)
        alone, shared = (Measured(objective(chosen.validation, size)) for size in (0.0, CACHE_BYTES))
        if chosen.workers == 1:
            in_turn(wishes, alone, shared)
        else:
            in_processes(wishes, chosen.workers, alone, shared)
        report(label, alone, shared)


def requests(label: str, step: int) -> list[Request]:
    """Every pipeline, of every `step`-th alternative of all stages but the last."""
    *before, last = spacelang.load("blds_table1").checked.stages
    names = [[branch.name for branch in stage.branches][::step] for stage in before]
    names.append([branch.name for branch in last.branches if label == "all" or branch.name in CHEAP])
    keys = [stage.key for stage in (*before, last)]
    return [Request(Configuration(dict(zip(keys, values, strict=True)))) for values in product(*names)]


def objective(validation: str, cache_bytes: float) -> DataObjective:
    """What evaluates, with so much room for what trials share."""
    dataset = check_labels(load_dataset("sklearn:breast_cancer"), "classification")
    rows = CrossValidation(3) if validation == "cv" else Holdout(0.3)
    return DataObjective(
        spacelang.load("blds_table1").checked, dataset, Settings(validation=rows, cache_bytes=cache_bytes)
    )


def in_turn(wishes: Sequence[Request], *all_measured: Measured) -> None:
    """Evaluate each request with each objective, one after the other: what else the machine does hits all alike."""
    for each in all_measured:
        each.objective.evaluate(wishes[-1])
        each.objective._prefixes = Prefixes(each.objective._prefixes.limit, clock=time.process_time)
    agenda = Agenda([Job(number, wish) for number, wish in enumerate(wishes)], all_measured[0].objective.route)
    while agenda:
        job = agenda.take("")
        for each in all_measured[:: -1 if job.number % 2 else 1]:
            started = time.process_time()
            each.trials[job.number] = each.objective.evaluate(job.request)
            each.seconds += time.process_time() - started


def in_processes(wishes: Sequence[Request], workers: int, *all_measured: Measured) -> None:
    """Evaluate all requests by several workers each, block after block in turn, so that caches live on."""
    executors = [Processes(each.objective.evaluate, workers=workers) for each in all_measured]
    route = all_measured[0].objective.route
    jobs = [Job(number, wish) for number, wish in enumerate(sorted(wishes, key=route))]
    for first in range(0, len(jobs), BLOCK):
        pairs = [*zip(executors, all_measured, strict=True)]
        for executor, each in pairs[:: -1 if first // BLOCK % 2 else 1]:
            executor.ready()
            started = time.perf_counter()
            each.trials |= evaluated(executor, Agenda(jobs[first : first + BLOCK], route))
            each.seconds += time.perf_counter() - started
    for executor in executors:
        executor.close()


def evaluated(executor: Processes, agenda: Agenda) -> dict[int, Trial]:
    """The trials of all jobs by their numbers."""
    trials: dict[int, Trial] = {}
    count = len(agenda)
    while len(trials) < count:
        while agenda and (free := executor.free):
            executor.start(free[0], agenda.take(free[0]))
        trials |= {finished.job.number: finished.trial for finished in executor.wait()}
    return trials


def report(label: str, alone: Measured, shared: Measured) -> None:
    """Print the ratios of two runs of the same requests."""
    count, ratio = len(alone.trials), alone.seconds / shared.seconds
    differing = sum(
        (trial.loss, trial.status, trial.reason) != (other.loss, other.status, other.reason)
        for trial, other in ((alone.trials[number], shared.trials[number]) for number in alone.trials)
    )
    failed = sum(trial.loss is None for trial in alone.trials.values())
    print(f"\n{label}: {count:,} trials, {failed:,} of them failed, {differing} differ in loss or reason")
    print(f"  unshared {alone.seconds:.1f} s, shared {shared.seconds:.1f} s: ratio {ratio:.3f}")
    taken = [trial for trial in shared.trials.values() if trial.cost_alone is not None]
    print(f"  {len(taken):,} trials took something from the cache")
    prefixes = shared.objective._prefixes
    if prefixes.total.saved:
        saved, spent = prefixes.total.saved, prefixes.total.spent
        limit = alone.seconds / (alone.seconds - saved)
        print(f"  limit {limit:.3f}; keeping and taking cost {spent / count * 1e3:.3f} ms a trial")
        print(f"  peak of the cache {prefixes.peak / 1e6:.1f} MB in {len(prefixes):,} prefixes")
    else:
        saved = sum((trial.cost_alone or trial.cost) - trial.cost for trial in taken)
        print(f"  {saved:.1f} s of work were saved, as the trials say")


if __name__ == "__main__":
    main()
