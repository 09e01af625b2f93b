"""Measure a pool of configurations on many tables, from which the portfolios of the everyday spaces are chosen.

    python examples/default/portfolio.py DATASETS --output OUTPUT

The pool of a kind of task holds the default of each learner, configurations that are usual in practice (`USUAL`), and
`DRAWS` random configurations of the everyday space, with the learners of xgboost and lightgbm. Each is evaluated on
each table, on at most 5,000 rows and for at most 20 seconds; a third of these rows is held out. A fifth of the rows of
a table is never used. The losses and the seconds are written to OUTPUT, one JSON file for each table.

The same command resumes what was interrupted. Several processes can share the work: each takes the tables of its
`--part K/N`.
"""

import argparse
import json
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

import spacelang as sl
from spacelang.api.search_data import choose_default_space
from spacelang.ir.configuration import Configuration
from spacelang.runtime.data.loading import load_dataset, make_table
from spacelang.runtime.data.profile import guess_task_kind
from spacelang.solver.counting import Structures
from spacelang.solver.nearest_configuration import nearest_member
from spacelang.targets.mosaic import StructuralTree

PACKAGES: Final = ("lightgbm", "xgboost")
ROWS: Final = 5_000
TRIAL_LIMIT: Final = "20s"
LEAST_PER_CLASS: Final = 10  # Rows of rarer classes are left out
MAX_CLASSES: Final = 50  # A table with more different labels is one for regression
DRAWS: Final = 20  # The number of random configurations in the pool
Usual: TypeAlias = dict[str, Any]


def learner(name: str, encoder: str = "OneHotEncoder", scaler: str = "StandardScaler", **values: Any) -> Usual:
    """Return a configuration of a learner; what is not given is completed by the defaults."""
    return {"estimator": name, "encoder": encoder, "scaler": scaler} | {f"estimator.{k}": v for k, v in values.items()}


def boosting(name: str, names: tuple[str, str, str, str], *rows: tuple[Any, ...]) -> list[Usual]:
    """Return configurations of a boosting learner, each of an encoder and the values of four hyperparameters."""
    return [learner(name, encoder, **dict(zip(names, values, strict=True)), **other) for encoder, values, other in rows]


def in_step(step: str, **values: Any) -> dict[str, Any]:
    """Return values of an estimator inside another one, by their keys."""
    return {f"{step}{name}": value for name, value in values.items()}


def usual(network: str) -> list[Usual]:
    """Return configurations that are usual in practice."""
    own = ("learning_rate", "max_iter", "max_leaf_nodes", "min_samples_leaf")
    light = ("learning_rate", "n_estimators", "num_leaves", "min_child_samples")
    extreme = ("learning_rate", "n_estimators", "max_depth", "min_child_weight")
    ordinal, hot, by_target = "OrdinalEncoder", "OneHotEncoder", "TargetEncoder"
    return [
        *boosting(
            "boosting", own,
            (ordinal, (0.05, 300, 31, 20), {}),
            (hot, (0.03, 500, 63, 10), {}),
            (by_target, (0.1, 200, 15, 5), {"l2_regularization": 1.0}),
            (ordinal, (0.02, 500, 15, 40), {}),
        ),
        *boosting(
            "lightgbm", light,
            (ordinal, (0.05, 300, 31, 20), {"colsample_bytree": 0.8}),
            (hot, (0.03, 500, 63, 5), {"colsample_bytree": 0.6}),
            (by_target, (0.1, 200, 15, 10), {"reg_lambda": 1.0}),
            (ordinal, (0.02, 500, 127, 40), {"colsample_bytree": 0.5, "reg_lambda": 0.1}),
            (hot, (0.05, 500, 7, 20), {"colsample_bytree": 0.7, "reg_lambda": 5.0}),
        ),
        *boosting(
            "xgboost", extreme,
            (ordinal, (0.05, 300, 6, 1.0), {"subsample": 0.8, "colsample_bytree": 0.8}),
            (hot, (0.03, 500, 8, 3.0), {"subsample": 0.8, "colsample_bytree": 0.6}),
            (by_target, (0.1, 300, 4, 1.0), {"subsample": 0.9}),
            (ordinal, (0.02, 500, 10, 5.0), {"subsample": 0.7, "colsample_bytree": 0.5, "reg_lambda": 5.0}),
        ),
        learner("forest", ordinal, max_features=0.25),
        learner("forest", hot, max_features=0.7, min_samples_leaf=3),
        learner("extra_trees", hot, max_features=0.25),
        learner("extra_trees", by_target, max_features=0.8, min_samples_leaf=2),
        learner("neighbors", hot, n_neighbors=15, weights="distance"),
        learner("network", hot, "QuantileTransformer", **in_step(network, alpha=1e-3, hidden_layer_sizes=(100, 50))),
        learner("network", by_target, **in_step(network, alpha=1e-2, learning_rate_init=3e-3)),
    ]  # fmt: skip


