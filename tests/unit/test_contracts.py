"""What is public for those who write plug-ins elsewhere: all of it is explained, and nothing is defined twice."""

import ast
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spacelang import contracts, testing


def test_the_guide_names_everything() -> None:
    assert contracts.__doc__ is not None
    told = set(re.findall(r"\w+", contracts.__doc__.partition("\n")[2]))
    assert told >= set(contracts.__all__)


def test_all_that_the_guide_shows_others_is_public() -> None:
    shown = (Path(__file__).parents[2] / "spacelang" / "testing" / "README.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", shown, flags=re.M | re.S)
    named = {name for code in re.findall("`([^`]+)`", prose) for name in re.findall(r"\b[A-Z]\w*[a-zA-Z]\b", code)}
    assert named - {"ClassVar", "True", "OPTION", "VALUE", "NAME"} <= {*contracts.__all__, *testing.__all__}
    for module, names in re.findall(r"^from (spacelang\S*) import (.+)$", shown, flags=re.M):
        assert module in ("spacelang.contracts", "spacelang.testing"), names


def test_everything_is_defined_where_it_is_at_home() -> None:
    body = ast.parse(Path(contracts.__file__).read_text(encoding="utf-8")).body
    assert not [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    homes = [node for node in body if isinstance(node, ast.ImportFrom) and node.module != "spacelang.deprecation"]
    imported = [name.name for node in homes for name in node.names]
    assert sorted(imported) == sorted(contracts.__all__)


@pytest.mark.parametrize("name", [name for name in contracts.__all__ if isinstance(getattr(contracts, name), type)])
def test_every_class_says_what_it_is(name: str) -> None:
    assert getattr(contracts, name).__doc__


def test_they_are_known_without_the_libraries_of_a_run() -> None:
    heavy = ("sklearn", "pandas", "scipy", "pytest", "hypothesis", "spacelang.syntax", "spacelang.catalog")
    code = f"import sys, spacelang.contracts; print(*(name for name in {heavy!r} if name in sys.modules))"
    assert not subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_the_way_of_a_hyperparameter_is_as_the_guide_tells_it() -> None:
    told = doctest.testfile(str(Path(__file__).parents[2] / "spacelang" / "README.md"), module_relative=False)
    assert told.attempted >= 10
    assert not told.failed
