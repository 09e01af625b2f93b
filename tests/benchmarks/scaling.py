"""How much faster several workers search than one: prints trials, speed-ups and losses of runs on loss tables.

    python tests/benchmarks/scaling.py TABLE.npz ... [--data FILE.csv.gz ... --tables DIRECTORY] [--optimizers NAME ...]
        [--seeds N] [--quick]

The clock is that of the tables, and workers are simulated. `needed` is the median, over the seeds, of the trials that
ended within the time and that the optimizer wanted in earnest; the speed-up is the time that one worker takes for the
same number of them with the same seed, divided by theirs, and `asked` what it is to be with eight workers. `limit` is
that of 256 workers for what eight have made: nobody waits for a worker then, so what is left of the time is the longest
chain of decisions that wait for each other. `regret` is the loss beyond the best one of the table after the time: that
of eight workers, and that of one after four times as long. A run has 60 s, and never more than a thirtieth of what the
trials of the table take together.

A table is one of `blds_table1`, or of the 384 pipelines of `PART`, which are tabulated for each of the `--data`, on
1,200 of its rows at most: a few minutes each, unless the directory has the table already.
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
from spacelang.bench.simulated import Simulated
from spacelang.bench.tables import LossTable
from spacelang.bench.tables.objective import TableObjective
from spacelang.bench.tables.reading import read_table
from spacelang.ir.problem import Problem
from spacelang.ir.space import Space
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.budget import Budget
from spacelang.runtime.history import Outcome
from spacelang.runtime.loop import run
from spacelang.solver.counting import Structures

SECONDS: Final = 60.0
SHARE: Final = 30
ROWS: Final = 1_200
WORKERS: Final = (1, 2, 4, 8)
CROWD: Final = 256
"""So many workers that none is ever missing."""
HEADER: Final = f"{'needed with 1 2 4 8 workers':<32}{'speed-up':<24}{'asked':<8}{'limit':<8}regret of 8, of 1 in 4 t"
LONGER: Final = 4
"""One worker that searches so many times as long shall be no better than eight."""

ASKED: Final = {"random": 7.5, "cmab": 7.0, "hyperband": 6.5, "blds": 5.0, "lds": 5.0}
"""The speed-up that eight workers shall have at least."""

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
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("tables", nargs="*", type=Path, metavar="TABLE.npz")
    options.add_argument("--data", nargs="*", type=Path, default=[], help="classification data to make tables of")
    options.add_argument("--tables", dest="directory", type=Path, default=Path(), help="where these tables are kept")
    options.add_argument("--optimizers", nargs="*", default=[*ASKED], choices=OPTIMIZERS.names(), metavar="NAME")
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--quick", action="store_true", help="two seeds and a second: that it runs, not how fast")
    chosen = options.parse_args(arguments)
    seeds, longest = (2, 1.0) if chosen.quick else (chosen.seeds, SECONDS)
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; median of {seeds} seeds")
    for path in (*chosen.tables, *(tabulated(data, chosen.directory) for data in chosen.data)):
        objective = objective_of(path)
        seconds = min(longest, float(objective.table.cost.sum()) / SHARE)
        print(f"\n{path.name}: {objective.table.loss[..., 0].size:,} pipelines, {seconds:.1f} s")
        print(f"  {'optimizer':<20}{HEADER}")
        for name in chosen.optimizers:
            print(f"  {name:<20}{measured(name, objective, seconds, seeds)}", flush=True)


@dataclass(frozen=True, slots=True)
class Searched:
    """A run: how many trials were needed, and when those of them ended that were; `regret` at its end."""

    needed: int
    ends: tuple[float, ...]
    seconds: float
    regret: float


def measured(name: str, objective: TableObjective, seconds: float, seeds: int) -> str:
    """One line of figures."""
    rows = [list(speed_ups(name, objective, seconds, seed)) for seed in range(seeds)]
    limit = median(chain(name, objective, seed, row[-1][0].needed) for seed, row in enumerate(rows))
    needed = [round(median(row[place][0].needed for row in rows)) for place in range(len(WORKERS))]
    faster = [median(row[place][1] for row in rows) for place in range(len(WORKERS))]
    longer = [searched(name, objective, LONGER * seconds, seed, 1).regret for seed in range(seeds)]
    regrets = median(row[-1][0].regret for row in rows), median(longer)
    asked = f"{ASKED[name]:g}" if name in ASKED else ""
    return (
        f"{' '.join(f'{each:>6,}' for each in needed):<32}{' '.join(f'{each:>4.1f}' for each in faster):<24}"
        f"{asked:<8}{limit:<8.1f}{regrets[0]:.4f} {regrets[1]:.4f}"
    )


def speed_ups(name: str, objective: TableObjective, seconds: float, seed: int) -> Iterator[tuple[Searched, float]]:
    """The run of each number of workers, and how many times as long one worker takes for as many needed trials."""
    runs = [searched(name, objective, seconds, seed, workers) for workers in WORKERS]
    most = max(each.needed for each in runs)
    alone = searched(name, objective, None, seed, 1, trials=most)
    for each in runs:
        yield each, alone.ends[min(each.needed, len(alone.ends)) - 1] / each.ends[-1]


def chain(name: str, objective: TableObjective, seed: int, trials: int) -> float:
    """How many times as long as a crowd one worker takes for so many needed trials."""
    alone, crowd = (searched(name, objective, None, seed, workers, trials) for workers in (1, CROWD))
    return alone.seconds / crowd.seconds


def searched(
    name: str, objective: TableObjective, seconds: float | None, seed: int, workers: int, trials: int | None = None
) -> Searched:
    """A run from a table."""
    crew = Simulated(objective.evaluate, workers=workers)
    size = objective.training_size
    search = OPTIMIZERS.load(name)().search(Problem(space_of(objective.table), size, np.random.default_rng(seed)))
    outcome = run(search, crew, Budget(seconds, trials), clock=crew.clock, training_size=size, scale=objective.scale)
    ends = tuple(record.finished for record in outcome.records if not record.is_early)
    return Searched(len(outcome.records) - outcome.unneeded, ends, outcome.seconds, regret(outcome, objective.table))


def regret(outcome: Outcome, table: LossTable) -> float:
    """By how much the best loss on all rows is above the best one of the table."""
    losses = [each.trial.loss for each in outcome.records if each.trial.request.fidelity is None]
    found = min((loss for loss in losses if loss is not None), default=1.0)
    return found - float(table.loss[..., -1].min())


def objective_of(path: Path) -> TableObjective:
    """What answers from a table."""
    table = read_table(path)
    return TableObjective(Structures(space_of(table)), table)


def space_of(table: LossTable) -> Space:
    """The space that a table is of."""
    pipelines = table.loss[..., 0].size
    return next(space for count, space in spaces() if count == pipelines)


@cache
def spaces() -> tuple[tuple[int, Space], ...]:
    """What there are tables of, by the number of pipelines."""
    return tuple((each.structures, each.checked) for each in (spacelang.load("blds_table1"), spacelang.parse(PART)))


def tabulated(data: Path, directory: Path) -> Path:
    """The table of some data, made where there is none yet."""
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
