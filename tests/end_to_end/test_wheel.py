"""The wheel that users install: it holds all that the commands need, and works outside the repository."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from commands import environment

REPOSITORY = Path(__file__).parents[2]
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "spacelang", "grammars", "spaces")
CODE = "import json, spacelang, spacelang.resources as r; print(json.dumps([spacelang.__file__, *map(str, ROOMS)]))"

pytestmark = pytest.mark.slow


def python(*arguments: str, folder: Path, **variables: str) -> str:
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the repository and others may work in it meanwhile."""
    copy, made = tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("wheel")
    for name in NEEDED:
        if (REPOSITORY / name).is_dir():
            shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(REPOSITORY / name, copy / name)
    python("-m", "build", "--wheel", "--no-isolation", "-o", str(made), ".", folder=copy)
    (built,) = made.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed") / "site"
    options = ("--no-deps", "--no-index", "--disable-pip-version-check", "--quiet", "--target", str(target))
    python("-m", "pip", "install", *options, str(wheel), folder=target.parent)
    return target


def test_the_wheel_holds_what_the_package_needs(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"spacelang/py.typed", "spacelang/grammars/spacelang.lark"} <= names
    assert any(name.startswith("spacelang/catalog/snapshots/sklearn") for name in names)
    for folder in ("grammars", "spaces"):
        ours = {f"spacelang/{folder}/{path.name}" for path in (REPOSITORY / folder).iterdir() if path.is_file()}
        assert ours <= names
    files = (path for path in (REPOSITORY / "spacelang").rglob("*") if path.suffix in (".py", ".html", ".css"))
    sources = {path.relative_to(REPOSITORY).as_posix() for path in files}
    assert sources <= names
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"spacelang"}
    assert not any("__pycache__" in name for name in names)


def test_it_has_the_command(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (entry,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        assert "spacelang = spacelang.cli:main" in archive.read(entry).decode()


def test_it_works_outside_the_repository(site: Path, tmp_path: Path) -> None:
    def spacelang(*arguments: str) -> str:
        return python("-m", "spacelang", *arguments, folder=tmp_path, PYTHONPATH=str(site))

    code = CODE.replace("ROOMS", "(r.folder('grammars'), r.folder('spaces'))")
    for place in json.loads(python("-c", code, folder=tmp_path, PYTHONPATH=str(site))):
        assert Path(place).resolve().is_relative_to(site.resolve())
        assert Path(place).exists()
    assert spacelang("check", "blds_table1") == "blds_table1: no problems\n"
    assert json.loads(spacelang("compile", "blds_table1", "-t", "blds", "-f", "json"))["leaves"] == 3072
    (line,) = spacelang("sample", "blds_table1", "--seed", "3").splitlines()
    assert json.loads(line).keys() == {"scaler", "transformer", "selector", "estimator"}
    bundled = {entry["name"] for entry in json.loads(spacelang("spaces", "--json"))}
    assert bundled == {path.stem for path in (REPOSITORY / "spaces").glob("*.space")}
