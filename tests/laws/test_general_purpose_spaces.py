"""The bundled spaces for everyday work: what they are made of fits what tables hold, and runs take them."""

import os
from functools import cache
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

import spacelang as sl
from spacelang.api.experiment import Experiment
from spacelang.api.search_data import TabularData, choose_default_space
from spacelang.files import resource_folder
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Kind
from spacelang.ir.trial import Request
from spacelang.ir.validation import Holdout
from spacelang.runtime.data.loading import Table, make_table
from spacelang.runtime.errors import DataError
from spacelang.starter_spaces.general_purpose import general_purpose_space_name, general_purpose_space_text

IS_FULL = bool(os.environ.get("SPACELANG_FULL"))
DRAWS = 20 if IS_FULL else 2
ROWS = 240
KINDS: tuple[Kind, ...] = get_args(Kind)
LIBRARIES = ("lightgbm", "xgboost")


@cache
def table(kind: Kind) -> Table:
    """Columns of all kinds, some without half of their values, and labels that they tell something of."""
    rng = np.random.default_rng(0)
    days = pd.Series(pd.date_range("2020-01-01", periods=ROWS, freq="7h"))
    words = [*"abcdefghij", *(f"word{place}" for place in range(40))]
    features = pd.DataFrame(
        {
            "size": rng.normal(size=ROWS),
            "gaps": np.where(rng.random(ROWS) < 0.5, np.nan, rng.normal(size=ROWS)),
            "town": rng.choice(np.array(["Rome", "Oslo", "Bonn", None], dtype=object), ROWS),
            "flag": rng.random(ROWS) < 0.5,
            "when": days,
            "ended": days.where(rng.random(ROWS) < 0.5),
            "note": [" ".join(rng.choice(words, 5)) for _ in range(ROWS)],
            "letters": [" ".join(format(place, "b")) for place in range(ROWS)],
            "empty": [None] * ROWS,
        }
    )
    # Whole numbers, as those of prices are.
    price = (1e5 * (features["size"] + (features["town"] == "Rome") + np.arange(ROWS) / ROWS)).round().astype(int)
    sold = (price > price.median()).map({True: "yes", False: "no"})
    labels = price.rename("price") if kind == "regression" else sold.rename("sold")
    return make_table(features, labels)


def beside(space: sl.Space) -> list[Configuration]:
    """The default configuration, and one with each other alternative of each stage."""
    usual = space.default()
    wanted = [{**usual, stage.address: branch.name} for stage in space.checked.stages for branch in stage.branches]
    return [*dict.fromkeys(space.nearest(each).member for each in wanted)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_is_what_the_stages_are(kind: Kind) -> None:
    kept = (resource_folder("spaces") / f"{general_purpose_space_name(kind)}.space").read_text(encoding="utf-8")
    assert kept == general_purpose_space_text(kind), "python -m spacelang.starter_spaces.general_purpose writes it"


@pytest.mark.parametrize("kind", KINDS)
def test_every_alternative_fits_columns_of_all_kinds(kind: Kind) -> None:
    usual = choose_default_space(table(kind), LIBRARIES)
    rows = TabularData(table(kind))
    space, objective = rows.bind_space(Experiment(space=usual.space, data=rows, validation=Holdout(0.3)))
    tried = dict.fromkeys([*beside(space), *space.sample(DRAWS, seed=1)])
    for configuration in tried if IS_FULL or kind == "classification" else [space.default(), *space.sample(3)]:
        trial = objective.evaluate(Request(configuration))
        assert trial.loss is not None, (configuration, trial.reason)
    default = objective.evaluate(Request(space.default())).loss
    assert default is not None
    assert default < 0.3


def test_a_search_without_a_space_takes_the_one_for_its_labels() -> None:
    data = table("regression")
    arguments: Any = {"optimizer": "random", "trials": 1, "workers": 0, "validate": "holdout(0.3)"}
    found = sl.search(features=data.features[["size"]], target=data.target, initial="default", **arguments)
    assert found.experiment.space.name == "tabular_regression"
    assert "`tabular_regression`, as `price` holds 240 distinct numbers" in repr(found)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([0, 1] * 30, "`tabular_classification`, as `y` holds 2 distinct whole numbers"),
        (["a", "b", None] * 20, "`tabular_classification`, as `y` holds 2 distinct labels that are not numbers"),
        ([True, False] * 30, "`tabular_classification`, as `y` holds 2 distinct labels that are not numbers"),
        ([0.5, 1.0] * 30, "`tabular_regression`, as `y` holds numbers with fractions"),
        ([0, 1, None] * 20, "`tabular_classification`, as `y` holds 2 distinct whole numbers"),
        (range(60), "`tabular_regression`, as `y` holds 60 distinct numbers"),
    ],
)
def test_the_kind_of_labels_and_the_reason(labels: Any, reason: str) -> None:
    made = make_table(pd.DataFrame({"x": range(60)}), pd.Series(labels, name="y"))
    assert choose_default_space(made).reason == reason


def test_learners_of_packages_are_there_where_they_are_allowed() -> None:
    data = table("classification")
    both, one, none = (choose_default_space(data, allowed) for allowed in (LIBRARIES, ["numpy", "xgboost"], []))
    learners = [{branch.name for branch in each.space.checked.stages[-1].branches} for each in (both, one, none)]
    assert learners[0] - learners[2] == {"lightgbm", "xgboost"}
    assert learners[1] - learners[2] == {"xgboost"}
    assert one.reason.startswith("`tabular_classification` with `xgboost`, as ")
    assert none.space.checked == sl.load("tabular_classification").checked


def test_what_has_no_columns_of_types_has_no_usual_space() -> None:
    from scipy import sparse

    with pytest.raises(DataError, match="sparse features do not have"):
        choose_default_space(make_table(sparse.random_array((20, 5), rng=0), [0, 1] * 10))
    with pytest.raises(ValueError, match="give a space"):
        sl.search(objective="artificial:1", trials=1)
