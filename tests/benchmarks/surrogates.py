"""How long a proposal takes: prints figures, and ratios to Optuna's TPESampler on the same history.

    python tests/benchmarks/surrogates.py [--quick]

The function has 10 dimensions and some noise; 100 or 1,000 evaluations of random points are known, and then so many
proposals are made and evaluated, one after the other. What is shown is the mean of their processor time on one thread,
fits included, and the least number that they came to. Optuna and SMAC are asked the same where they are installed; the
first proposal of SMAC is a point of its design, which it has to have, and it fits its forest after each eighth. Below
that a single fit of the Gaussian process is compared with that of scikit-learn's, from as many starts.
"""

import argparse
import atexit
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from statistics import fmean
from tempfile import mkdtemp
from typing import Any, Final

import numpy as np

import spacelang
from spacelang.draws.codes import Array
from spacelang.surrogates import cubic_rbf
from spacelang.surrogates.dimensions import Dimension
from spacelang.surrogates.growth import Growing
from spacelang.surrogates.improvement import close_to, most_promising
from spacelang.surrogates.likelihood import STARTS, most_likely
from spacelang.surrogates.threads import one_thread
from spacelang.surrogates.tpe import Parzen

DIMENSIONS: Final = 10
SEED: Final = 0
NAMES: Final = tuple(f"x{column}" for column in range(DIMENSIONS))

Proposer = Callable[[Array, Array], Array]
"""The next point after those that are known and their numbers."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few proposals: that it runs, not how fast")
    quick = options.parse_args(arguments).quick
    proposals, sizes = (2, (30,)) if quick else (200, (100, 1_000))
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; means of {proposals}, processor time")
    with one_thread():
        for size in sizes:
            print(f"\n{size:,} evaluations in {DIMENSIONS} dimensions")
            print("                        ms a proposal   longest   of Optuna's   least number")
            found = {name: measured(make, size, proposals) for name, make in proposers()}
            for name, (times, least) in found.items():
                ratio = f"{fmean(times) / fmean(found['Optuna TPE'][0]):.2f}" if "Optuna TPE" in found else "-"
                print(f"  {name:<24}{fmean(times):>11.1f}{max(times):>10.0f}{ratio:>14}{least:>15.3f}")
        for size in (20,) if quick else (100, 384):
            print(f"\na fit to {size} points takes {fitted(size):.1f} times as long with scikit-learn")


def proposers() -> Iterator[tuple[str, Callable[[Array, Array], Proposer]]]:
    """Whoever proposes, by name: what makes it from the evaluations that are known at first."""
    yield "Gaussian process", gaussian_process
    yield "cubic RBF", rbf
    yield "TPE", tpe
    if find_spec("optuna"):
        yield "Optuna TPE", optuna_tpe
    if find_spec("smac"):
        yield "SMAC", smac


def evaluate(point: Array, rng: np.random.Generator) -> float:
    """A bowl with ripples and noise."""
    return float(((point - 0.3) ** 2).sum() + 0.3 * np.sin(8 * point).sum() + 0.02 * rng.normal())


def history(size: int) -> tuple[Array, Array]:
    """So many evaluations of random points."""
    rng = np.random.default_rng(SEED)
    points = rng.random((size, DIMENSIONS))
    return points, np.array([evaluate(point, rng) for point in points])


def measured(make: Callable[[Array, Array], Proposer], size: int, proposals: int) -> tuple[list[float], float]:
    """The milliseconds of each proposal, and the least number in the end."""
    points, numbers = history(size)
    propose, rng, times = make(points, numbers), np.random.default_rng(SEED), []
    for _ in range(proposals):
        before = time.process_time()
        point = propose(points, numbers)
        times.append((time.process_time() - before) * 1_000)
        points, numbers = np.vstack([points, point]), np.append(numbers, evaluate(point, rng))
    return times, float(numbers.min())


def gaussian_process(_points: Array, _numbers: Array) -> Proposer:
    """Expected improvement."""
    growing, rng = Growing(), np.random.default_rng(SEED)

    def propose(points: Array, numbers: Array) -> Array:
        model = growing.model(points, numbers, points[:0])
        best = float(model.standardised(numbers.min()))
        return most_promising(model.process, best, points[numbers.argmin()], rng, close_to(points))

    return propose


def rbf(_points: Array, _numbers: Array) -> Proposer:
    """The spline and the distance."""
    rng = np.random.default_rng(SEED)
    return lambda points, numbers: cubic_rbf.next_point(points, numbers, points[:0], rng)


def tpe(_points: Array, _numbers: Array) -> Proposer:
    """Parzen estimators."""
    import hyperopt.tpe  # noqa: F401 - it takes longer than any proposal

    rng = np.random.default_rng(SEED)
    return lambda points, numbers: Parzen().suggest([Dimension()] * DIMENSIONS, points, numbers, rng)


def optuna_tpe(points: Array, numbers: Array) -> Proposer:
    """Optuna's, which is told what is new when it is asked again."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ranges = {name: optuna.distributions.FloatDistribution(0, 1) for name in NAMES}
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED))
    for point, number in zip(points.tolist(), numbers.tolist(), strict=True):
        values = dict(zip(NAMES, point, strict=True))
        study.add_trial(optuna.trial.create_trial(params=values, distributions=ranges, value=number))
    asked: list[Any] = []

    def propose(_: Array, numbers: Array) -> Array:
        if asked:
            study.tell(asked.pop(), float(numbers[-1]))
        asked.append(study.ask(ranges))
        return np.array([asked[-1].params[name] for name in NAMES])

    return propose


