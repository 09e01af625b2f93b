"""Spaces with cheap losses of known optima, each also as an expert writes it for Optuna, hyperopt and ConfigSpace.

A loss is between 0 and 1, and 0 at the optimum only. It takes values by their short names: a key of a configuration
after its last dot. For Optuna, hand-written forms use bounds that depend on earlier values. hyperopt has no such
bounds: its forms sort two numbers, draw a share of the range that is left, and ignore inactive hyperparameters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any, Final

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """A space with a loss, and its hand-written forms.

    Parameters
    ----------
    reference
        The text of the space, or the name of a bundled space.
    loss
        The loss of values by short names.
    optimum
        The values whose loss is 0.
    suggest
        A function that asks a trial of Optuna for values.
    hyperopt_space
        A function that makes the space for `fmin`.
    hyperopt_values
        A function that makes values of a sample of that space.
    configuration_space
        A function that makes a ConfigurationSpace.
    has_relations
        True if constraints relate hyperparameters, so that forms differ with `--relations`.
    """

    reference: str
    loss: Callable[[Values], float]
    optimum: Values
    suggest: Callable[[Any], dict[str, Any]]
    hyperopt_space: Callable[[Any], Any]
    hyperopt_values: Callable[[Values], dict[str, Any]] = dict
    configuration_space: Callable[[Any], Any] | None = None
    trials: int = 100
    has_relations: bool = False


def distance(value: float, best: float, low: float, high: float, *, is_log: bool = False) -> float:
    """Return the distance of a number to the best one, as a share of the largest distance within the range."""
    if is_log:
        value, best, low, high = log(value), log(best), log(low), log(high)
    return abs(value - best) / max(best - low, high - best)


def mean(*terms: float) -> float:
    """Return the arithmetic mean."""
    return sum(terms) / len(terms)


# ---- two ordered integers


def suggest_ordered(trial: Any) -> dict[str, Any]:
    """Ask for the larger number within bounds that depend on the smaller one."""
    lo = trial.suggest_int("lo", 1, 100)
    return {"lo": lo, "hi": trial.suggest_int("hi", lo, 100)}


def ordered_configuration_space(cs: Any) -> Any:
    """Return a space with a forbidden relation."""
    lo, hi = cs.Integer("lo", (1, 100), default=1), cs.Integer("hi", (1, 100), default=100)
    space = cs.ConfigurationSpace()
    space.add(lo, hi, cs.ForbiddenGreaterThanRelation(lo, hi))
    return space


ORDERED: Final = Task(
    """space ordered
abstract f {
  lo : int[1, 100] = 1
  hi : int[1, 100] = 100
  require lo <= hi
}
stage s = f
""",
    lambda v: mean(distance(v["lo"], 37, 1, 100), distance(v["hi"], 41, 1, 100)),
    {"lo": 37, "hi": 41},
    suggest_ordered,
    lambda hp: {"one": hp.uniformint("one", 1, 100), "other": hp.uniformint("other", 1, 100)},
    lambda sample: dict(zip(("lo", "hi"), sorted(sample.values()), strict=True)),
    ordered_configuration_space,
    trials=80,
    has_relations=True,
)

# ---- three shares


def suggest_shares(trial: Any) -> dict[str, Any]:
    """Ask for twentieths, each among those that are left."""
    a = trial.suggest_int("a", 0, 20)
    return twentieths(a, trial.suggest_int("b", 0, 20 - a))


def twentieths(a: int, b: int) -> dict[str, Any]:
    """Return three shares, given two of them in twentieths."""
    return {"a": round(a / 20, 2), "b": round(b / 20, 2), "c": round((20 - a - b) / 20, 2)}


SHARES: Final = Task(
    """space shares
