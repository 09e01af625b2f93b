"""Rules of the house that import-linter cannot say."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import spacelang
from spacelang.minimizers import MINIMIZERS
from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import Plugins
from spacelang.targets import TARGETS

PACKAGE = Path(spacelang.__file__).parent
TESTS = Path(__file__).parents[1]
HEAVY = ("sklearn", "pandas")
ROOMS_THAT_FIT = ("runtime", "report", "catalog", "api", "bench")


def imported(path: Path) -> set[str]:
    """The modules that a file imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
    return found


@pytest.mark.parametrize("plugins", [TARGETS, OPTIMIZERS, MINIMIZERS], ids=lambda plugins: plugins.package)
def test_plug_ins_never_import_a_sibling(plugins: Plugins) -> None:
    folder = PACKAGE / plugins.package.partition(".")[2]
    for name in plugins.names():
        siblings = {f"{plugins.package}.{other}" for other in plugins.names() if other != name}
        assert not imported(folder / f"{name}.py") & siblings


@pytest.mark.parametrize("plugins", [TARGETS, OPTIMIZERS, MINIMIZERS], ids=lambda plugins: plugins.package)
def test_a_plug_in_has_a_citation_a_description_and_described_options(plugins: Plugins) -> None:
    for name in plugins.names():
        plugin = plugins.load(name)
        assert plugin.__doc__
        assert plugins is TARGETS or plugin.paper, "an optimizer or a minimizer is one that was published"
        assert all(option.doc for option in plugins.options(plugin))


def test_third_party_libraries_of_a_run_stay_in_the_rooms_that_fit() -> None:
    own = "sklearn"  # the target of that name, and what it is made of
    forest = PACKAGE / "surrogates" / "forest.py"  # it is that library's, which is imported when one is fitted
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        is_about_it = path == forest or (room == "targets" and path.stem.lstrip("_").startswith(own))
        if room not in ROOMS_THAT_FIT and not is_about_it:
            assert not {name.partition(".")[0] for name in imported(path)} & set(HEAVY), path


def test_no_two_test_modules_have_one_name() -> None:
    """Else pytest cannot collect both, as folders of tests are no packages; helpers shadow each other."""
    modules = [path for path in TESTS.rglob("*.py") if not (path.parent / "__init__.py").exists()]
    named = Counter(path.stem for path in modules)
    assert not [name for name, count in named.items() if count > 1 and name != "conftest"]
