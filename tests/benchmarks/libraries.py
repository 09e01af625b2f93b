"""Compare libraries used through spacelang with libraries used by hand: final losses with intervals.

    python tests/benchmarks/libraries.py [--seeds 10] [--trials 100] [--only smac,optuna] [--spaces nested,…]

There are five spaces, each as a `.space` text and as code that a user of the library would write: plain numbers;
pipelines with conditions two levels deep; integers, some of them logarithmic; categories only; and a constraint between
a category and an integer. Losses are formulas that take no time. Both runs of a pair have the same seed. `difference`
is the mean final loss through spacelang minus that by hand, with a 95 % percentile bootstrap interval over the seeds.
If the interval does not contain 0, the line names the construct that the library represents differently.

With 10 seeds and 100 trials, all five intervals contain 0 for hyperopt's TPE, for Optuna's TPESampler and for SMAC's
facade for hyperparameters, and four for Optuna's NSGAIISampler: on `nested` it is worse through spacelang by 0.033
[0.005, 0.063]. Among ten such intervals, one misses 0 by chance every second time, so this is no proof.
"""

import argparse
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf, log10
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

import spacelang
from spacelang.ir.search_protocol import Problem, TotalBudget
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._scheduling import search_after_initial_trials
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.in_process import InProcess
from spacelang.runtime.search_loop import run

Values = Mapping[str, Any]
Loss = Callable[[Values], float]
RESAMPLES: Final = 10_000


@dataclass(frozen=True)
class Task:
    """A space as a text, its loss, and the construct that libraries represent differently by hand."""

    name: str
    text: str
    loss: Loss
    difference: str


def numbers_loss(values: Values) -> float:
    """Return the loss of a bowl in two numbers and the logarithm of a third."""
    return float(((values["x"] - 1) ** 2 + (values["y"] + 2) ** 2) / 50 + (log10(values["rate"]) + 3) ** 2 / 25)


def nested_loss(values: Values) -> float:
    """Return a loss whose minimum is a support vector machine of degree 3 after a standard scaler."""
    scaled = {"none": 0.1, "standard": 0.0, "minmax": 0.05}[values["scaler"]]
    match values["estimator"]:
        case "svm":
            degree = 0.1 if values["kernel"] == "rbf" else 0.02 * abs(values["degree"] - 3)
            return float(scaled + degree + (log10(values["C"]) - 1) ** 2 / 40 + (log10(values["gamma"]) + 2) ** 2 / 40)
        case "forest":
            return float(scaled / 2 + 0.1 + abs(values["depth"] - 18) / 60 + (values["share"] - 0.4) ** 2)
        case _:
            return float(scaled + 0.2 + (log10(values["alpha"]) + 3) ** 2 / 40)


def integers_loss(values: Values) -> float:
    """Return a loss with a valley between the layers and the units of a network."""
    units = np.log2(values["units"])
    return float((units + values["layers"] - 9) ** 2 / 20 + (units - 6) ** 2 / 60 + (values["dropout"] - 0.2) ** 2)


def categories_loss(values: Values) -> float:
    """Return a loss of four categories; the last two are good only in one combination."""
    apart = sum(abs(int(values[name][1:]) - best) for name, best in (("p", 3), ("q", 1)))
    return apart / 8 + (0.0 if (values["r"], values["s"]) == ("r2", "s4") else 0.2 + 0.01 * int(values["s"][1:]))


def constrained_loss(values: Values) -> float:
    """Return a loss that prefers deep trees, also in the slow mode, which must not be deep."""
    return float(abs(values["depth"] - (45 if values["mode"] == "fast" else 18)) / 50) + (values["mode"] == "fast") / 5


def write_stage(letter: str, count: int) -> str:
    """Return the text of a stage of abstract alternatives without hyperparameters."""
    names = [f"{letter}{place}" for place in range(count)]
    return "\n".join(f"abstract {name}" for name in names) + f"\nstage {letter} = {' | '.join(names)}\n"


