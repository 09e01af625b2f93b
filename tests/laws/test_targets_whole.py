"""Texts of every construct keep their meaning in every target: members go down and come back, draws are members."""

import json
from dataclasses import replace

import pytest
from goldens import LOSSY
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacelang.analysis import CheckResult, check
from spacelang.ir.configuration import Configuration
from spacelang.targets import TARGETS
from spacelang.targets._lowering import RefusedError, compiled_document
from spacelang.testing.targets import (
    check_constructs_reported,
    check_declared_verdicts,
    check_members_accepted,
    check_samples,
)
from spacelang.text import Source

from . import brute
from .settings import EXAMPLES
from .settings import LAW as WHOLE
from .test_consistency import unfolded
from .test_whole import checked
from .texts import Drawn as Text
from .texts import texts
from .whole import Drawn, drawings

LAW = settings(WHOLE, max_examples=EXAMPLES // 2)
ALIKE = """abstract quince { a : int[1, 2] = 1 }
abstract tree { p : quince | {1, "1", "range", true, "true", 1.5, "1.5", none, "none", (1, 2)} | int[5, 9] = "range" }
stage s = tree"""
MOST = 20
"""So many members of each text are looked at."""


@pytest.mark.parametrize("name", TARGETS.names())
@LAW
@given(text=drawings(files=False), seed=st.integers(0, 2**31 - 1))
def test_a_text_keeps_its_meaning(name: str, text: Drawn, seed: int) -> None:
    found = checked(text)
    assume(found.space is not None and found.structures is not None and found.structures.count)
    keeps_its_meaning(name, found, seed)


@pytest.mark.parametrize("name", TARGETS.names())
@settings(WHOLE, max_examples=EXAMPLES // 3)
@given(text=texts(conditional=True), seed=st.integers(0, 2**31 - 1))
def test_a_condition_on_operators_keeps_its_meaning(name: str, text: Text, seed: int) -> None:
    found = check(Source("law", text.text))
    assume(found.space is not None and len(text.structures()) > 1)
    keeps_its_meaning(name, found, seed)


@pytest.mark.parametrize("name", TARGETS.names())
def test_values_that_read_like_each_other_keep_their_meaning(name: str) -> None:
    found = check(Source("law", ALIKE))
    assert found.structures is not None
    assert (found.structures.count, found.structures.configuration_count) == (12, 17)
    keeps_its_meaning(name, found, 0)


def keeps_its_meaning(name: str, found: CheckResult, seed: int) -> None:
    """Whether a target says what a text says, to both sides, or refuses as it declares."""
    assert found.space is not None
    assert found.structures is not None
    target = TARGETS.load(name)()
    try:
        form = target.lower(found.structures)
    except RefusedError as error:
        check_declared_verdicts(error.report, target.preserves)
        return
    check_declared_verdicts(form.report, target.preserves)
    check_constructs_reported(form, found.space)
    # Brute force looks for hyperparameters of fixed operators nowhere but among the rest.
    plain = replace(found.space, root=unfolded(found.space.root))
    members = [Configuration.from_json(text) for text in sorted(brute.configurations(plain))[:MOST]]
    check_members_accepted(form, [form.decode(form.encode(each)) for each in members] if name in LOSSY else members)
    check_samples(form, found.space, seed)
    json.dumps(compiled_document(name, found.space, form), allow_nan=False)
    assert form.form.to_text().strip()
    assert form.form.to_dot().startswith("digraph ")
