"""One small file for each kind of mistake, and exactly what a user is shown for it.

A file is called after its code, further ones of the same code `CODE_what.space`; files of other tools are imported, the
JSON of compiled spaces is checked like a text.
A first line such as `# bind: n_samples=5 n_features=30` gives numbers to the symbols of the data, one such as
`# allow: xgboost` allows packages, and one such as `# compile: blds strict` compiles to a target.
`python tests/errors/test_errors.py` writes what is shown now into the `.txt` files: read every line of the difference
as the user who made the mistake.
"""

import sys
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import PropertyMock, patch

import pytest

from spacelang.analysis import CheckResult, CheckSettings, check
from spacelang.api import parse
from spacelang.api.compilation import CompilationError, compile_with_target
from spacelang.api.initial_configurations import (
    InitialConfigurationError,
    read_initial_configurations,
    validate_initial_configurations,
)
from spacelang.catalog import Catalogue
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.registry import KINDS
from spacelang.diagnostics.terminal import render_diagnostics
from spacelang.importers._import_steps import import_space
from spacelang.serialization.json_documents import is_compiled_space
from spacelang.syntax.sources import read_source
from spacelang.targets import TARGETS
from spacelang.text import Source

FOLDER = Path(__file__).parent
MANY = "many"
WITH_OTHER_CODES = {"SL507_cause": {"SL507", "SL510", "SL512"}}  # why a default is excluded does not hide the rest
UNREADABLE: dict[str, Callable[[str], object]] = {
    "SL001": lambda path: Path(path.replace("SL001", "SL0001")).touch(),
    "SL001_folder": lambda path: Path(path).mkdir(),
    "SL002": lambda path: Path(path).write_bytes("space gr\u00f6\u00dfe\n".encode("latin-1")),
    "SL002_binary": lambda path: Path(path).write_bytes(b"PK\3\4\0\0"),
    "SL003_file": lambda path: Path(path).write_text("# a long comment\n" * 100_000),
}
"""Files that cannot be checked in, made for the test: a typing mistake, a folder, another encoding, an archive."""

INSTALLED = {"SL309": "1.5.2"}
"""Where the installed library is another one than the catalogue describes; the others agree, whatever is installed."""

BOUND = {"n_features": 20}
"""What compiled spaces are checked for, which have no comments: it says nothing to those without this symbol."""

INITIAL = ("SL021", "SL022", "SL023")
"""Files with configurations that a search of `STARTED` is to start from."""

STARTED = """space small
stage scaler = none | StandardScaler
stage estimator = KNeighborsClassifier { n_neighbors : int[1, 20] = 5 } | GaussianNB
forbid scaler is StandardScaler and estimator is GaussianNB
"""

FILES = {path.stem: path.name for path in FOLDER.glob("*.*") if path.suffix not in (".txt", ".py")}
NAMES = sorted(FILES.keys() | set(UNREADABLE))


@cache
def found(name: str) -> tuple[Diagnostic, ...]:
    """What is said of a file: several tests look at it."""
    source = source_of(name)
    if isinstance(source, Diagnostic):
        return (source,)
    if source.name.startswith(INITIAL):
        return refused(source.name)
    if not (source.name.endswith(".space") or is_compiled_space(source.text)):
        return import_space(source)[1]
    installed = INSTALLED.get(name)
    with patch.object(Catalogue, "differing_installed_version", new_callable=PropertyMock, return_value=installed):
        checked = check(source, surroundings_of(source))
    return checked.diagnostics or refusals(source, checked)


def refused(path: str) -> tuple[Diagnostic, ...]:
    try:
        with chdir(FOLDER):
            validate_initial_configurations(parse(STARTED, "small.space"), read_initial_configurations(path))
    except InitialConfigurationError as error:
        return error.diagnostics
    return ()


def refusals(source: Source, checked: CheckResult) -> tuple[Diagnostic, ...]:
    kind, _, words = source.line_text(1).partition(":")
    if kind != "# compile" or checked.structures is None:
        return ()
    target, *options = words.split()
    settings = dict(option.split("=") for option in options if "=" in option)
    try:
        configured = TARGETS.configure(TARGETS.load(target), settings)
        compile_with_target(target, configured, checked.structures, strict="strict" in options)
    except CompilationError as error:
        return error.diagnostics
    return ()


def surroundings_of(source: Source) -> CheckSettings:
    if source.name.endswith(".json"):
        return CheckSettings(BOUND)
    kind, _, words = source.line_text(1).partition(":")
    pairs = [pair.split("=") for pair in words.split()] if kind == "# bind" else []
    allowed = words.split() if kind == "# allow" else []
    return CheckSettings({name: int(number) for name, number in pairs}, frozenset(allowed))


def source_of(name: str) -> Source | Diagnostic:
    if name not in UNREADABLE:
        with chdir(FOLDER):
            return read_source(FILES[name])
    path = f"{name}.space"
    with TemporaryDirectory() as folder, chdir(folder):
        UNREADABLE[name](path)
        return read_source(path)


def shown(name: str) -> str:
    return render_diagnostics(found(name), color=False) + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_shows_exactly_this(name: str) -> None:
    assert shown(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if name != MANY])
def test_is_about_its_code_alone(name: str) -> None:
    expected = WITH_OTHER_CODES.get(name, {name.partition("_")[0]})
    assert {diagnostic.code for diagnostic in found(name)} == expected


@pytest.mark.parametrize("name", NAMES)
def test_every_place_lies_inside_the_file(name: str) -> None:
    for diagnostic in found(name):
        for span in (diagnostic.primary, *(related.span for related in diagnostic.related)):
            assert 0 <= span.start <= span.end <= len(span.source.text)


def test_every_kind_has_a_file_and_every_file_a_kind() -> None:
    assert {name.partition("_")[0] for name in NAMES} == {*KINDS, MANY}
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(NAMES)


def test_one_run_reports_every_independent_mistake() -> None:
    assert len(found(MANY)) == 10


if __name__ == "__main__":
    sys.path.append(str(FOLDER.parent))  # Some files use a package that lies there.
    for each in NAMES:
        (FOLDER / f"{each}.txt").write_text(shown(each), encoding="utf-8")
