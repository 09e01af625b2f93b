"""Measure how long a proposal takes: prints times, and ratios to Optuna's TPESampler on the same history.

    python tests/benchmarks/surrogates.py [--quick]

The function has 10 dimensions and some noise. First, 100 or 1,000 evaluations of random points are known; then
proposals are made and evaluated one after the other. The script prints the mean processor time of a proposal on one
thread, including fits, and the smallest value. Optuna and SMAC are measured the same way if they are installed. The
first proposal of SMAC is a point of its required initial design, and SMAC fits its forest after every eighth. Finally,
a single fit of the Gaussian process is compared with scikit-learn's, with the same number of starts.
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
from spacelang.sampling.value_codes import Array
from spacelang.surrogates import Dimension, cubic_rbf, limit_to_one_thread
from spacelang.surrogates.gaussian_process import (
    STARTS,
    IncrementalGaussianProcess,
    fit_kernel,
    make_closeness_test,
    maximise_expected_improvement,
)
from spacelang.surrogates.tpe import TreeParzenEstimator

DIMENSIONS: Final = 10
SEED: Final = 0
NAMES: Final = tuple(f"x{column}" for column in range(DIMENSIONS))

Proposer = Callable[[Array, Array], Array]
"""A function that returns the next point, from the known points and their values."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all measurements."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true", help="few proposals, to check only that the benchmark runs")
    quick = options.parse_args(arguments).quick
    proposals, sizes = (2, (30,)) if quick else (200, (100, 1_000))
    print(f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}; means of {proposals}, processor time")
    with limit_to_one_thread():
        for size in sizes:
            print(f"\n{size:,} evaluations in {DIMENSIONS} dimensions")
            print("                        ms a proposal   longest   of Optuna's   least value")
            results = {name: measure(make, size, proposals) for name, make in list_proposers()}
            for name, (times, least) in results.items():
                ratio = f"{fmean(times) / fmean(results['Optuna TPE'][0]):.2f}" if "Optuna TPE" in results else "-"
                print(f"  {name:<24}{fmean(times):>11.1f}{max(times):>10.0f}{ratio:>14}{least:>15.3f}")
        for size in (20,) if quick else (100, 384):
            print(f"\na fit to {size} points takes {compare_fits(size):.1f} times as long in scikit-learn")


def list_proposers() -> Iterator[tuple[str, Callable[[Array, Array], Proposer]]]:
    """Yield the name of each proposer, and a function that creates it from the initial evaluations."""
    yield "Gaussian process", make_gaussian_process
    yield "cubic RBF", make_rbf
    yield "TPE", make_tpe
    if find_spec("optuna"):
        yield "Optuna TPE", make_optuna_tpe
    if find_spec("smac"):
        yield "SMAC", make_smac


def evaluate(point: Array, rng: np.random.Generator) -> float:
    """Return the value of a bowl with ripples and noise."""
    return float(((point - 0.3) ** 2).sum() + 0.3 * np.sin(8 * point).sum() + 0.02 * rng.normal())


def make_history(size: int) -> tuple[Array, Array]:
    """Return evaluations of `size` random points."""
    rng = np.random.default_rng(SEED)
    points = rng.random((size, DIMENSIONS))
    return points, np.array([evaluate(point, rng) for point in points])


def measure(make: Callable[[Array, Array], Proposer], size: int, proposals: int) -> tuple[list[float], float]:
    """Return the milliseconds of each proposal, and the smallest value at the end."""
    points, numbers = make_history(size)
    propose, rng, times = make(points, numbers), np.random.default_rng(SEED), []
    for _ in range(proposals):
        before = time.process_time()
        point = propose(points, numbers)
        times.append((time.process_time() - before) * 1_000)
        points, numbers = np.vstack([points, point]), np.append(numbers, evaluate(point, rng))
    return times, float(numbers.min())