SIZES: Final = {"p": 5, "q": 4, "r": 4, "s": 6}

TASKS: Final = (
    Task(
        "numbers",
        "space numbers\nabstract bowl {\n  x : float[-5, 5] = 0\n  y : float[-5, 5] = 0\n"
        "  rate : float[1e-5, 1] log = 0.1\n}\nstage f = bowl\n",
        numbers_loss,
        "none: the forms are the same",
    ),
    Task(
        "nested",
        "space nested\nabstract standard\nabstract minmax\n"
        "abstract svm {\n  C : float[1e-3, 1e3] log = 1\n  gamma : float[1e-4, 10] log = 0.1\n"
        "  kernel : {rbf, poly} = rbf\n  degree : int[2, 5] = 3 when kernel == poly\n}\n"
        "abstract forest {\n  depth : int[1, 30] = 10\n  share : float[0.1, 1] = 1\n}\n"
        "abstract linear { alpha : float[1e-6, 10] log = 1e-3 }\n"
        "stage scaler = none | standard | minmax\nstage estimator = svm | forest | linear\n",
        nested_loss,
        "conditions, expressed as choices",
    ),
    Task(
        "integers",
        "space integers\nabstract net {\n  layers : int[1, 6] = 2\n  units : int[8, 512] log = 64\n"
        "  dropout : float[0, 0.5] = 0\n}\nstage f = net\n",
        integers_loss,
        "logarithmic integers, sampled as rounded floats",
    ),
    Task(
        "categories",
        "space categories\n" + "".join(write_stage(letter, count) for letter, count in SIZES.items()),
        categories_loss,
        "none: through spacelang a repeated configuration costs no trial, by hand it does",
    ),
    Task(
        "constrained",
        "space constrained\nabstract tree {\n  mode : {slow, fast} = fast\n  depth : int[1, 50] = 10\n"
        "  forbid mode == slow and depth > 20\n}\nstage f = tree\n",
        constrained_loss,
        "the constraint, expressed as choices; by hand it is a penalty or a forbidden clause",
    ),
)


# ---- through spacelang


def run_spacelang(name: str, options: Mapping[str, str], task: Task, seed: int, trials: int) -> float:
    """Return the final loss of a run through spacelang."""
    space = spacelang.parse(task.text).checked
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(name), options)
    problem = Problem(space, 1, np.random.default_rng(seed), budget=TotalBudget(None, trials))

    def evaluate(request: Request) -> Trial:
        values = {key.rpartition(".")[2]: value for key, value in request.configuration.items()}
        return Trial(request, task.loss(values))

    outcome = run(
        search_after_initial_trials(optimizer, problem),
        InProcess(evaluate),
        Budget(trials=trials),
        clock=lambda: 0.0,
        seed=seed,
    )
    return min(each.trial.loss for each in outcome.records if each.trial.loss is not None)


# ---- by hand: Optuna


def suggest_values(trial: Any, name: str) -> Values:
    """Return the values of an Optuna trial, as a user would define them."""
    match name:
        case "numbers":
            found = {each: trial.suggest_float(each, -5, 5) for each in "xy"}
            return {**found, "rate": trial.suggest_float("rate", 1e-5, 1, log=True)}
        case "nested":
            return suggest_nested_values(trial)
        case "integers":
            layers, units = trial.suggest_int("layers", 1, 6), trial.suggest_int("units", 8, 512, log=True)
            return {"layers": layers, "units": units, "dropout": trial.suggest_float("dropout", 0, 0.5)}
        case "categories":
            return {name: trial.suggest_categorical(name, list_alternatives(name)) for name in SIZES}
        case _:
            mode = trial.suggest_categorical("mode", ["slow", "fast"])
            most = 20 if mode == "slow" else 50
            return {"mode": mode, "depth": trial.suggest_int(f"depth_{mode}", 1, most)}


