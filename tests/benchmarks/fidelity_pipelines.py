"""The spaces of pipelines among those of `fidelity_spaces.py`: the README's `credit.space` and two bundled spaces."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any, Final

from fidelity_spaces import CHAIN, CONDITIONS, MLP, ORDERED, SHARES, Task, Values, distance, mean

README: Final = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
VALUES_WEIGHT: Final = 0.5  # The share of the loss of a pipeline that its hyperparameters decide


@dataclass(frozen=True)
class Number:
    """A range of floats or integers with its best value."""

    low: float
    high: float
    best: float
    is_integer: bool = False
    is_log: bool = False

    def suggest(self, trial: Any, name: str) -> float:
        """Ask a trial of Optuna."""
        ask = trial.suggest_int if self.is_integer else trial.suggest_float
        return ask(name, self.low, self.high, log=self.is_log)  # type: ignore[no-any-return]

    def draw(self, hp: Any, name: str) -> Any:
        """Return an expression of hyperopt."""
        if self.is_integer and self.is_log:
            return hp.qloguniform(name, log(self.low - 0.499), log(self.high + 0.499), 1)
        if self.is_integer:
            return hp.uniformint(name, self.low, self.high)
        return (
            hp.loguniform(name, log(self.low), log(self.high)) if self.is_log else hp.uniform(name, self.low, self.high)
        )

    def distance(self, value: Any) -> float:
        """Return the distance to the best value, from 0 to 1."""
        return 1.0 if value is None else distance(value, self.best, self.low, self.high, is_log=self.is_log)


@dataclass(frozen=True)
class Limit(Number):
    """A range of integers, or None for no limit."""

    def suggest(self, trial: Any, name: str) -> float | None:  # type: ignore[override]
        """Ask a trial of Optuna whether there is a limit, and for the limit."""
        is_limited = trial.suggest_categorical(f"{name}_limited", [False, True])
        return super().suggest(trial, name) if is_limited else None

    def draw(self, hp: Any, name: str) -> Any:
        """Return an expression of hyperopt."""
        return hp.choice(f"{name}_limited", [None, super().draw(hp, name)])


@dataclass(frozen=True)
class Words:
    """A set of values with the best one."""

    values: tuple[Any, ...]
    best: Any

    def suggest(self, trial: Any, name: str) -> Any:
        """Ask a trial of Optuna."""
        return trial.suggest_categorical(name, self.values)

    def draw(self, hp: Any, name: str) -> Any:
        """Return an expression of hyperopt."""
        return hp.choice(name, self.values)

    def distance(self, value: Any) -> float:
        """Return 0 for the best value, and 1 for others."""
        return float(value != self.best)


Domain = Number | Words
Stages = Mapping[str, Mapping[str, tuple[float, Mapping[str, Domain]]]]
"""The alternatives of each stage with a loss and hyperparameters; the best alternative of a stage has the loss 0."""


def loss_of(stages: Stages, values: Values) -> float:
    """Return the losses of the alternatives plus the mean distance of their hyperparameters, 1 for inactive ones."""
    chosen = [stages[stage][values[stage]] for stage in stages]
    distances = [
        domain.distance(values[name]) if name in values else 1.0
        for _, domains in chosen
        for name, domain in domains.items()
    ]
    return sum(worse for worse, _ in chosen) + VALUES_WEIGHT * (mean(*distances) if distances else 1.0)


def optimum_of(stages: Stages) -> dict[str, Any]:
    """Return the best values of the best alternatives."""
    found: dict[str, Any] = {}
    for stage, alternatives in stages.items():
        best = next(word for word, (worse, _) in alternatives.items() if not worse)
        found |= {stage: best, **{name: domain.best for name, domain in alternatives[best][1].items()}}
    return found


def suggest_alternative(trial: Any, stages: Stages, stage: str) -> dict[str, Any]:
    """Ask for an alternative and its hyperparameters."""
    word = trial.suggest_categorical(stage, [*stages[stage]])
    domains = stages[stage][word][1]
    found = {stage: word}
    for name, domain in domains.items():
        if all(found.get(other, value) == value for other, value in CONDITIONAL.get(name, {}).items()):
            found[name] = domain.suggest(trial, f"{word}_{name}")
    return found


def draw_alternative(hp: Any, stages: Stages, stage: str) -> Any:
    """Return a choice of hyperopt between alternatives with their hyperparameters, also inactive ones."""
    return hp.choice(
        stage,
        [
            {stage: word} | {name: domain.draw(hp, f"{word}_{name}") for name, domain in domains.items()}
            for word, (_, domains) in stages[stage].items()
        ],
    )


CONDITIONAL: Final[Mapping[str, Mapping[str, Any]]] = {
    "q_min": {"with_scaling": True},
    "q_max": {"with_scaling": True},
    "degree": {"kernel": "poly"},
}
"""The hyperparameters of these spaces that are active only with a value of another one, if there is that other one."""


def pipeline_values(sample: Values) -> dict[str, Any]:
    """Return the active values of a sample of hyperopt without nesting."""
    found = {name: value for inner in sample.values() for name, value in inner.items()}
    for name, conditions in CONDITIONAL.items():
        if any(found.get(other, value) != value for other, value in conditions.items()):
            found.pop(name, None)
    return {name: int(v) if name in LOGARITHMIC and v is not None else v for name, v in found.items()}


LOGARITHMIC: Final = frozenset({"n_quantiles", "n_neighbors", "max_leaf_nodes"})
"""The logarithmic integers, which hyperopt draws as floats."""

# ---- README.md

CREDIT_STAGES: Final[Stages] = {
    "scaler": {
        "none": (0.1, {}),
        "StandardScaler": (0.05, {}),
        "QuantileTransformer": (0.0, {"n_quantiles": Number(10, 1000, 200, is_integer=True, is_log=True)}),
    },
    "estimator": {
        "LogisticRegression": (
            0.15,
            {
                "solver": Words(("lbfgs", "liblinear", "saga"), "saga"),
                "l1_ratio": Words((0.0, 1.0), 1.0),
                "C": Number(1e-4, 1e4, 10, is_log=True),
            },
        ),
        "SVC": (0.0, {"kernel": Words(("rbf", "poly"), "poly"), "degree": Number(2, 5, 4, is_integer=True)}),
        "RandomForestClassifier": (0.1, {"max_depth": Limit(2, 50, 20, is_integer=True)}),
    },
}


def suggest_credit(trial: Any) -> dict[str, Any]:
    """Ask for a pipeline as README.md does."""
    found = suggest_alternative(trial, CREDIT_STAGES, "scaler")
    if found["scaler"] == "none":
        words = ["LogisticRegression", "RandomForestClassifier"]
        found["estimator"] = trial.suggest_categorical("estimator_unscaled", words)
    else:
        found["estimator"] = trial.suggest_categorical("estimator", [*CREDIT_STAGES["estimator"]])
    domains = CREDIT_STAGES["estimator"][found["estimator"]][1]
    for name, domain in domains.items():
        if name == "l1_ratio" and found["solver"] == "lbfgs":
            found[name] = 0.0
        elif name != "degree" or found["kernel"] == "poly":
            found[name] = domain.suggest(trial, name)
    return found


def credit_hyperopt_space(hp: Any) -> Any:
    """Return a space in which the estimators depend on the scaler, and penalties on the solver."""
    drawn = {
        word: {"estimator": word} | {name: domain.draw(hp, name) for name, domain in domains.items()}
        for word, (_, domains) in CREDIT_STAGES["estimator"].items()
    }
    scaled, unscaled = [*drawn.values()], [inner for word, inner in drawn.items() if word != "SVC"]
    estimator, estimator_unscaled = hp.choice("estimator", scaled), hp.choice("estimator_unscaled", unscaled)
    scalers = [
        {"scaler": {"scaler": word} | {name: domain.draw(hp, name) for name, domain in domains.items()}}
        | {"estimator": estimator_unscaled if word == "none" else estimator}
        for word, (_, domains) in CREDIT_STAGES["scaler"].items()
    ]
    return hp.choice("scaler", scalers)


def credit_values(sample: Values) -> dict[str, Any]:
    """Return the active values of a sample; `lbfgs` has no penalty to choose."""
    found = pipeline_values(sample)
    return found | {"l1_ratio": 0.0} if found.get("solver") == "lbfgs" else found


def read_credit() -> str:
    """Return the text of `credit.space` in README.md."""
    return "space credit" + README.partition("```space\nspace credit")[2].partition("```")[0]


CREDIT: Final = Task(
    read_credit(),
    lambda values: loss_of(CREDIT_STAGES, values),
    optimum_of(CREDIT_STAGES),
    suggest_credit,
    credit_hyperopt_space,
    credit_values,
)

# ---- bundled spaces

FOREST: Final[Mapping[str, Domain]] = {
    "max_features": Number(1e-9, 1, 0.4),
    "n_estimators": Number(50, 500, 300, is_integer=True),
    "criterion": Words(("gini", "entropy"), "entropy"),
    "min_samples_split": Number(2, 20, 6, is_integer=True),
    "min_samples_leaf": Number(1, 20, 3, is_integer=True),
    "bootstrap": Words((True, False), False),
}

ADMM_STAGES: Final[Stages] = {
    "scaler": {
        "none": (0.1, {}),
        "Normalizer": (0.1, {}),
        "QuantileTransformer": (
            0.05,
            {
                "n_quantiles": Number(10, 2000, 500, is_integer=True),
                "output_distribution": Words(("uniform", "normal"), "normal"),
            },
        ),
        "MinMaxScaler": (0.05, {}),
        "StandardScaler": (0.05, {}),
        "RobustScaler": (
            0.0,
            {
                "with_centering": Words((True, False), True),
                "with_scaling": Words((True, False), True),
                "q_min": Number(0.001, 0.3, 0.1),
                "q_max": Number(0.7, 0.999, 0.8),
            },
        ),
    },
    "transformer": {
        "none": (0.1, {}),
        "PCA": (0.0, {"n_components": Number(0.5, 0.9999, 0.8), "whiten": Words((True, False), True)}),
        "PolynomialFeatures": (
            0.05,
            {
                "degree": Number(2, 3, 2, is_integer=True),
                "interaction_only": Words((True, False), True),
                "include_bias": Words((True, False), False),
            },
        ),
    },
    "estimator": {
        "GaussianNB": (0.2, {}),
        "QuadraticDiscriminantAnalysis": (0.15, {"reg_param": Number(0, 1, 0.2)}),
        "GradientBoostingClassifier": (
            0.0,
            {
                "learning_rate": Number(0.01, 1, 0.05, is_log=True),
                "subsample": Number(0.01, 1, 0.7),
                "max_features": Number(0.1, 1, 0.4),
                "n_estimators": FOREST["n_estimators"],
                "max_depth": Number(1, 10, 4, is_integer=True),
                "min_samples_split": FOREST["min_samples_split"],
                "min_samples_leaf": FOREST["min_samples_leaf"],
                "max_leaf_nodes": Limit(3, 2047, 31, is_integer=True, is_log=True),
                "n_iter_no_change": Limit(1, 20, 8, is_integer=True),
            },
        ),
        "KNeighborsClassifier": (
            0.1,
            {
                "n_neighbors": Number(1, 100, 12, is_integer=True, is_log=True),
                "weights": Words(("uniform", "distance"), "distance"),
                "p": Words((1, 2), 1),
            },
        ),
        "RandomForestClassifier": (0.05, FOREST),
        "ExtraTreesClassifier": (0.05, FOREST),
    },
}
BOASF_STAGES: Final[Stages] = {
    "estimator": {
        "RandomForestClassifier": (
            0.0,
            {
                "criterion": FOREST["criterion"],
                "max_features": Number(0.5, 1, 0.6),
                "min_samples_split": Number(2, 21, 6, is_integer=True),
                "min_samples_leaf": Number(1, 21, 3, is_integer=True),
                "bootstrap": FOREST["bootstrap"],
            },
        )
    }
}


def make_bundled_task(name: str, stages: Stages) -> Task:
    """Return the task of a bundled space, whose stages do not depend on each other."""

    def suggest(trial: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for stage in stages:
            found |= suggest_alternative(trial, stages, stage)
        return found

    return Task(
        name,
        lambda values: loss_of(stages, values),
        optimum_of(stages),
        suggest,
        lambda hp: {stage: draw_alternative(hp, stages, stage) for stage in stages},
        pipeline_values,
    )


TASKS: Final[Mapping[str, Task]] = {
    "ordered": ORDERED,
    "shares": SHARES,
    "conditions": CONDITIONS,
    "chain": CHAIN,
    "mlp": MLP,
    "credit": CREDIT,
    "admm_table_a3": make_bundled_task("admm_table_a3", ADMM_STAGES),
    "boasf_random_forest": make_bundled_task("boasf_random_forest", BOASF_STAGES),
}