abstract f {
  a : float[0, 1] step 0.05 = 0.3
  b : float[0, 1] step 0.05 = 0.3
  c : float[0, 1] step 0.05 = 0.4
  require a + b + c == 1
}
stage s = f
""",
    lambda v: (abs(v["a"] - 0.15) + abs(v["b"] - 0.6) + abs(v["c"] - 0.25)) / 1.7,
    {"a": 0.15, "b": 0.6, "c": 0.25},
    suggest_shares,
    lambda hp: {"a": hp.uniformint("a", 0, 20), "share": hp.uniform("share", 0, 1)},
    lambda sample: twentieths(sample["a"], int(min(0.9999, sample["share"]) * (21 - sample["a"]))),
    trials=80,
    has_relations=True,
)

# ---- conditions on numbers


def conditions_loss(values: Values) -> float:
    """Return a loss of a network whose best one has the hyperparameters of both conditions."""
    return mean(
        distance(values["n_layers"], 6, 1, 8),
        distance(values["width"], 128, 8, 512, is_log=True),
        distance(values["skip"], 0.3, 0, 1) if "skip" in values else 1.0,
        distance(values["dropout"], 0.2, 0, 0.5) if "dropout" in values else 1.0,
        distance(values["momentum"], 0.9, 0, 0.99),
        distance(values["nesterov"], 0.6, 0, 1) if "nesterov" in values else 1.0,
        distance(values["rate"], 1e-2, 1e-5, 1, is_log=True),
    )


def suggest_conditions(trial: Any) -> dict[str, Any]:
    """Ask for conditional hyperparameters inside of `if`."""
    found = {"n_layers": trial.suggest_int("n_layers", 1, 8), "width": trial.suggest_int("width", 8, 512, log=True)}
    if found["n_layers"] >= 4:
        found["skip"] = trial.suggest_float("skip", 0, 1)
        found["dropout"] = trial.suggest_float("dropout", 0, 0.5)
    found["momentum"] = trial.suggest_float("momentum", 0, 0.99)
    if found["momentum"] > 0:
        found["nesterov"] = trial.suggest_float("nesterov", 0, 1)
    return {**found, "rate": trial.suggest_float("rate", 1e-5, 1, log=True)}


def conditions_hyperopt_space(hp: Any) -> Any:
    """Return a space with all hyperparameters, also inactive ones."""
    return {
        "n_layers": hp.uniformint("n_layers", 1, 8),
        "width": hp.qloguniform("width", log(7.501), log(512.499), 1),
        "skip": hp.uniform("skip", 0, 1),
        "dropout": hp.uniform("dropout", 0, 0.5),
        "momentum": hp.uniform("momentum", 0, 0.99),
        "nesterov": hp.uniform("nesterov", 0, 1),
        "rate": hp.loguniform("rate", log(1e-5), log(1)),
    }


def conditions_values(sample: Values) -> dict[str, Any]:
    """Return the values of the active hyperparameters."""
    inactive = {
        *(("skip", "dropout") if sample["n_layers"] < 4 else ()),
        *(() if sample["momentum"] > 0 else ("nesterov",)),
    }
    return {name: value for name, value in sample.items() if name not in inactive} | {"width": int(sample["width"])}


def conditions_configuration_space(cs: Any) -> Any:
    """Return a space with the conditions of ConfigSpace."""
    n_layers, momentum = cs.Integer("n_layers", (1, 8), default=2), cs.Float("momentum", (0, 0.99), default=0.0)
    skip, dropout = cs.Float("skip", (0, 1), default=0.5), cs.Float("dropout", (0, 0.5), default=0.1)
    nesterov = cs.Float("nesterov", (0, 1), default=0.5)
    space = cs.ConfigurationSpace()
    space.add(
        n_layers,
        cs.Integer("width", (8, 512), log=True, default=64),
        skip,
        dropout,
        momentum,
        nesterov,
        cs.Float("rate", (1e-5, 1), log=True, default=1e-2),
        cs.GreaterThanCondition(skip, n_layers, 3),
        cs.GreaterThanCondition(dropout, n_layers, 3),
        cs.GreaterThanCondition(nesterov, momentum, 0.0),
    )
    return space


CONDITIONS: Final = Task(
    """space conditions