def suggest_nested_values(trial: Any) -> Values:
    """Return the values of an Optuna trial for pipelines."""
    found = {
        "scaler": trial.suggest_categorical("scaler", ["none", "standard", "minmax"]),
        "estimator": trial.suggest_categorical("estimator", ["svm", "forest", "linear"]),
    }
    match found["estimator"]:
        case "svm":
            found["C"] = trial.suggest_float("C", 1e-3, 1e3, log=True)
            found["gamma"] = trial.suggest_float("gamma", 1e-4, 10, log=True)
            found["kernel"] = trial.suggest_categorical("kernel", ["rbf", "poly"])
            if found["kernel"] == "poly":
                found["degree"] = trial.suggest_int("degree", 2, 5)
        case "forest":
            found["depth"] = trial.suggest_int("depth", 1, 30)
            found["share"] = trial.suggest_float("share", 0.1, 1)
        case _:
            found["alpha"] = trial.suggest_float("alpha", 1e-6, 10, log=True)
    return found


def list_alternatives(letter: str) -> list[str]:
    """Return the alternatives of a category."""
    return [f"{letter}{place}" for place in range(SIZES[letter])]


def make_optuna_study(sampler: str, **settings: Any) -> Callable[[Task, int, int], float]:
    """Return a function that runs a study of Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def run_study(task: Task, seed: int, trials: int) -> float:
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed, **settings))
        study.optimize(lambda trial: task.loss(suggest_values(trial, task.name)), n_trials=trials)
        return float(study.best_value)

    return run_study


# ---- by hand: hyperopt


def make_hyperopt_space(name: str) -> Any:
    """Return the space for `fmin`, as a user would write it."""
    from hyperopt import hp
    from hyperopt.pyll import scope

    def logs(label: str, low: float, high: float) -> Any:
        return hp.loguniform(label, np.log(low), np.log(high))

    match name:
        case "numbers":
            return {"x": hp.uniform("x", -5, 5), "y": hp.uniform("y", -5, 5), "rate": logs("rate", 1e-5, 1)}
        case "nested":
            kernel = [{"kernel": "rbf"}, {"kernel": "poly", "degree": hp.uniformint("degree", 2, 5)}]
            svm = {"C": logs("C", 1e-3, 1e3), "gamma": logs("gamma", 1e-4, 10), "inner": hp.choice("kernel", kernel)}
            forest = {"depth": hp.uniformint("depth", 1, 30), "share": hp.uniform("share", 0.1, 1)}
            alternatives = [("svm", svm), ("forest", forest), ("linear", {"alpha": logs("alpha", 1e-6, 10)})]
            estimator = hp.choice("estimator", [{"estimator": each, "inner": inside} for each, inside in alternatives])
            return {"scaler": hp.choice("scaler", ["none", "standard", "minmax"]), "inner": estimator}
        case "integers":
            units = scope.int(hp.qloguniform("units", np.log(8), np.log(512), 1))
            dropout = hp.uniform("dropout", 0, 0.5)
            return {"layers": hp.uniformint("layers", 1, 6), "units": units, "dropout": dropout}
        case "categories":
            return {letter: hp.choice(letter, list_alternatives(letter)) for letter in SIZES}
        case _:
            return {"mode": hp.choice("mode", ["slow", "fast"]), "depth": hp.uniformint("depth", 1, 50)}


def flatten(values: Values) -> dict[str, Any]:
    """Return the values of hyperopt without nesting."""
    found = {key: value for key, value in values.items() if key != "inner"}
    return {**found, **flatten(values["inner"])} if "inner" in values else found


def violates_constraint(task: Task, values: Values) -> bool:
    """Return True if the values violate the constraint, which hyperopt cannot express."""
    return task.name == "constrained" and values["mode"] == "slow" and bool(values["depth"] > 20)


def run_hyperopt(task: Task, seed: int, trials: int) -> float:
    """Return the final loss of hyperopt's `fmin`; values that violate the constraint are failures."""
    from hyperopt import STATUS_FAIL, STATUS_OK, Trials, fmin, tpe

    def evaluate(values: Values) -> dict[str, Any]:
        found = flatten(values)
        return (
            {"status": STATUS_FAIL}
            if violates_constraint(task, found)
            else {"status": STATUS_OK, "loss": task.loss(found)}
        )

    trial_store = Trials()
    rng = np.random.default_rng(seed)
    space = make_hyperopt_space(task.name)
    fmin(evaluate, space, tpe.suggest, trials, trials=trial_store, rstate=rng, show_progressbar=False, verbose=False)
    return min((each["loss"] for each in trial_store.results if each["status"] == STATUS_OK), default=inf)


