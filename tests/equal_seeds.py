"""Searches of small spaces without data, as a module and as a program: the trials of each optimizer, in their order."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from cheap import OPTIONS, PLAYOUTS

from spacelang.bench.table_search import SimulatedExecutor
from spacelang.ir.search_protocol import Problem
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._scheduling import search_after_initial_trials
from spacelang.runtime.executors import Executor
from spacelang.runtime.history import Outcome
from spacelang.testing.memory_storage import MemoryTrialStorage
from spacelang.testing.search_tests import SIZE, configuration_prefix, evaluate, run_search
from spacelang.testing.small_spaces import continuous_space, plain_space

MODELS: dict[str, dict[str, str]] = {
    **{name: dict(options) for name, options in OPTIONS.items()},
    "auto": {},
    "bo": {"initial": "6"},
    "boasf": {"startup": "4"},
    "bohb": {},
    "jopt": {"initial": "6"},
    "mosaic": {**PLAYOUTS, "kappa": "2"},
    "optuna": {},
    "tpe": {"startup": "6"},
}
"""Options with which models propose within a few trials; cheap ones for all else."""
SPACES = {"continuous": continuous_space, "pipelines": lambda: plain_space(4, 4, 3)}


def evaluate_slowly(salt: int) -> Callable[[Request], Trial]:
    """An evaluation whose seconds depend on the machine, which is another one for each salt."""

    def slow(request: Request) -> Trial:
        seconds = crc32(f"{salt} {request.configuration.identity} {request.fidelity}".encode()) / 2**32
        return replace(evaluate(request), cost=0.01 + 5 * seconds)

    return slow


def searched(name: str, space: str, executor: Executor, trials: int, journal: Any = None) -> Outcome:
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(name), MODELS.get(name, {}))
    search = search_after_initial_trials(optimizer, Problem(SPACES[space](), SIZE, np.random.default_rng(0)))
    return run_search(search, executor, trials, journal=journal, prefix_key=configuration_prefix)


def requested(outcome: Outcome) -> list[tuple[str, int | None]]:
    requests = (each.trial.request for each in outcome.records)
    return [(each.configuration.identity, each.fidelity) for each in requests]


def trace(name: str, space: str, trials: int, salt: int = 0, stop: int | None = None) -> list[tuple[str, int | None]]:
    """The trials of a search with one worker, killed after some of them and resumed, or uninterrupted."""
    crew, journal = SimulatedExecutor(evaluate_slowly(salt)), MemoryTrialStorage()
    outcome = searched(name, space, crew, trials, journal)
    if stop is not None:
        crew = SimulatedExecutor(evaluate_slowly(salt + 1))
        outcome = searched(name, space, crew, trials, journal.killed_after(min(stop, len(journal.appended))))
    return requested(outcome)


if __name__ == "__main__":
    names, count = sys.argv[1].split(","), int(sys.argv[2])
    json.dump({name: trace(name, "continuous", count) for name in names}, sys.stdout)
