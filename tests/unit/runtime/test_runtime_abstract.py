"""Spaces with abstract operators are searched, but no pipeline is built of them."""

from itertools import islice

import numpy as np
import pytest

import spacelang as sl
from spacelang.runtime.errors import BuildError

TEXT = """abstract embedding { dimensions : int[2, 64] log = 8 }
stage encoder = none | embedding
stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 9] = 5 }
"""


def test_any_black_box_is_searched() -> None:
    space = sl.parse(TEXT)
    assert (space.structures, space.configurations) == (4, (1 + 63) * (1 + 9))
    asked = []
    for each in islice(sl.ask_and_tell(space, seed=1), 20):
        assert each.configuration in space
        asked.append(each.configuration)
        each.tell(float(each.configuration.get("encoder.dimensions", 0)))
    assert any("encoder.dimensions" in configuration for configuration in asked)


def test_what_has_an_abstract_operator_is_not_built() -> None:
    space = sl.parse(TEXT, "emb.space")
    assert space.build({"encoder": "none", "estimator": "GaussianNB"}).steps
    with pytest.raises(BuildError, match=r"`embedding`, used in line 2 of `emb.space`, has no class"):
        space.build({"encoder": "embedding", "encoder.dimensions": 8, "estimator": "GaussianNB"})


def test_a_search_on_data_is_refused_at_once() -> None:
    rows = np.arange(40, dtype=float).reshape(20, 2)
    with pytest.raises(BuildError, match="`embedding`") as raised:
        sl.search(sl.parse(TEXT), rows, [0, 1] * 10, trials=1)
    assert "ask_and_tell" in raised.value.help