# ---- by hand: SMAC


def make_configuration_space(name: str) -> Any:
    """Return a ConfigurationSpace, as a user would write it."""
    import ConfigSpace

    match name:
        case "numbers":
            rate = ConfigSpace.Float("rate", (1e-5, 1), log=True)
            return combine_parameters([ConfigSpace.Float("x", (-5, 5)), ConfigSpace.Float("y", (-5, 5)), rate])
        case "nested":
            return make_nested_space()
        case "integers":
            units = ConfigSpace.Integer("units", (8, 512), log=True)
            return combine_parameters(
                [ConfigSpace.Integer("layers", (1, 6)), units, ConfigSpace.Float("dropout", (0, 0.5))]
            )
        case "categories":
            return combine_parameters([ConfigSpace.Categorical(letter, list_alternatives(letter)) for letter in SIZES])
        case _:
            mode = ConfigSpace.Categorical("mode", ["slow", "fast"], default="fast")
            depth = ConfigSpace.Integer("depth", (1, 50), default=10)
            deep = ConfigSpace.ForbiddenInClause(depth, list(range(21, 51)))
            return combine_parameters(
                [mode, depth],
                [ConfigSpace.ForbiddenAndConjunction(ConfigSpace.ForbiddenEqualsClause(mode, "slow"), deep)],
            )


def make_nested_space() -> Any:
    """Return a ConfigurationSpace of pipelines."""
    import ConfigSpace

    estimator = ConfigSpace.Categorical("estimator", ["svm", "forest", "linear"])
    kernel, degree = ConfigSpace.Categorical("kernel", ["rbf", "poly"]), ConfigSpace.Integer("degree", (2, 5))
    inside = {
        "svm": [
            ConfigSpace.Float("C", (1e-3, 1e3), log=True),
            ConfigSpace.Float("gamma", (1e-4, 10), log=True),
            kernel,
        ],
        "forest": [ConfigSpace.Integer("depth", (1, 30)), ConfigSpace.Float("share", (0.1, 1))],
        "linear": [ConfigSpace.Float("alpha", (1e-6, 10), log=True)],
    }
    active = [
        ConfigSpace.EqualsCondition(each, estimator, word) for word, parameters in inside.items() for each in parameters
    ]
    scaler = ConfigSpace.Categorical("scaler", ["none", "standard", "minmax"])
    numbers = [each for parameters in inside.values() for each in parameters]
    return combine_parameters(
        [scaler, estimator, *numbers, degree], [*active, ConfigSpace.EqualsCondition(degree, kernel, "poly")]
    )


def combine_parameters(hyperparameters: Sequence[Any], others: Sequence[Any] = ()) -> Any:
    """Return a ConfigurationSpace of hyperparameters, conditions and clauses."""
    import ConfigSpace

    space = ConfigSpace.ConfigurationSpace()
    space.add(*hyperparameters, *others)
    return space


