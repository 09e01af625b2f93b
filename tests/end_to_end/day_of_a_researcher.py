"""A day of a researcher: an optimizer of her own, tested, compared with others, and her space in other tools.

python tests/end_to_end/day_of_a_researcher.py [--here]
"""

import json
from collections.abc import Mapping
from pathlib import Path

from days import Budget, Day, main

SPACE = """\
space mine
stage scaler = none | StandardScaler | MinMaxScaler
stage estimator =
  | GaussianNB
  | KNeighborsClassifier { n_neighbors : {1, 5, 15} = 5, weights : {uniform, distance} = uniform }
  | DecisionTreeClassifier { max_depth : {2, 4, 8} = 4, min_samples_leaf : {1, 10} = 1 }
forbid scaler is none and estimator is KNeighborsClassifier
"""

OPTIMIZER = '''\
"""Few rows for everything, all rows for what is best."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from spacelang.contracts import Ask, UniqueConfigurations, DiscrepancyTree, Problem, Request, Search, Structures, option


@dataclass(frozen=True, slots=True)
class Spread:
    """Few rows for everything, all rows for the best so far."""

    paper: ClassVar[str] = "none"

    few: int = option(100, "training rows for everything")

    def search(self, problem: Problem) -> Search:
        """A new configuration for every idle worker; the best of them again, on all rows."""
        few = min(self.few, problem.size)
        new = UniqueConfigurations(DiscrepancyTree(Structures(problem.space)), problem.rng).each_once_in_random_order()
        told, out, best = (yield Ask()), 0, inf
        again: list[Request] = []
        while True:
            begin = again[: told.idle_workers]
            again = again[told.idle_workers :]
            while len(begin) < told.idle_workers and (each := next(new, None)) is not None:
                begin.append(Request(each, few))
            out += len(begin)
            if not out:
                return
            told = yield Ask(tuple(begin))
            out -= told.finished is not None
            trial = told.finished
            if trial is not None and trial.loss is not None and trial.request.fidelity == few and trial.loss < best:
                best = trial.loss
                again.append(Request(trial.request.configuration))
'''
PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "spread"
version = "1.0"

[project.entry-points."spacelang.optimizers"]
spread = "spread:Spread"
"""
TESTS = """\
from spread import Spread

from spacelang.testing import OptimizerConformance


class TestSpread(OptimizerConformance):
    optimizer = Spread
    examples = 3
"""
STUDY = """
import optuna, by_optuna
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
optuna.logging.set_verbosity(optuna.logging.ERROR)
features, labels = load_wine(return_X_y=True)
def loss(trial):
    return 1 - cross_val_score(by_optuna.build(by_optuna.suggest(trial), 0), features, labels, cv=2).mean()
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(loss, n_trials=5)
print(by_optuna.decode(study.best_params))
"""
FACADE = """
import by_configspace
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from smac import HyperparameterOptimizationFacade, Scenario
features, labels = load_wine(return_X_y=True)
def loss(point, seed):
    return 1 - cross_val_score(by_configspace.build(by_configspace.decode(point), 0), features, labels, cv=2).mean()
scenario = Scenario(by_configspace.space, deterministic=True, n_trials=5, output_directory="smac", seed=0)
print(by_configspace.decode(HyperparameterOptimizationFacade(scenario, loss, logging_level=40).optimize()))
"""
SETS = ("iris", "wine", "breast_cancer")


def play(day: Day, files: Mapping[str, Path], budget: Budget) -> None:
    """The whole day; its runs are of so many trials, on tables."""
    del files, budget
    write(day)
    compare(day)
    hand_over(day)
    day.run_python("pip uninstall spread", "-m", "pip", "uninstall", "--quiet", "--yes", "spread")


def write(day: Day) -> None:
    """An optimizer in a package of her own, which is installed, tested and found."""
    day.write("spread/pyproject.toml", PROJECT)
    day.write("spread/spread.py", OPTIMIZER)
    day.write("spread/test_spread.py", TESTS)
    day.run_python("pip install ./spread", "-m", "pip", "install", "--quiet", "--no-deps", "./spread")
    day.run_python("pytest spread", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_spread.py", cwd="spread")
    assert "spread" in day.spacelang("optimizers")


def compare(day: Day) -> None:
    """Her optimizer beside others on three tables, with intervals."""
    day.write("mine.space", SPACE)
    day.spacelang("check", "mine.space")
    for name in SETS:
        day.spacelang("tabulate", "mine.space", "--data", f"sklearn:{name}", "-o", f"{name}.npz", "--workers", "0")
    tables = [part for name in SETS for part in ("--data", f"table:{name}.npz")]
    entered = ("--optimizers", "spread,random,hyperband", "--trials", "30", "--repeats", "5")
    told = day.spacelang("compare", "mine.space", *tables, *entered, "-o", "compared")
    assert "spread" in told
    assert "[" in told, "ranks have intervals"


def hand_over(day: Day) -> None:
    """Her space for Optuna and SMAC, which run without spacelang."""
    for target in ("optuna", "configspace"):
        day.spacelang("compile", "mine.space", "--target", target, "--format", "python", "-o", f"by_{target}.py")
    assert "estimator" in day.run_python("a study of Optuna", "-c", STUDY)
    assert "estimator" in day.run_python("a facade of SMAC", "-c", FACADE)
    compiled = day.spacelang("compile", "mine.space", "--target", "configspace", "--format", "json")
    assert json.JSONDecoder().raw_decode(compiled)[0]


if __name__ == "__main__":
    main(play, __doc__, {})