USUAL: Final[dict[str, list[Usual]]] = {
    "classification": [
        *usual(""),
        learner("linear", C=0.05),
        learner("linear", scaler="QuantileTransformer", C=5.0),
        learner("lightgbm", "OrdinalEncoder", learning_rate=0.05, n_estimators=200, class_weight="balanced"),
        learner("forest", "OrdinalEncoder", min_samples_leaf=5, class_weight="balanced"),
    ],
    "regression": [
        *usual("regressor."),
        learner("linear", alpha=100.0),
        learner("linear", scaler="QuantileTransformer", alpha=0.1),
        learner("boosting", "OrdinalEncoder", learning_rate=0.05, max_iter=300, loss="absolute_error"),
    ],
}


def example_table(kind: str) -> Any:
    """Return a table of a kind of task, from which the unbound everyday space is made."""
    rows = np.arange(60)
    features = pd.DataFrame({"number": rows * 0.5, "word": np.where(rows % 2, "one", "two")})
    labels = pd.Series(np.where(rows % 3, "yes", "no") if kind == "classification" else rows * 1.1)
    return make_table(features, labels)


def tables(folder: Path, part: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the features and the labels of each table of this part, the smallest first."""
    index, _, count = part.partition("/")
    paths = sorted(folder.glob("*.csv.gz"), key=lambda path: (path.stat().st_size, path.name))
    for path in paths[int(index) % int(count) :: int(count)]:
        table = load_dataset(str(path), "target")
        yield path.name.removesuffix(".csv.gz"), table.features, table.target


def subsample(features: Any, target: Any, rows: int, name: str) -> tuple[Any, Any]:
    """Return at most `rows` random rows of four fifths of the rows, the same at each call, without rare classes."""
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(target))
    kept = np.sort(order[: min(rows, len(target) * 4 // 5)])
    some, labels = features.iloc[kept].reset_index(drop=True), target.iloc[kept].reset_index(drop=True)
    if labels.nunique() > MAX_CLASSES:
        return some, labels
    counts = labels.value_counts()
    is_frequent = labels.isin(counts.index[counts >= LEAST_PER_CLASS])
    return some[is_frequent].reset_index(drop=True), labels[is_frequent].reset_index(drop=True)


def learner_defaults(space: sl.Space) -> list[Any]:
    """Return the default configuration of each alternative of the first decision."""
    tree = StructuralTree(Structures(space.checked))
    return [tree.default_completion((branch,)) for branch in tree.actions(())]


def pool_search(features: Any, target: Any, trials: int, **options: Any) -> sl.Result:
    """Return the result of a search in the everyday space by random draws, on a third of the rows."""
    return sl.search(
        None,
        features,
        target,
        optimizer="random",
        trials=trials,
        allow=PACKAGES,
        seed=0,
        trial_limit=TRIAL_LIMIT,
        validate="holdout(0.33)",
        ensemble=0,
        progress=False,
        **options,
    )


@cache
def generic_space(kind: str) -> sl.Space:
    """Return the everyday space for a kind of task with all of its parts."""
    return choose_default_space(example_table(kind), PACKAGES).space.bind(n_samples=3_000, n_features=20)


@cache
def generic_pool(kind: str) -> list[Configuration]:
    """Return the configurations of the pool as members of the generic space."""
    return pool(generic_space(kind), kind)


def pool(space: sl.Space, kind: str) -> list[Configuration]:
    """Return the configurations of the pool as members of a bound space; the random ones do not depend on the table."""
    structures = Structures(space.checked)
    given = [*USUAL[kind], *(dict(each) for each in generic_space(kind).sample(DRAWS, seed=0))]
    return [*learner_defaults(space), *(nearest_member(structures, Configuration(each)).member for each in given)]


def evaluate(options: argparse.Namespace) -> None:
    """Evaluate the pool on each table."""
    options.output.mkdir(parents=True, exist_ok=True)
    for name, features, target in tables(options.datasets, options.part):
        place = options.output / f"{name}.json"
        if place.exists():
            continue
        some, labels = subsample(features, target, ROWS, name)
        kind = guess_task_kind(make_table(some, labels)).kind
        members = pool(pool_search(some, labels, 1).experiment.prepare().space, kind)
        distinct = [*dict.fromkeys(members)]
        initial = [dict(each) for each in distinct]
        store = options.output / f"{name}.db"
        found = pool_search(some, labels, len(distinct), initial=initial, store=store, resume=True)
        known = {each.trial.request.configuration: each.trial for each in found.outcome.records}
        trials = [[known[each].loss, round(known[each].cost, 4), str(known[each].status)] for each in members]
        document = {"kind": kind, "trials": trials}
        place.write_text(json.dumps(document), encoding="utf-8")
        print(name, kind, len(members), found.loss, round(found.outcome.seconds), flush=True)


def main() -> None:
    """Evaluate the pool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--part", default="0/1", help="K/N: every N-th table, beginning with number K")
    evaluate(parser.parse_args())


if __name__ == "__main__":
    main()
