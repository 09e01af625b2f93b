"""What is uploaded and installed: it holds all that the commands need and no more, and works outside the repository."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from commands import environment

import spacelang

REPOSITORY = Path(__file__).parents[2]
INSTALLED = ("spacelang", "grammars", "spaces")
FOLDERS = (*INSTALLED, "examples")
FILES = (
    *("pyproject.toml", "hatch_build.py", "LICENSE", ".gitignore", ".pre-commit-hooks.yaml"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff"),
)
CODE = "import json, spacelang, spacelang.files as r; print(json.dumps([spacelang.__file__, *map(str, ROOMS)]))"

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
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is built, so that nothing is left in the repository and others may work in it meanwhile."""
    copy = tmp_path_factory.mktemp("repository")
    for name in FOLDERS:
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(REPOSITORY / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def built(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that is built from it."""
    made = tmp_path_factory.mktemp("dist")
    python("-m", "build", "--no-isolation", "-o", str(made), ".", folder=copy)
    return made


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed") / "site"
    options = ("--no-deps", "--no-index", "--disable-pip-version-check", "--quiet", "--target", str(target))
    python("-m", "pip", "install", *options, str(wheel), folder=target.parent)
    return target


def test_the_wheel_holds_what_the_package_needs_and_no_more(wheel: Path, copy: Path) -> None:
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.partition("/")[0].endswith(".dist-info")}
    assert {"spacelang/py.typed", "spacelang/grammars/spacelang.lark", "spacelang/spaces/mosaic.space"} <= names
    assert {f"spacelang/grammars/{name}.schema.json" for name in ("archive", "compiled", "result")} <= names
    assert "spacelang/catalog/snapshots/sklearn.json" in names
    kept = {path for folder in INSTALLED for path in files_of(copy, folder)}
    kept = {path for path in kept if not path.startswith("grammars/vscode/")}
    assert names == {path if path.startswith("spacelang/") else f"spacelang/{path}" for path in kept}


def test_the_source_distribution_holds_the_repository_and_no_more(built: Path, copy: Path) -> None:
    (found,) = built.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {each.name.partition("/")[2] for each in archive.getmembers() if each.isfile()}
    assert names == {"PKG-INFO", *files_of(copy, ".")}


def files_of(copy: Path, folder: str) -> set[str]:
    """Files of a folder, but for what Python has compiled meanwhile."""
    found = (path.relative_to(copy) for path in (copy / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def test_the_package_index_takes_and_shows_it(built: Path, wheel: Path, copy: Path) -> None:
    python("-m", "twine", "check", "--strict", *map(str, built.iterdir()), folder=built)
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(archive.read(name).decode())
    home = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
    assert told["Version"] == spacelang.__version__
    assert told["Project-URL"] == f"Repository, {home}"
    links = re.findall(r"\]\(([^)]*)\)", told.get_payload())
    assert [link for link in links if not re.match(r"https?://|#", link)] == []
    ours = [link.removeprefix(f"{home}/") for link in links if link.startswith(home)]
    assert "raw/main/examples/picture.svg" in ours
    assert all((copy / re.sub(r"^(raw|blob)/main/|#.*", "", link)).exists() for link in ours)
    assert len(ours) > 10


def test_the_changelog_says_when_this_version_was_made() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(spacelang.__version__)} - \d{{4}}-\d\d-\d\d$", text, flags=re.MULTILINE)


def test_it_has_the_command(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (entry,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        assert "spacelang = spacelang.cli:main" in archive.read(entry).decode()


def test_it_works_outside_the_repository(site: Path, tmp_path: Path) -> None:
    def spacelang(*arguments: str) -> str:
        return python("-m", "spacelang", *arguments, folder=tmp_path, PYTHONPATH=str(site))

    code = CODE.replace("ROOMS", "(r.resource_folder('grammars'), r.resource_folder('spaces'))")
    for place in json.loads(python("-c", code, folder=tmp_path, PYTHONPATH=str(site))):
        assert Path(place).resolve().is_relative_to(site.resolve())
        assert Path(place).exists()
    assert spacelang("check", "blds_table1") == "blds_table1: no problems\n"
    assert json.loads(spacelang("compile", "blds_table1", "-t", "blds", "-f", "json"))["leaves"] == 3072
    (line,) = spacelang("sample", "blds_table1", "--seed", "3").splitlines()
    assert json.loads(line).keys() == {"scaler", "transformer", "selector", "estimator"}
    bundled = {entry["name"] for entry in json.loads(spacelang("spaces", "--json"))}
    assert bundled == {path.stem for path in (REPOSITORY / "spaces").glob("*.space")}
