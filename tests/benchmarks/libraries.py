"""Do libraries search as well through spacelang as by hand? Prints final losses side by side, with intervals.

    python tests/benchmarks/libraries.py [--seeds 10] [--trials 100] [--only smac,optuna] [--spaces nested,…]

Five spaces, each as a `.space` text and as what somebody who knows the library writes for it: plain numbers; pipelines
with conditions two levels deep; integers, some logarithmic; categories alone; and a constraint between a category and
an integer. Losses are formulas that take no time. Each pair of runs has the same seed; `difference` is the mean loss of
the best of all trials through spacelang less that by hand, with a 95 % percentile bootstrap interval over the seeds.
Where the interval does not hold 0 the construct is named by which the forms differ.

With 10 seeds and 100 trials all five intervals hold 0 for hyperopt's TPE, for Optuna's TPESampler and for SMAC's facade
for hyperparameters, and four for Optuna's NSGAIISampler: on `nested` it is worse through spacelang by 0.033 [0.005,
0.063]. One of ten such intervals misses 0 by chance every second time, so that this is no proof.
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
from spacelang.ir.problem import Allowance, Problem
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._opening import begun
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors.here import Here
from spacelang.runtime.loop import run

Values = Mapping[str, Any]
Loss = Callable[[Values], float]
RESAMPLES: Final = 10_000


@dataclass(frozen=True)
class Task:
    """A space as a text, its loss, and by which construct the forms of libraries differ from those by hand."""

    name: str
    text: str
    loss: Loss
    differs: str


def numbers_loss(values: Values) -> float:
    """A bowl in two numbers and the logarithm of a third."""
    return float(((values["x"] - 1) ** 2 + (values["y"] + 2) ** 2) / 50 + (log10(values["rate"]) + 3) ** 2 / 25)


def nested_loss(values: Values) -> float:
    """The least is a support vector machine of degree 3 behind a scaler."""
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
    """A valley between the layers and the units of a net."""
    units = np.log2(values["units"])
    return float((units + values["layers"] - 9) ** 2 / 20 + (units - 6) ** 2 / 60 + (values["dropout"] - 0.2) ** 2)


def categories_loss(values: Values) -> float:
    """Four categories, the last two of which are good together only."""
    apart = sum(abs(int(values[name][1:]) - best) for name, best in (("p", 3), ("q", 1)))
    return apart / 8 + (0.0 if (values["r"], values["s"]) == ("r2", "s4") else 0.2 + 0.01 * int(values["s"][1:]))


def constrained_loss(values: Values) -> float:
    """Better the deeper, for the slow mode too, which must not be deep."""
    return float(abs(values["depth"] - (45 if values["mode"] == "fast" else 18)) / 50) + (values["mode"] == "fast") / 5


def stage(letter: str, count: int) -> str:
    """A decision among abstract alternatives without anything."""
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
        "conditions, worked into choices",
    ),
    Task(
        "integers",
        "space integers\nabstract net {\n  layers : int[1, 6] = 2\n  units : int[8, 512] log = 64\n"
        "  dropout : float[0, 0.5] = 0\n}\nstage f = net\n",
        integers_loss,
        "logarithmic integers, drawn from floats that are rounded",
    ),
    Task(
        "categories",
        "space categories\n" + "".join(stage(letter, count) for letter, count in SIZES.items()),
        categories_loss,
        "none of the form: what was evaluated before is known and no trial, by hand it is one more",
    ),
    Task(
        "constrained",
        "space constrained\nabstract tree {\n  mode : {slow, fast} = fast\n  depth : int[1, 50] = 10\n"
        "  forbid mode == slow and depth > 20\n}\nstage f = tree\n",
        constrained_loss,
        "the constraint, worked into what is asked, where by hand it is a penalty or a forbidden clause",
    ),
)


# ---- through spacelang


def through(name: str, options: Mapping[str, str], task: Task, seed: int, trials: int) -> float:
    """The least loss of a run."""
    space = spacelang.parse(task.text).checked
    optimizer = OPTIMIZERS.configure(OPTIMIZERS.load(name), options)
    problem = Problem(space, 1, np.random.default_rng(seed), budget=Allowance(None, trials))

    def evaluate(request: Request) -> Trial:
        values = {key.rpartition(".")[2]: value for key, value in request.configuration.items()}
        return Trial(request, task.loss(values))

    outcome = run(begun(optimizer, problem), Here(evaluate), Budget(trials=trials), clock=lambda: 0.0, seed=seed)
    return min(each.trial.loss for each in outcome.records if each.trial.loss is not None)


# ---- by hand: Optuna


def asked(trial: Any, name: str) -> Values:
    """What a trial of Optuna is asked for, as somebody writes it."""
    match name:
        case "numbers":
            found = {each: trial.suggest_float(each, -5, 5) for each in "xy"}
            return {**found, "rate": trial.suggest_float("rate", 1e-5, 1, log=True)}
        case "nested":
            return asked_nested(trial)
        case "integers":
            layers, units = trial.suggest_int("layers", 1, 6), trial.suggest_int("units", 8, 512, log=True)
            return {"layers": layers, "units": units, "dropout": trial.suggest_float("dropout", 0, 0.5)}
        case "categories":
            return {name: trial.suggest_categorical(name, words(name)) for name in SIZES}
        case _:
            mode = trial.suggest_categorical("mode", ["slow", "fast"])
            most = 20 if mode == "slow" else 50
            return {"mode": mode, "depth": trial.suggest_int(f"depth_{mode}", 1, most)}


def asked_nested(trial: Any) -> Values:
    """The same for pipelines."""
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


def words(letter: str) -> list[str]:
    """The alternatives of a category."""
    return [f"{letter}{place}" for place in range(SIZES[letter])]


def optuna_alone(sampler: str, **settings: Any) -> Callable[[Task, int, int], float]:
    """A study of Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def alone(task: Task, seed: int, trials: int) -> float:
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed, **settings))
        study.optimize(lambda trial: task.loss(asked(trial, task.name)), n_trials=trials)
        return float(study.best_value)

    return alone