abstract f {
  n_layers : int[1, 8] = 2
  width    : int[8, 512] log = 64
  skip     : float[0, 1] = 0.5 when n_layers >= 4
  dropout  : float[0, 0.5] = 0.1 when n_layers >= 4
  momentum : float[0, 0.99] = 0
  nesterov : float[0, 1] = 0.5 when momentum > 0
  rate     : float[1e-5, 1] log = 0.01
}
stage s = f
""",
    conditions_loss,
    {"n_layers": 6, "width": 128, "skip": 0.3, "dropout": 0.2, "momentum": 0.9, "nesterov": 0.6, "rate": 0.01},
    suggest_conditions,
    conditions_hyperopt_space,
    conditions_values,
    conditions_configuration_space,
)

# ---- a chain of layers, each at most as wide as the one before

WIDTHS: Final = (192, 96, 48)
DROPOUTS: Final = (0.1, 0.2, 0.3)


def chain_loss(values: Values) -> float:
    """Return a loss whose optimum has three layers; a layer that is missing costs as much as a bad one."""
    terms = [distance(values["n_layers"], 3, 1, 4), distance(values["rate"], 1e-3, 1e-5, 1, is_log=True)]
    for place, (width, dropout) in enumerate(zip(WIDTHS, DROPOUTS, strict=True), 1):
        is_active = place <= values["n_layers"]
        terms.append(distance(values[f"w{place}"], width, 16, 256) if is_active else 1.0)
        terms.append(distance(values[f"d{place}"], dropout, 0, 0.5) if is_active else 1.0)
    return mean(*terms)


def suggest_chain(trial: Any) -> dict[str, Any]:
    """Ask for the widths one after the other, each up to the previous one."""
    found = {"n_layers": trial.suggest_int("n_layers", 1, 4)}
    widest = 256
    for place in range(1, found["n_layers"] + 1):
        found[f"w{place}"] = widest = trial.suggest_int(f"w{place}", 16, widest, step=16)
        found[f"d{place}"] = trial.suggest_float(f"d{place}", 0, 0.5)
    return {**found, "rate": trial.suggest_float("rate", 1e-5, 1, log=True)}


def chain_hyperopt_space(hp: Any) -> Any:
    """Return a space in which each width is a share of the previous one."""
    found = {"n_layers": hp.uniformint("n_layers", 1, 4), "rate": hp.loguniform("rate", log(1e-5), log(1))}
    for place in range(1, 5):
        found |= {f"u{place}": hp.uniform(f"u{place}", 0, 1), f"d{place}": hp.uniform(f"d{place}", 0, 0.5)}
    return found


def chain_values(sample: Values) -> dict[str, Any]:
    """Return the widths of the layers, as many as there are."""
    found = {"n_layers": sample["n_layers"], "rate": sample["rate"]}
    steps = 16
    for place in range(1, sample["n_layers"] + 1):
        steps = 1 + int(min(0.9999, sample[f"u{place}"]) * steps)
        found |= {f"w{place}": 16 * steps, f"d{place}": sample[f"d{place}"]}
    return found


def write_chain() -> str:
    """Return the text of the space of layers."""
    rows = ["n_layers : int[1, 4] = 1", "rate : float[1e-5, 1] log = 0.01"]
    for place in range(1, 5):
        condition = f" when n_layers >= {place}" if place > 1 else ""
        rows.append(f"w{place} : int[16, 256] step 16 = 64{condition}")
        rows.append(f"d{place} : float[0, 0.5] = 0{condition}")
    rows += [f"require w{place + 1} <= w{place}" for place in range(1, 4)]
    return "space chain\nabstract f {\n  " + "\n  ".join(rows) + "\n}\nstage s = f\n"


CHAIN: Final = Task(
    write_chain(),
    chain_loss,
    {"n_layers": 3, "rate": 1e-3}
    | {f"w{place}": width for place, width in enumerate(WIDTHS, 1)}
    | {f"d{place}": dropout for place, dropout in enumerate(DROPOUTS, 1)},
    suggest_chain,
    chain_hyperopt_space,
    chain_values,
    has_relations=True,
)

# ---- the tuple of a network


SIZES: Final = (128, 32)


def mlp_loss(values: Values) -> float:
    """Return a loss whose optimum has two layers; a layer that is missing costs as much as a bad one."""
    sizes = [values.get(f"hidden_layer_sizes[{place}]") for place in (1, 2)]
    return mean(
        distance(values["length"], 2, 1, 3),
        *(1.0 if n is None else distance(n, best, 16, 512, is_log=True) for n, best in zip(sizes, SIZES, strict=True)),
        distance(values["alpha"], 1e-3, 1e-6, 1, is_log=True),
        distance(values["learning_rate_init"], 1e-2, 1e-4, 1, is_log=True),
    )


def suggest_mlp(trial: Any) -> dict[str, Any]:
    """Ask for the number of layers, and for the size of each."""
    found = {"length": trial.suggest_int("length", 1, 3)}
    for place in range(1, found["length"] + 1):
        found[f"hidden_layer_sizes[{place}]"] = trial.suggest_int(f"size_{place}", 16, 512, log=True)
    found["alpha"] = trial.suggest_float("alpha", 1e-6, 1, log=True)
    return {**found, "learning_rate_init": trial.suggest_float("learning_rate_init", 1e-4, 1, log=True)}


def mlp_hyperopt_space(hp: Any) -> Any:
    """Return a space with the sizes of three layers."""
    sizes = [f"hidden_layer_sizes[{place}]" for place in (1, 2, 3)]
    return {
        "length": hp.uniformint("length", 1, 3),
        **{name: hp.qloguniform(name, log(15.501), log(512.499), 1) for name in sizes},
        "alpha": hp.loguniform("alpha", log(1e-6), log(1)),
        "learning_rate_init": hp.loguniform("learning_rate_init", log(1e-4), log(1)),
    }


def mlp_values(sample: Values) -> dict[str, Any]:
    """Return the values with as many sizes as there are layers."""
    found = {name: sample[name] for name in ("length", "alpha", "learning_rate_init")}
    names = [f"hidden_layer_sizes[{place}]" for place in range(1, sample["length"] + 1)]
    return found | {name: int(sample[name]) for name in names}


MLP: Final = Task(
    """space mlp
stage s = MLPClassifier {
  hidden_layer_sizes : tuple[1, 3] of int[16, 512] log = (100,)
  alpha              : float[1e-6, 1] log = 1e-4
  learning_rate_init : float[1e-4, 1] log = 1e-3
}
""",
    mlp_loss,
    {
        "length": 2,
        "hidden_layer_sizes[1]": 128,
        "hidden_layer_sizes[2]": 32,
        "alpha": 1e-3,
        "learning_rate_init": 1e-2,
    },
    suggest_mlp,
    mlp_hyperopt_space,
    mlp_values,
)
