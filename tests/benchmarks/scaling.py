"""Measure the speed-up of several workers: trials, speed-ups and losses of simulated runs on loss tables.

    python tests/benchmarks/scaling.py TABLE.npz ... [--data FILE.csv.gz ... --tables DIRECTORY] [--optimizers NAME ...]
        [--seeds N] [--quick]

Time is that of the tables, and workers are simulated. `needed` is the median, over the seeds, of the trials that ended
within the time and that the optimizer used. The speed-up is the time of one worker for the same number of trials with
the same seed, divided by the time of several. `minimum` is the required speed-up of eight workers. `limit` is the
speed-up of 256 workers for the trials that eight have made: no trial waits for a worker then, so the time is that of
the longest chain of dependent decisions. `regret` is the final loss minus the best loss of the table: of eight workers,
and of one worker after four times as long. A run has 60 s, and at most a thirtieth of the total time of the table's
trials.

A table is one of `blds_table1`, or of the 384 pipelines of `PART`. The latter are tabulated for each data set of
`--data`, on at most 1,200 rows. This takes a few minutes each, unless the table already exists in the directory.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
import pandas as pd

import spacelang
from spacelang.bench.table_search import SimulatedExecutor
from spacelang.bench.tables import LossTable
from spacelang.bench.tables.objective import TableObjective
from spacelang.bench.tables.table_files import read_table
from spacelang.ir.search_protocol import Problem
from spacelang.ir.space import Space
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome
from spacelang.runtime.search_loop import run
from spacelang.solver.counting import Structures

SECONDS: Final = 60.0
SHARE: Final = 30
ROWS: Final = 1_200
WORKERS: Final = (1, 2, 4, 8)
MANY_WORKERS: Final = 256
"""A number of workers so large that no trial waits for one."""
HEADER: Final = f"{'needed with 1 2 4 8 workers':<32}{'speed-up':<24}{'minimum':<8}{'limit':<8}regret of 8, of 1 in 4 t"
TIME_FACTOR: Final = 4
"""The time of one worker, as a multiple of that of eight, after which it should not be better."""

MIN_SPEED_UPS: Final = {"random": 7.5, "cmab": 7.0, "hyperband": 6.5, "blds": 5.0, "lds": 5.0}
"""The minimum speed-up of eight workers."""

PART: Final = """
space blds_part "BLDS, Table 1: 4 x 4 x 4 x 6 = 384 of its pipelines"

stage scaler = none | Normalizer | StandardScaler | MinMaxScaler
stage transformer = none | RBFSampler | PCA | TruncatedSVD { algorithm = randomized }
stage selector = none | SelectPercentile | SelectFwe | VarianceThreshold
stage estimator =
  | RandomForestClassifier
  | LogisticRegression
  | GaussianNB
  | KNeighborsClassifier
  | AdaBoostClassifier { estimator = DecisionTreeClassifier { max_depth = 3 } }
  | DecisionTreeClassifier
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("tables", nargs="*", type=Path, metavar="TABLE.npz", help="files of loss tables")
    options.add_argument("--data", nargs="*", type=Path, default=[], help="classification data sets to tabulate")
    options.add_argument("--tables", dest="directory", type=Path, default=Path(), help="folder of these tables")
    options.add_argument(
        "--optimizers", nargs="*", default=[*MIN_SPEED_UPS], choices=OPTIMIZERS.names(), metavar="NAME"
    )
    options.add_argument("--seeds", type=int, default=20, help="number of seeds")
    options.add_argument(
        "--quick", action="store_true", help="two seeds and a second, to check only that the benchmark runs"
    )
    chosen = options.parse_args(arguments)
    seeds, longest = (2, 1.0) if chosen.quick else (chosen.seeds, SECONDS)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; median of {seeds} seeds")
    for path in (*chosen.tables, *(find_table(data, chosen.directory) for data in chosen.data)):
        objective = load_objective(path)
        seconds = min(longest, float(objective.table.cost.sum()) / SHARE)
        print(f"\n{path.name}: {objective.table.loss[..., 0].size:,} pipelines, {seconds:.1f} s")
        print(f"  {'optimizer':<20}{HEADER}")
        for name in chosen.optimizers:
            print(f"  {name:<20}{measure(name, objective, seconds, seeds)}", flush=True)


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """A run: the number of used trials, their end times, the total seconds, and the final regret."""

    needed: int
    ends: tuple[float, ...]
    seconds: float
    regret: float


