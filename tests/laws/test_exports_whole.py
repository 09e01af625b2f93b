"""The exports of texts that use every construct: all that the tools say of them are members."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest
from hyperopt.pyll import as_apply
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import ParameterGrid

from . import brute
from .exports import drawn
from .settings import EXAMPLES
from .settings import LAW as WHOLE
from .test_consistency import unfolded
from .test_flat_targets import every_decoded, module_of
from .test_hyperopt_target import outcomes
from .test_optuna_target import every_answer
from .test_whole import checked
from .whole import Drawn, drawings

LAW = settings(WHOLE, max_examples=EXAMPLES // 2)
MOST = 2_000
"""Spaces with more configurations are not gone through."""
optuna.logging.set_verbosity(optuna.logging.WARNING)


def said(name: str, compiled: Any) -> set[str]:
    """All configurations that a form says, by its library's own means."""
    form = compiled.form
    if name == "hyperopt":
        return {brute.text(dict(form.configuration(sample))) for sample, _ in outcomes(as_apply(form.native), {})}
    if name == "optuna":
        return {brute.text(found) for found, _ in every_answer(form.native)}
    if name == "ray":
        return {brute.text(found) for found in every_decoded(form.decode, module_of(name, form)[0])}
    return {brute.text(parameters) for parameters in ParameterGrid(form.native)}


@pytest.mark.parametrize("name", ["hyperopt", "optuna", "ray", "sklearn"])
@settings(LAW)
@given(text=drawings(files=False), seed=st.integers(0, 2**31 - 1))
def test_a_text_is_exported_as_it_means(name: str, text: Drawn, seed: int) -> None:
    found = checked(text)
    assume(found.space is not None and found.structures is not None and found.structures.count)
    assert found.space is not None
    assert found.structures is not None
    options: dict[str, Any] = {"search": "grid", "points": 1000, "most": 10**6} if name == "sklearn" else {}
    compiled = drawn(name, found.space, **options)
    # Brute force looks for hyperparameters of fixed operators nowhere but among the rest.
    plain = replace(found.space, root=unfolded(found.space.root))
    json.dumps(compiled.form.to_json(), allow_nan=False)
    assert compiled.form.to_text()
    for encoding in compiled.sample(3, np.random.default_rng(seed)):
        assert compiled.accepts(encoding)
        configuration = compiled.decode(encoding)
        assert brute.accepts(plain, dict(configuration))
        again = compiled.encode(configuration)
        assert compiled.accepts(again)
        assert compiled.decode(again) == configuration
    count = found.structures.configuration_count
    if count is not None and count <= MOST:
        assert said(name, compiled) == brute.configurations(plain)
