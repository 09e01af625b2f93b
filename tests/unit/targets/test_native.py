"""`form.native` is the tool's own object; what is compiled is pickled."""

import pickle
from typing import Any

import numpy as np
import pytest

import spacelang as sl
from spacelang.targets import TARGETS

SPACE = sl.parse(
    """space s
stage scaler = none | StandardScaler
stage e = KNeighborsClassifier { n_neighbors : int[1, 9] log = 5, p : {1, 2} = 2 when n_neighbors > 3 } | GaussianNB
forbid scaler is none and e is GaussianNB
"""
)
TOOLS = {
    "configspace": "ConfigurationSpace",
    "hyperopt": "dict",
    "nevergrad": "Dict",
    "optuna": "method",
    "ray": "dict",
    "sklearn": "list",
}


def shown(form: Any, encodings: Any) -> list[str]:
    return [str(form.decode(each)) for each in encodings]


@pytest.mark.parametrize("name", TARGETS.names())
def test_every_tool_has_its_object_under_one_name(name: str) -> None:
    form = SPACE.compile(name).form
    assert hasattr(type(form), "native") == (name in TOOLS)
    if name == "ray":
        pytest.importorskip("ray", reason='ray is not installed: `pip install "spacelang[ray]"`')
    if name in TOOLS:
        assert type(form.native).__name__ == TOOLS[name]


@pytest.mark.parametrize("name", TARGETS.names())
def test_what_is_compiled_is_pickled(name: str) -> None:
    options = {"arms": "subspaces"} if name == "boasf" else {}
    form = SPACE.compile(name, **options)
    sent = pickle.loads(pickle.dumps(form))
    assert sent.report == form.report
    assert sent.form.to_json() == form.form.to_json()
    drawn, again = (shown(each, each.sample(5, np.random.default_rng(0))) for each in (form, sent))
    assert drawn == again