def make_gaussian_process(_points: Array, _numbers: Array) -> Proposer:
    """Return a proposer with a Gaussian process and expected improvement."""
    process, rng = IncrementalGaussianProcess(), np.random.default_rng(SEED)

    def propose(points: Array, numbers: Array) -> Array:
        model = process.fit(points, numbers, points[:0])
        best = float(model.standardise(numbers.min()))
        return maximise_expected_improvement(
            model.process, best, points[numbers.argmin()], rng, make_closeness_test(points)
        )

    return propose


def make_rbf(_points: Array, _numbers: Array) -> Proposer:
    """Return a proposer with a cubic RBF and the distance from known points."""
    rng = np.random.default_rng(SEED)
    return lambda points, numbers: cubic_rbf.propose_point(points, numbers, points[:0], rng)


def make_tpe(_points: Array, _numbers: Array) -> Proposer:
    """Return a proposer with Parzen estimators."""
    import hyperopt.tpe  # noqa: F401 - importing it takes longer than any proposal

    rng = np.random.default_rng(SEED)
    return lambda points, numbers: TreeParzenEstimator().suggest([Dimension()] * DIMENSIONS, points, numbers, rng)


def make_optuna_tpe(points: Array, numbers: Array) -> Proposer:
    """Return a proposer with Optuna's sampler, which gets the last value with the next proposal."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ranges = {name: optuna.distributions.FloatDistribution(0, 1) for name in NAMES}
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED))
    for point, number in zip(points.tolist(), numbers.tolist(), strict=True):
        values = dict(zip(NAMES, point, strict=True))
        study.add_trial(optuna.trial.create_trial(params=values, distributions=ranges, value=number))
    pending: list[Any] = []

    def propose(_: Array, numbers: Array) -> Array:
        if pending:
            study.tell(pending.pop(), float(numbers[-1]))
        pending.append(study.ask(ranges))
        return np.array([pending[-1].params[name] for name in NAMES])

    return propose


def make_smac(points: Array, numbers: Array) -> Proposer:
    """Return a proposer with SMAC's random forest, which gets the last value with the next proposal."""
    from ConfigSpace import Configuration, ConfigurationSpace
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory import TrialInfo, TrialValue

    folder = mkdtemp()
    atexit.register(rmtree, folder, ignore_errors=True)  # SMAC writes there until the end
    space = ConfigurationSpace(dict.fromkeys(NAMES, (0.0, 1.0)), seed=SEED)
    trials = len(points) + 1_000
    scenario = Scenario(space, output_directory=Path(folder), deterministic=True, n_trials=trials, seed=SEED)
    design = HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=1)
    facade = HyperparameterOptimizationFacade(scenario, _fail, initial_design=design, logging_level=False)
    for point, number in zip(points.tolist(), numbers.tolist(), strict=True):
        known = Configuration(space, values=dict(zip(NAMES, point, strict=True)))
        facade.tell(TrialInfo(known, seed=SEED), TrialValue(number), save=False)
    pending: list[Any] = []

    def propose(_: Array, numbers: Array) -> Array:
        if pending:
            facade.tell(pending.pop(), TrialValue(float(numbers[-1])), save=False)
        pending.append(facade.ask())
        return np.array([pending[-1].config[name] for name in NAMES])

    return propose


def _fail(configuration: Any, seed: int = 0) -> float:
    raise AssertionError("SMAC must not evaluate; values are passed by `tell`")


def compare_fits(size: int) -> float:
    """Return the time of a fit in scikit-learn, as a multiple of the time here."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    points, numbers = make_history(size)
    numbers = (numbers - numbers.mean()) / numbers.std()
    bell = Matern(np.ones(DIMENSIONS), (0.01, 100), nu=2.5)
    kernel = ConstantKernel(1.0, (0.01, 1_000)) * bell + WhiteKernel(1e-2, (1e-8, 1))
    theirs = GaussianProcessRegressor(kernel, n_restarts_optimizer=len(STARTS) - 1, random_state=SEED)
    before = time.process_time()
    fit_kernel(points, numbers)
    own = time.process_time() - before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parameters may stop at their bounds
        theirs.fit(points, numbers)
    return (time.process_time() - before - own) / own


if __name__ == "__main__":
    main()
