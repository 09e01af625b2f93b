"""Cheap functions with known minima, on which optimizers are compared with random search."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import log10
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.random import default_rng

import spacelang as sl
from spacelang.ir.search_protocol import Problem, TotalBudget
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.search_loop import run

TRIALS: Final = 100


@dataclass(frozen=True)
class BenchmarkFunction:
    """A function of the configurations of a space, with values from 0 to 1.

    Parameters
    ----------
    text
        The text of the space.
    value
        The function without noise.
    minimum
        Its smallest value.
    noise
        The standard deviation of the noise that is added to a value. The noise is a hash of the configuration, so that
        a configuration always has the same loss.
    """

    text: str
    value: Callable[[Mapping[str, Any]], float]
    minimum: float
    noise: float = 0.0

    def loss(self, configuration: sl.Configuration) -> float:
        """Return the value of a configuration with its noise."""
        noise = default_rng(crc32(configuration.identity.encode())).normal(0.0, self.noise) if self.noise else 0.0
        return self.value(configuration) + float(noise)


def regret(optimizer: Any, function: BenchmarkFunction, seed: int, trials: int = TRIALS) -> float:
    """Return the value, less the minimum, of the configuration with the smallest loss of a number of trials."""
    space = sl.parse(function.text).checked

    def evaluate(request: Request) -> Trial:
        return Trial(request, function.loss(request.configuration), 1.0)

    search = optimizer.search(Problem(space, 1, default_rng(seed), budget=TotalBudget(trials=trials)))
    outcome = run(search, InProcess(evaluate), Budget(trials=trials), clock=lambda: 0.0, seed=seed)
    best = min((record.trial for record in outcome.records), key=lambda trial: trial.loss)
    return function.value(best.request.configuration) - function.minimum


def bowl(configuration: Mapping[str, Any]) -> float:
    """Return the mean squared distance of four hyperparameters to their optimum, plus 0.1.

    The optimum is `max_features=0.3`, `max_samples=0.75`, `min_weight_fraction_leaf=0.1`, `ccp_alpha=0.01`. A distance
    over the whole range of a hyperparameter is about 1; `ccp_alpha` has a log scale.
    """
    forest = {name.rpartition(".")[2]: value for name, value in configuration.items()}
    scaled = (log10(forest["ccp_alpha"]) + 6.0) / 6.0
    distances = (
        forest["max_features"] - 0.3,
        forest["max_samples"] - 0.75,
        2.0 * (forest["min_weight_fraction_leaf"] - 0.1),
        scaled - 2.0 / 3.0,
    )
    return 0.1 + float(np.mean(np.square(distances)))


BOWL: Final = BenchmarkFunction(
    """space bowl
stage model = RandomForestClassifier {
  max_features : float[0.01, 1] = 1
  max_samples : float[0.01, 1] = 0.1
  min_weight_fraction_leaf : float[0, 0.5] = 0.45
  ccp_alpha : float[1e-6, 1] log = 1e-6
}
""",
    bowl,
    0.1,
)
NOISY: Final = replace(BOWL, noise=0.02)

FLOORS: Final = {"a": 0.18, "b": 0.16, "c": 0.10, "d": 0.20, "e": 0.17}
OPTIMA: Final = {"a": (0.3, 0.6), "b": (0.8, 0.4), "c": (0.7, 0.25), "d": (0.2, 0.2), "e": (0.5, 0.9)}


def conditional(configuration: Mapping[str, Any]) -> float:
    """Return the floor of the alternative, plus the mean squared distance of its hyperparameters to their optimum.

    Only `c` has values below 0.16.
    """
    chosen = str(configuration["model"])
    x, y, z = (float(value) for name, value in sorted(configuration.items()) if name != "model")
    first, second = OPTIMA[chosen]
    return FLOORS[chosen] + float(np.mean(np.square((x - first, y - second, (log10(z) + 4.0) / 4.0 - 0.4))))


CONDITIONAL: Final = BenchmarkFunction(
    "space conditional\n"
    + "".join(
        f"abstract {name} {{ x : float[0, 1] = 0.1, y : float[0, 1] = 0.95, z : float[1e-4, 1] log = 1 }}\n"
        for name in FLOORS
    )
    + f"stage model = {' | '.join(FLOORS)}\n",
    conditional,
    0.10,
)


STAGES: Final = ("first", "second", "third", "fourth")
ALTERNATIVES: Final = "abcdefg"


def pipelines(configuration: Mapping[str, Any]) -> float:
    """Return 0.1 plus the mean over stages of a number from 0 to 1, which each alternative has in each stage."""
    places = (
        (3 * ALTERNATIVES.index(str(configuration[stage])) + 2 * place + 1) % len(ALTERNATIVES)
        for place, stage in enumerate(STAGES)
    )
    return 0.1 + float(np.mean(np.square([place / 6.0 for place in places])))


PIPELINES: Final = BenchmarkFunction(
    "space pipelines\n"
    + "".join(f"abstract {name}\n" for name in ALTERNATIVES)
    + "".join(f"stage {stage} = {' | '.join(ALTERNATIVES)}\n" for stage in STAGES),
    pipelines,
    0.1,
)
"""2,401 pipelines without hyperparameters, for optimizers that only select pipelines."""

FUNCTIONS: Final[Mapping[str, BenchmarkFunction]] = {
    "bowl": BOWL,
    "conditional": CONDITIONAL,
    "noisy": NOISY,
    "pipelines": PIPELINES,
}
