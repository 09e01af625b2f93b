"""Every optimizer by its name on every bundled space: it runs, or one sentence says why it does not, and what helps."""

import os
from functools import cache
from typing import Final

import pytest
from cheap import OPTIONS

import spacelang as sl
from spacelang.optimizers import OPTIMIZERS
from spacelang.runtime.errors import InputError
from spacelang.syntax.sources import bundled_names

IS_FULL: Final = bool(os.environ.get("SPACELANG_FULL"))

TRIALS: Final = 24 if IS_FULL else 4
"""In full those that draw 20 before anything else come to their models."""

REFUSED: Final = {
    ("random_forest_tpe", "boasf_logistic_regression"): "has no random forest in its last stage",
}
"""Who has nothing to search where, and a part of what is said."""

SIZES: Final = {"n_samples": 500, "n_features": 20, "n_classes": 2}

FEW: Final = ("admm_table_a3", "boasf_logistic_regression")
"""The spaces without SPACELANG_FULL: pipelines with conditions, and a model without any alternative."""


@cache
def space_of(name: str) -> sl.Space:
    space = sl.load(name)
    return space.bind(**{symbol: SIZES[symbol] for symbol in space.symbols})


@pytest.mark.parametrize("space", bundled_names() if IS_FULL else FEW)
@pytest.mark.parametrize("name", OPTIMIZERS.names())
def test_it_runs_or_says_why_it_does_not(name: str, space: str) -> None:
    def searched() -> sl.Result:
        options = {} if IS_FULL else OPTIONS.get(name, {})
        return sl.search(
            space_of(space),
            objective="artificial:7",
            optimizer=name,
            optimizer_options=options,
            trials=TRIALS,
            workers=0,
        )

    if (name, space) in REFUSED:
        with pytest.raises(InputError, match=REFUSED[name, space]) as refused:
            searched()
        assert refused.value.help
        return
    found = searched()
    assert found.best_configuration is not None
    tried = len(found.outcome.records)
    assert tried == TRIALS or found.outcome.ended == "exhausted"
