"""What equal seeds promise: of every optimizer, whoever kills it, and wherever and by how many workers it is run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cheap import HEAVY, PARTIAL
from commands import environment
from equal_seeds import SPACES, evaluate_slowly, requested, searched, trace
from trying import IS_FULL

from spacelang.optimizers import OPTIMIZERS, reproducibility_sentence
from spacelang.testing.simulated_workers import ShuffledWorkers

NAMES = sorted({*OPTIMIZERS.names()} - PARTIAL)
INDEPENDENT = [name for name in NAMES if getattr(OPTIMIZERS.load(name), "is_independent_of_workers", False)]
FIXING = ("blds", "bo", "cmab", "daub", "enumerate", "lds", "mlds")
"""Those that fix hyperparameters, so that a space must have many pipelines."""
TRIALS = {name: 12 if name in HEAVY | {"jopt", "admm", "auto"} else 24 for name in NAMES}
"""With the options of these tests, models propose the last ones."""


@pytest.mark.parametrize("name", [name for name in NAMES if IS_FULL or name != "smac"])
def test_one_worker_gives_the_same_trials_in_the_same_order(name: str) -> None:
    """Also on a slower machine, and if it was killed; SMAC takes seconds for each model, and is among all below."""
    for space in SPACES if IS_FULL else ["pipelines" if name in FIXING else "continuous"]:
        whole = trace(name, space, TRIALS[name])
        assert whole
        assert trace(name, space, TRIALS[name], salt=1, stop=len(whole) // 2) == whole


@pytest.mark.parametrize("name", INDEPENDENT)
def test_several_workers_give_the_same_trials_by_the_optimizers_that_say_so(name: str) -> None:
    for space in SPACES:
        for trials in (5, 24):
            alone = {*trace(name, space, trials)}
            for order in range(5):
                crowd = searched(name, space, ShuffledWorkers(evaluate_slowly(0), 2 + order, order), trials)
                assert {*requested(crowd)} >= alone
                assert len(crowd.records) - crowd.wasted_speculative == len(alone)


def test_who_depends_on_the_order_says_so() -> None:
    """Those that learn from what has ended propose other trials if others end first."""
    assert INDEPENDENT == ["blds", "daub", "enumerate", "lds", "mlds", "random"]
    assert "but not with several" in reproducibility_sentence(OPTIMIZERS.load("auto"))
    alone = {*trace("bo", "pipelines", 24)}
    crowds = [searched("bo", "pipelines", ShuffledWorkers(evaluate_slowly(0), 3, order), 24) for order in range(2)]
    assert any({*requested(crowd)} != alone for crowd in crowds)


def test_neither_hashes_nor_threads_change_a_trial() -> None:
    """Of any optimizer, each in a fresh process."""
    names = NAMES if IS_FULL else ["auto", "blds", "bo", "bohb", "mosaic", "optuna", "smac", "tpe"]
    folder = Path(__file__).parents[1]
    found = []
    for seed, threads in (("1", "1"), ("2", "2")):
        counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        path = os.pathsep.join([str(folder), str(folder.parent), os.environ.get("PYTHONPATH", "")])
        ended = subprocess.run(
            [sys.executable, str(folder / "equal_seeds.py"), ",".join(names), "12"],
            env=environment(PYTHONHASHSEED=seed, PYTHONPATH=path, **counts),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        found.append(json.loads(ended.stdout))
    assert found[0] == found[1]
    assert {*found[0]} == {*names}