# ---- by hand: hyperopt


def hyperopt_space(name: str) -> Any:
    """What `fmin` takes, as somebody writes it."""
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
            several = [("svm", svm), ("forest", forest), ("linear", {"alpha": logs("alpha", 1e-6, 10)})]
            estimator = hp.choice("estimator", [{"estimator": each, "inner": inside} for each, inside in several])
            return {"scaler": hp.choice("scaler", ["none", "standard", "minmax"]), "inner": estimator}
        case "integers":
            units = scope.int(hp.qloguniform("units", np.log(8), np.log(512), 1))
            dropout = hp.uniform("dropout", 0, 0.5)
            return {"layers": hp.uniformint("layers", 1, 6), "units": units, "dropout": dropout}
        case "categories":
            return {letter: hp.choice(letter, words(letter)) for letter in SIZES}
        case _:
            return {"mode": hp.choice("mode", ["slow", "fast"]), "depth": hp.uniformint("depth", 1, 50)}


def flat(values: Values) -> dict[str, Any]:
    """What hyperopt gives, without what is within something else."""
    found = {key: value for key, value in values.items() if key != "inner"}
    return {**found, **flat(values["inner"])} if "inner" in values else found


def breaks(task: Task, values: Values) -> bool:
    """Whether values are none of the constrained space, for whoever cannot say the constraint."""
    return task.name == "constrained" and values["mode"] == "slow" and bool(values["depth"] > 20)


def hyperopt_alone(task: Task, seed: int, trials: int) -> float:
    """`fmin` of hyperopt; what breaks the constraint has failed."""
    from hyperopt import STATUS_FAIL, STATUS_OK, Trials, fmin, tpe

    def evaluate(values: Values) -> dict[str, Any]:
        found = flat(values)
        return {"status": STATUS_FAIL} if breaks(task, found) else {"status": STATUS_OK, "loss": task.loss(found)}

    kept = Trials()
    rng = np.random.default_rng(seed)
    space = hyperopt_space(task.name)
    fmin(evaluate, space, tpe.suggest, trials, trials=kept, rstate=rng, show_progressbar=False, verbose=False)
    return min((each["loss"] for each in kept.results if each["status"] == STATUS_OK), default=inf)


# ---- by hand: SMAC


def configuration_space(name: str) -> Any:
    """A ConfigurationSpace, as somebody writes it."""
    import ConfigSpace

    match name:
        case "numbers":
            rate = ConfigSpace.Float("rate", (1e-5, 1), log=True)
            return space_of([ConfigSpace.Float("x", (-5, 5)), ConfigSpace.Float("y", (-5, 5)), rate])
        case "nested":
            return nested_space()
        case "integers":
            units = ConfigSpace.Integer("units", (8, 512), log=True)
            return space_of([ConfigSpace.Integer("layers", (1, 6)), units, ConfigSpace.Float("dropout", (0, 0.5))])
        case "categories":
            return space_of([ConfigSpace.Categorical(letter, words(letter)) for letter in SIZES])
        case _:
            mode = ConfigSpace.Categorical("mode", ["slow", "fast"], default="fast")
            depth = ConfigSpace.Integer("depth", (1, 50), default=10)
            deep = ConfigSpace.ForbiddenInClause(depth, list(range(21, 51)))
            return space_of(
                [mode, depth],
                [ConfigSpace.ForbiddenAndConjunction(ConfigSpace.ForbiddenEqualsClause(mode, "slow"), deep)],
            )


