"""The targets `nevergrad` and `ray`: their modules, and the libraries themselves drawing from them.

Ray Tune is too large for the tests of every change: its tests run where it is installed
(`pip install "spacelang[ray]"`).
"""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import spacelang as sl
from spacelang.ir.domain import Grid
from spacelang.solver.counting import Structures
from spacelang.targets.ray import Ray
from spacelang.testing.small_spaces import branch, choice, hyperparameter, make_space

SPACE = """space small
stage scaler = none | StandardScaler
stage e =
  | SVC {
      C      : float[1e-3, 1e3] log = 1.0
      kernel : {rbf, poly} = rbf
      degree : int[2, 4] = 3 when kernel == poly
      max_iter : int[1, 8] log = 2 when C > 3
    }
  | KNeighborsClassifier {
      n_neighbors : ordered {1, 3, 5} = 3
      p : int[1, 12] = 2
      leaf_size : int[10, 30] step 10 = 30
    }
forbid scaler is none and e is KNeighborsClassifier
"""
BODY = """
    found = {}
    found["scaler"] = values["scaler"]
    if found["scaler"] == "none":
        found["e"] = "SVC"
        found["e.C"] = min(max(values["e.C"], 0.001), 1000.0)
        found["e.kernel"] = values["e.kernel"]
        if found["e.kernel"] == "poly":
            found["e.degree"] = values["e.degree"]
        if found["e.C"] > 3.0:
            found["e.max_iter"] = values["e.max_iter"]
    elif found["scaler"] == "StandardScaler":
        found["e"] = values["e"]
"""


@pytest.fixture(scope="module")
def space() -> sl.Space:
    return sl.parse(SPACE)


def test_the_module_for_nevergrad(space: sl.Space) -> None:
    written = space.compile("nevergrad").form.to_python()
    for line in (
        '"scaler": ng.p.Choice(["none", "StandardScaler"]),',
        '"e.C": ng.p.Log(lower=0.001, upper=1000.0),',
        '"e.degree": ng.p.TransitionChoice([2, 3, 4]),',
        '"e.max_iter": ng.p.Log(lower=0.5, upper=8.5).set_integer_casting(),',
        '"e.n_neighbors": ng.p.TransitionChoice([1, 3, 5]),',
        '"e.p": ng.p.Scalar(lower=0.5, upper=12.5).set_integer_casting(),',
        '"e.leaf_size": ng.p.TransitionChoice([0, 1, 2]),',
        "parametrization = ng.p.Dict(**parameters)",
    ):
        assert line in [each.strip() for each in written.splitlines()]
    assert BODY in written


def test_the_module_for_ray_tune(space: sl.Space) -> None:
    written = space.compile("ray").form.to_python()
    for line in (
        '"scaler": tune.choice(["none", "StandardScaler"]),',
        '"e.C": tune.loguniform(0.001, 1000.0),',
        '"e.degree": tune.randint(2, 5),',
        '"e.max_iter": tune.loguniform(0.501, 8.499),',
        '"e.n_neighbors": tune.randint(0, 3),',
    ):
        assert line in [each.strip() for each in written.splitlines()]
    rounded = BODY.replace('values["e.max_iter"]', 'round(values["e.max_iter"])')
    assert rounded.replace("values[", "config[") in written


@pytest.mark.parametrize("target", ["nevergrad", "ray"])
def test_every_value_of_a_range_of_integers_has_its_share(space: sl.Space, target: str) -> None:
    compiled = space.compile(target)
    drawn = compiled.sample(600, np.random.default_rng(1))
    for name, numbers in (("e.p", range(1, 13)), ("e.degree", range(2, 5)), ("e.max_iter", range(1, 9))):
        counts = Counter(round(values[name]) for values in drawn)
        expected = (
            np.diff(np.log([0.5, *(each + 0.5 for each in numbers)])) if "iter" in name else np.ones(len(numbers))
        )
        observed = [counts[each] for each in numbers]
        assert sum(observed) == len(drawn)
        assert chisquare(observed, expected / expected.sum() * len(drawn)).pvalue > 1e-3, (name, observed)


def test_nevergrad_searches_from_the_default(space: sl.Space) -> None:
    import nevergrad

    compiled = space.compile("nevergrad")
    # It draws from a global generator where a parametrization has none.
    compiled.form.native.random_state.seed(0)
    optimizer = nevergrad.optimizers.TwoPointsDE(parametrization=compiled.form.native, budget=30)
    optimizer.suggest(compiled.form.default)
    asked = []

    def loss(values: dict[str, Any]) -> float:
        found = compiled.decode(values)
        asked.append(found)
        return abs(np.log(found.get("e.C", 100.0))) + found.get("e.degree", 0)  # type: ignore[arg-type, no-any-return, operator]

    best = optimizer.minimize(loss)
    assert asked[0] == space.default()
    assert all(each in space for each in asked)
    assert compiled.decode(best.value) in space


def test_names_that_ray_tune_reads_in_another_way_are_changed() -> None:
    names = ("e.f.a/b", "e.f.a_b", "grid_search")
    nodes = [hyperparameter(name, Grid(1, 9), 3) for name in names]
    form = Ray().lower(Structures(make_space("names", choice("e", branch("f", *nodes))))).form
    assert [*form.default] == ["e.f.a_b", "e.f.a_b_2", "grid_search_"]
    assert form.decode({"e.f.a_b": 4, "e.f.a_b_2": 5, "grid_search_": 6})["e.f.a/b"] == 4


def test_a_value_that_is_missing_is_named(space: sl.Space) -> None:
    compiled = space.compile("ray")
    values = {name: value for name, value in compiled.form.default.items() if name != "e.C"}
    with pytest.raises(ValueError, match=r"`e\.C` has no value"):
        compiled.decode(values)


def test_ray_tune_draws_and_proposes_members(space: sl.Space) -> None:
    pytest.importorskip("ray.tune", reason='ray is not installed: `pip install "spacelang[ray]"`')
    from ray.tune.search.optuna import OptunaSearch

    compiled, rng = space.compile("ray"), np.random.default_rng(0)
    drawn = [{name: each.sample(random_state=rng) for name, each in compiled.form.native.items()} for _ in range(200)]
    assert all(compiled.accepts(values) for values in drawn)
    assert all(compiled.decode(values) in space for values in drawn)
    default = compiled.form.default
    search = OptunaSearch(space=compiled.form.native, metric="loss", mode="min", points_to_evaluate=[default])
    for number in range(20):
        found = compiled.decode(search.suggest(str(number)))
        assert found in space
        assert number or found == space.default()
        search.on_trial_complete(str(number), {"loss": float(number)})
