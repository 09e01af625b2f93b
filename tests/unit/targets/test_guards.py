"""Conditions that libraries test: on variables chosen in several places, and on steps that are drawn as indices."""

from typing import Any

import pytest
from hyperopt.pyll import stochastic
from numpy.random import default_rng

import spacelang as sl

BY_CONSTRAINT = """space s
abstract M
abstract N
stage s = none | StandardScaler
stage e = M { inner : N { k : int[1, 2] = 1 } | PCA, w : bool = true when s is none, v : int[1, 2] = 1 } | GaussianNB
stage f = M { z : int[1, 2] = 1 when e is M, y : int[1, 2] = 1 when e.M.v == 1 and z == 1 } | PCA
pipeline = s -> f -> e
forbid s is none and e.M.inner is PCA
"""
BY_CONDITION = """space s
abstract M
abstract P
stage s = P { a : int[1, 3] = 1, b : int[1, 3] = 1 } | StandardScaler
stage f = M { z : int[1, 2] = 1 when e is M } | PCA
stage e = M { w : bool = true when s.P.a + s.P.b > 3 } | GaussianNB
pipeline = s -> f -> e
"""
STEPS = """space s
abstract M
stage e = M { a : int[0, 2] = 1, b : float[-1, 0.5] step 0.5 = 0.5
  c : int[1, 7] step 3 = 1, t : bool = true when a >= b
  u : int[1, 2] = 1 when not (c == a or b < a) } | GaussianNB
"""
CHAIN = """space s
abstract M
stage step = M { k : {none} | int[1, 2] = none when e is M } | StandardScaler
stage e = M { a : bool = true when step == 2 } | GaussianNB
pipeline = repeat(step, 0, 2) -> e
"""
TEXTS = {"constraint": BY_CONSTRAINT, "condition": BY_CONDITION, "steps": STEPS, "chain": CHAIN}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("target", ["hyperopt", "irace", "optuna", "ray"])
def test_conditions_hold_for_exactly_the_members(target: str, text: str) -> None:
    found = sl.parse(text).verify(target, count=120, draws=0)
    assert [law.broken_by for law in found.laws] == [""] * 4
    assert found.is_all


SHARED = """space s
abstract M
abstract N
abstract P
stage e = M { z : int[1, 9] = 3 when t.v == 1, y : float[0, 1] = 0.5 when z > 4 }
  | N { z : int[20, 30] = 25 when t.v == 2 } | P { z : int[40, 50] = 42 } | PCA
stage t = GaussianNB | M { v : int[1, 3] = 1 }
pipeline = e -> t
forbid e is PCA and t is GaussianNB
"""
WITH_UNION = """space s
abstract M
stage e = M { k : int[1, 2] = 1, z : int[1, 9] | {none} = 3 when k == 2 }
"""


def test_hyperopt_draws_what_is_inactive_and_drops_it() -> None:
    form: Any = sl.parse(STEPS).compile("hyperopt").form
    module: dict[str, Any] = {}
    exec(form.to_python(), module)
    sample = {"e": "M", "e.a": 0, "e.b": 0.5, "e.c": 4, "e.t": True, "e.u": 2}
    assert form.configuration(sample).to_dict() == module["configuration"](sample)
    assert form.configuration(sample).to_dict() == {key: sample[key] for key in ("e", "e.a", "e.b", "e.c", "e.u")}


@pytest.mark.parametrize("text", [BY_CONSTRAINT, SHARED], ids=["constraint", "shared"])
def test_the_module_for_hyperopt_drops_the_same(text: str) -> None:
    space = sl.parse(text)
    form: Any = space.compile("hyperopt").form
    module: dict[str, Any] = {}
    exec(form.to_python(), module)
    for seed in range(100):
        sample = stochastic.sample(module["space"], default_rng(seed))
        found = form.configuration(sample)
        assert found.to_dict() == module["configuration"](sample)
        assert found in space


def test_hyperopt_needs_no_values_of_what_is_inactive() -> None:
    compiled = sl.parse(WITH_UNION).compile("hyperopt")
    inactive, active = {"e.k": 1}, {"e.k": 2, "e.z:part": 0, "e.z": 5}
    assert compiled.decode(inactive).to_dict() == {"e": "M", "e.k": 1}
    assert compiled.decode(active).to_dict() == {"e": "M", "e.k": 2, "e.z": 5}
    assert compiled.encode(compiled.decode(inactive)) == {"e.k": 1, "e.z:part": 0, "e.z": 3}
    for label in ("e.z:part", "e.z"):
        with pytest.raises(ValueError, match=label):
            compiled.decode({name: value for name, value in active.items() if name != label})