def nested_space() -> Any:
    """The same for pipelines."""
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
        ConfigSpace.EqualsCondition(each, estimator, word) for word, several in inside.items() for each in several
    ]
    scaler = ConfigSpace.Categorical("scaler", ["none", "standard", "minmax"])
    numbers = [each for several in inside.values() for each in several]
    return space_of(
        [scaler, estimator, *numbers, degree], [*active, ConfigSpace.EqualsCondition(degree, kernel, "poly")]
    )


def space_of(several: Sequence[Any], others: Sequence[Any] = ()) -> Any:
    """A ConfigurationSpace of hyperparameters, conditions and clauses."""
    import ConfigSpace

    found = ConfigSpace.ConfigurationSpace()
    found.add(*several, *others)
    return found


def smac_alone(task: Task, seed: int, trials: int) -> float:
    """`optimize` of SMAC's facade for hyperparameters."""
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.main.exceptions import ConfigurationSpaceExhaustedException

    losses: list[float] = []

    def evaluate(config: Any, seed: int = 0) -> float:
        losses.append(task.loss(dict(config)))
        return losses[-1]

    with TemporaryDirectory() as folder:
        given = {"deterministic": True, "n_trials": trials, "seed": seed, "output_directory": Path(folder)}
        scenario = Scenario(configuration_space(task.name), **given)
        facade = HyperparameterOptimizationFacade(scenario, evaluate, overwrite=True, logging_level=False)
        with suppress(ConfigurationSpaceExhaustedException):  # a small space, of which nothing is left
            facade.optimize()
    return min(losses)


# ---- side by side


@dataclass(frozen=True)
class Pair:
    """An optimizer with its options, and the same by hand."""

    name: str
    options: Mapping[str, str]
    alone: Callable[[Task, int, int], float]

    @property
    def label(self) -> str:
        """How it is called in the table."""
        said = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.name}({said})" if said else self.name


def pairs() -> Iterator[Pair]:
    """All pairs of which both are there."""
    found = (
        Pair("tpe", {"library": "hyperopt"}, hyperopt_alone),
        Pair("tpe", {"library": "optuna"}, optuna_alone("TPESampler", n_startup_trials=20)),
        Pair("optuna", {"sampler": "TPESampler"}, optuna_alone("TPESampler")),
        Pair("optuna", {"sampler": "NSGAIISampler"}, optuna_alone("NSGAIISampler")),
        Pair("smac", {}, smac_alone),
    )
    return (pair for pair in found if pair.name in OPTIMIZERS.names())


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean."""
    rng = np.random.default_rng(0)
    means = rng.choice(np.array(differences), (RESAMPLES, len(differences))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def line(pair: Pair, task: Task, seeds: int, trials: int) -> str:
    """One line of the table."""
    ours = [through(pair.name, pair.options, task, seed, trials) for seed in range(seeds)]
    theirs = [pair.alone(task, seed, trials) for seed in range(seeds)]
    differences = [here - there for here, there in zip(ours, theirs, strict=True)]
    low, high = interval(differences)
    verdict = "holds 0" if low <= 0 <= high else f"does not hold 0; {task.differs}"
    means = f"{np.mean(ours):>10.4f}{np.mean(theirs):>10.4f}{np.mean(differences):>+10.4f}"
    return f"  {task.name:<13}{pair.label:<32}{means}  [{low:+.4f}, {high:+.4f}]  {verdict}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, a line as soon as it is known."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--seeds", type=int, default=10, help="pairs of runs")
    options.add_argument("--trials", type=int, default=100, help="trials of each run")
    options.add_argument("--only", default="", help="optimizers, by name or as the table calls them")
    options.add_argument("--spaces", default=",".join(task.name for task in TASKS), help="which of the five")
    chosen = options.parse_args(arguments)
    only, spaces = ({*filter(None, each.split(","))} for each in (chosen.only, chosen.spaces))
    known = {name for pair in pairs() for name in (pair.name, pair.label)}
    for given, there in ((only, known), (spaces, {task.name for task in TASKS})):
        for word in sorted(given - there):
            options.error(f"there is no `{word}`, but {', '.join(sorted(there))}")
    logging.getLogger("smac").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    print(
        f"spacelang {spacelang.__version__}, Python {sys.version.split()[0]}: {chosen.seeds} pairs of {chosen.trials}"
    )
    print(f"  {'space':<13}{'optimizer':<32}{'through':>10}{'by hand':>10}  difference, 95 % interval")
    for pair in pairs():
        if not only or {pair.name, pair.label} & only:
            for task in TASKS:
                if task.name in spaces:
                    print(line(pair, task, chosen.seeds, chosen.trials), flush=True)


if __name__ == "__main__":
    main()
