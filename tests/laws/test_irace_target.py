"""The file for irace has the members of the space: its conditions and forbidden combinations are evaluated as in R."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Space
from spacelang.targets.irace import IraceParameters

from .exports import bundled, drawn, form_of, members
from .r_language import evaluate
from .settings import LAW
from .spaces import finite_spaces, general_spaces

DRAWS = 20


def active(form: IraceParameters, values: dict[str, Any]) -> set[str]:
    """Return the parameters whose condition holds."""
    several = form.parameters.values()
    return {each.name for each in several if not each.condition or evaluate(each.condition, values) is True}


def is_forbidden(form: IraceParameters, values: dict[str, Any]) -> bool:
    return any(evaluate(each, values) is True for each in form.forbidden)


@settings(LAW)
@given(finite_spaces() | general_spaces(), st.integers(0, 2**32 - 1))
def test_conditions_and_forbidden_combinations_allow_exactly_the_members(space: Space, seed: int) -> None:
    form = drawn("irace", space).form
    rng = np.random.default_rng(seed)
    for values in (form.draw(rng) for _ in range(DRAWS)):
        assert active(form, values) == values.keys()
        assert is_forbidden(form, values) == (first_exclusion(space, form.decode(values)) is not None)


@pytest.mark.parametrize("name", ["mosaic", "admm_table_a2"])
def test_members_of_bundled_spaces_are_read(name: str) -> None:
    space = bundled(name)
    compiled = form_of("irace", space)
    assert compiled.form.forbidden
    for member in members(space, 0, 20):
        values = compiled.encode(member)
        assert active(compiled.form, values) == values.keys()
        assert not is_forbidden(compiled.form, values)
        texts = {name: repr(value) if isinstance(value, float) else str(value) for name, value in values.items()}
        assert compiled.decode(texts) == member