def smac(points: Array, numbers: Array) -> Proposer:
    """SMAC's random forest, which is told what is new when it is asked again."""
    from ConfigSpace import Configuration, ConfigurationSpace
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory import TrialInfo, TrialValue

    folder = mkdtemp()
    atexit.register(rmtree, folder, ignore_errors=True)  # SMAC writes there as long as it is asked
    space = ConfigurationSpace(dict.fromkeys(NAMES, (0.0, 1.0)), seed=SEED)
    trials = len(points) + 1_000
    scenario = Scenario(space, output_directory=Path(folder), deterministic=True, n_trials=trials, seed=SEED)
    design = HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=1)
    facade = HyperparameterOptimizationFacade(scenario, _unasked, initial_design=design, logging_level=False)
    for point, number in zip(points.tolist(), numbers.tolist(), strict=True):
        known = Configuration(space, values=dict(zip(NAMES, point, strict=True)))
        facade.tell(TrialInfo(known, seed=SEED), TrialValue(number), save=False)
    asked: list[Any] = []

    def propose(_: Array, numbers: Array) -> Array:
        if asked:
            facade.tell(asked.pop(), TrialValue(float(numbers[-1])), save=False)
        asked.append(facade.ask())
        return np.array([asked[-1].config[name] for name in NAMES])

    return propose


def _unasked(configuration: Any, seed: int = 0) -> float:
    raise AssertionError("it is told what it is not asked to evaluate")


def fitted(size: int) -> float:
    """How many times as long as here a fit to so many points takes with scikit-learn."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    points, numbers = history(size)
    numbers = (numbers - numbers.mean()) / numbers.std()
    bell = Matern(np.ones(DIMENSIONS), (0.01, 100), nu=2.5)
    kernel = ConstantKernel(1.0, (0.01, 1_000)) * bell + WhiteKernel(1e-2, (1e-8, 1))
    theirs = GaussianProcessRegressor(kernel, n_restarts_optimizer=len(STARTS) - 1, random_state=SEED)
    before = time.process_time()
    most_likely(points, numbers)
    own = time.process_time() - before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what has no upper end stops at its bound
        theirs.fit(points, numbers)
    return (time.process_time() - before - own) / own


if __name__ == "__main__":
    main()
