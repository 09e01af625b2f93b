"""Conditions that libraries test: on variables chosen in several places, and on steps that are drawn as indices."""

import pytest

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


@pytest.mark.parametrize("text", [BY_CONSTRAINT, BY_CONDITION, STEPS], ids=["constraint", "condition", "steps"])
@pytest.mark.parametrize("target", ["hyperopt", "irace", "optuna", "ray"])
def test_conditions_hold_for_exactly_the_members(target: str, text: str) -> None:
    found = sl.parse(text).verify(target, count=120, draws=0)
    assert [law.broken_by for law in found.laws] == [""] * 4
    assert found.is_all
