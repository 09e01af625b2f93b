"""The suites of the package as somebody has them who has installed it."""

import subprocess
import sys

import pytest

from spacelang import testing


def python(code: str) -> str:
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("name", testing.__all__)
def test_every_suite_says_what_it_is_about(name: str) -> None:
    assert getattr(testing, name).__doc__
    assert name in dir(testing)


def test_what_is_no_suite_is_none() -> None:
    with pytest.raises(AttributeError, match=r"`spacelang\.testing` has no attribute `Nothing`"):
        _ = testing.Nothing


@pytest.mark.parametrize("missing", ["hypothesis", "pytest"])
def test_what_is_missing_is_said_with_the_remedy(missing: str) -> None:
    said = python(f"import sys; sys.modules[{missing!r}] = None; from spacelang.testing import OptimizerConformance")
    assert said.endswith(f"the conformance suites need `{missing}`: pip install 'spacelang[testing]'\n")


def test_who_evaluates_what_a_suite_made_loads_no_suite() -> None:
    heavy = ("pytest", "hypothesis")
    code = f"import sys, spacelang.testing.faults; print(*(name for name in {heavy!r} if name in sys.modules))"
    assert not python(code).strip()