def run_smac(task: Task, seed: int, trials: int) -> float:
    """Return the final loss of SMAC's facade for hyperparameters."""
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.main.exceptions import ConfigurationSpaceExhaustedException

    losses: list[float] = []

    def evaluate(config: Any, seed: int = 0) -> float:
        losses.append(task.loss(dict(config)))
        return losses[-1]

    with TemporaryDirectory() as folder:
        settings = {"deterministic": True, "n_trials": trials, "seed": seed, "output_directory": Path(folder)}
        scenario = Scenario(make_configuration_space(task.name), **settings)
        facade = HyperparameterOptimizationFacade(scenario, evaluate, overwrite=True, logging_level=False)
        with suppress(ConfigurationSpaceExhaustedException):  # a small space without further configurations
            facade.optimize()
    return min(losses)


# ---- side by side


@dataclass(frozen=True)
class Pair:
    """An optimizer with its options, and the function that runs the same optimizer by hand."""

    name: str
    options: Mapping[str, str]
    by_hand: Callable[[Task, int, int], float]

    @property
    def label(self) -> str:
        """Return the optimizer's name in the table."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.name}({options})" if options else self.name


def list_pairs() -> Iterator[Pair]:
    """Yield all pairs whose library is installed."""
    found = (
        Pair("tpe", {"library": "hyperopt"}, run_hyperopt),
        Pair("tpe", {"library": "optuna"}, make_optuna_study("TPESampler", n_startup_trials=20)),
        Pair("optuna", {"sampler": "TPESampler"}, make_optuna_study("TPESampler")),
        Pair("optuna", {"sampler": "NSGAIISampler"}, make_optuna_study("NSGAIISampler")),
        Pair("smac", {}, run_smac),
    )
    return (pair for pair in found if pair.name in OPTIMIZERS.names())


def bootstrap_interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean."""
    rng = np.random.default_rng(0)
    means = rng.choice(np.array(differences), (RESAMPLES, len(differences))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def compare(pair: Pair, task: Task, seeds: int, trials: int) -> str:
    """Return one line of the table."""
    ours = [run_spacelang(pair.name, pair.options, task, seed, trials) for seed in range(seeds)]
    theirs = [pair.by_hand(task, seed, trials) for seed in range(seeds)]
    differences = [here - there for here, there in zip(ours, theirs, strict=True)]
    low, high = bootstrap_interval(differences)
    verdict = "contains 0" if low <= 0 <= high else f"does not contain 0; {task.difference}"
    means = f"{np.mean(ours):>10.4f}{np.mean(theirs):>10.4f}{np.mean(differences):>+10.4f}"
    return f"  {task.name:<13}{pair.label:<32}{means}  [{low:+.4f}, {high:+.4f}]  {verdict}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, each line as soon as it is known."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--seeds", type=int, default=10, help="number of pairs of runs")
    options.add_argument("--trials", type=int, default=100, help="number of trials of each run")
    options.add_argument("--only", default="", help="optimizers, by name or by label in the table; separated by commas")
    options.add_argument(
        "--spaces", default=",".join(task.name for task in TASKS), help="names of spaces, separated by commas"
    )
    chosen = options.parse_args(arguments)
    only, spaces = ({*filter(None, each.split(","))} for each in (chosen.only, chosen.spaces))
    known = {name for pair in list_pairs() for name in (pair.name, pair.label)}
    for names, valid in ((only, known), (spaces, {task.name for task in TASKS})):
        for word in sorted(names - valid):
            options.error(f"unknown name `{word}`; choose from {', '.join(sorted(valid))}")
    logging.getLogger("smac").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    print(
        f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}: {chosen.seeds} pairs of {chosen.trials}"
    )
    print(f"  {'space':<13}{'optimizer':<32}{'through':>10}{'by hand':>10}  difference, 95 % interval")
    for pair in list_pairs():
        if not only or {pair.name, pair.label} & only:
            for task in TASKS:
                if task.name in spaces:
                    print(compare(pair, task, chosen.seeds, chosen.trials), flush=True)


if __name__ == "__main__":
    main()
