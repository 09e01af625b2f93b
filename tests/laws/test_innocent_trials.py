"""What the bundled spaces try leaves a process as it was: no worker of an innocent trial is replaced."""

import os
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from bundles import NAMES
from sklearn.datasets import load_breast_cancer

from spacelang.api import load_for_data
from spacelang.api.experiment import Experiment
from spacelang.api.search_data import TabularData
from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Request, Trial
from spacelang.ir.validation import Holdout
from spacelang.runtime.data.loading import make_table
from spacelang.runtime.evaluation.objective import DataObjective
from spacelang.runtime.executors import Job
from spacelang.runtime.executors.processes import Processes
from spacelang.sampling.sampler import Sampler

DRAWS = 100 if os.environ.get("SPACELANG_FULL") else 3
COLUMNS = 10
"""Cubic features of more would take minutes."""


@cache
def searched(name: str) -> tuple[Any, DataObjective]:
    features, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    space = load_for_data(name)
    rows = TabularData(make_table(features.iloc[:, :COLUMNS], labels))
    return rows.bind_space(Experiment(space=space, data=rows, validation=Holdout(0.3)))


class Trying:
    """Evaluates for all the spaces, whose libraries are loaded before there is a worker, and tells in which process."""

    def __init__(self) -> None:
        self._objectives = {name: searched(name)[1] for name in NAMES}

    def __call__(self, request: Request) -> Trial:
        taken = dict(request.configuration)
        trial = self._objectives[str(taken.pop("space"))].evaluate(Request(Configuration(taken), request.fidelity))
        return replace(trial, request=request, predictions=os.getpid())


@pytest.mark.usefixtures("quick_zygotes")
@pytest.mark.slow
def test_no_trial_of_a_bundled_space_has_its_worker_replaced() -> None:
    executor = Processes(Trying())
    workers: dict[object, str] = {}
    try:
        for name in NAMES:
            sampler, rng = Sampler(searched(name)[0].counted), np.random.default_rng(1)
            for number in range(DRAWS):
                configuration = sampler.configuration(rng)
                executor.start("1", Job(number, Request(Configuration({**configuration, "space": name}), 80)))
                (finished,) = executor.wait()
                workers.setdefault(finished.result.predictions, f"{name}: {configuration}")
    finally:
        executor.close()
    assert list(workers.values())[1:] == [], "these began in another process than those before"