def measure(name: str, objective: TableObjective, seconds: float, seeds: int) -> str:
    """Return one line of the table."""
    rows = [list(measure_speed_ups(name, objective, seconds, seed)) for seed in range(seeds)]
    limit = median(measure_limit(name, objective, seed, row[-1][0].needed) for seed, row in enumerate(rows))
    needed = [round(median(row[place][0].needed for row in rows)) for place in range(len(WORKERS))]
    faster = [median(row[place][1] for row in rows) for place in range(len(WORKERS))]
    longer = [simulate(name, objective, TIME_FACTOR * seconds, seed, 1).regret for seed in range(seeds)]
    regrets = median(row[-1][0].regret for row in rows), median(longer)
    minimum = f"{MIN_SPEED_UPS[name]:g}" if name in MIN_SPEED_UPS else ""
    return (
        f"{' '.join(f'{each:>6,}' for each in needed):<32}{' '.join(f'{each:>4.1f}' for each in faster):<24}"
        f"{minimum:<8}{limit:<8.1f}{regrets[0]:.4f} {regrets[1]:.4f}"
    )


def measure_speed_ups(
    name: str, objective: TableObjective, seconds: float, seed: int
) -> Iterator[tuple[SimulatedRun, float]]:
    """Yield the run of each number of workers, and its speed-up."""
    runs = [simulate(name, objective, seconds, seed, workers) for workers in WORKERS]
    most = max(each.needed for each in runs)
    alone = simulate(name, objective, None, seed, 1, trials=most)
    for each in runs:
        yield each, alone.ends[min(each.needed, len(alone.ends)) - 1] / each.ends[-1]


def measure_limit(name: str, objective: TableObjective, seed: int, trials: int) -> float:
    """Return the speed-up of `CROWD` workers for a number of used trials."""
    alone, many = (simulate(name, objective, None, seed, workers, trials) for workers in (1, MANY_WORKERS))
    return alone.seconds / many.seconds


def simulate(
    name: str, objective: TableObjective, seconds: float | None, seed: int, workers: int, trials: int | None = None
) -> SimulatedRun:
    """Make a simulated run on a table."""
    executor = SimulatedExecutor(objective.evaluate, workers=workers)
    size = objective.training_size
    search = OPTIMIZERS.load(name)().search(Problem(find_space(objective.table), size, np.random.default_rng(seed)))
    outcome = run(
        search, executor, Budget(seconds, trials), clock=executor.clock, training_size=size, scale=objective.scale
    )
    ends = tuple(record.finished for record in outcome.records if not record.is_speculative)
    return SimulatedRun(
        len(outcome.records) - outcome.wasted_speculative, ends, outcome.seconds, regret(outcome, objective.table)
    )


def regret(outcome: Outcome, table: LossTable) -> float:
    """Return the best loss on all rows minus the best loss of the table."""
    losses = [each.trial.loss for each in outcome.records if each.trial.request.fidelity is None]
    found = min((loss for loss in losses if loss is not None), default=1.0)
    return found - float(table.loss[..., -1].min())


def load_objective(path: Path) -> TableObjective:
    """Return the objective that answers from a table."""
    table = read_table(path)
    return TableObjective(Structures(find_space(table)), table)


def find_space(table: LossTable) -> Space:
    """Return the space of a table."""
    pipelines = table.loss[..., 0].size
    return next(space for count, space in load_spaces() if count == pipelines)


@cache
def load_spaces() -> tuple[tuple[int, Space], ...]:
    """Return the spaces that have tables, by number of pipelines."""
    return tuple((each.structures, each.checked) for each in (spacelang.load("blds_table1"), spacelang.parse(PART)))


def find_table(data: Path, directory: Path) -> Path:
    """Return the table of a data set, creating it if it does not exist."""
    name = data.name.partition(".")[0]
    table, space, rows = (directory / f"{name}{ending}" for ending in (".npz", ".space", ".csv"))
    if not table.exists():
        space.write_text(PART, encoding="utf-8")
        frame = pd.read_csv(data)
        frame.sample(min(ROWS, len(frame)), random_state=0).to_csv(rows, index=False)
        command = [sys.executable, "-m", "spacelang", "tabulate", space, "--data", rows, "--output", table]
        subprocess.run([*command, "--training-score"], check=True)
    return table


if __name__ == "__main__":
    main()
