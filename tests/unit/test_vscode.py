"""The extension for VS Code: a well-formed package that agrees with the server and the language."""

import importlib.util
import json
import tomllib
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

import spacelang

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "grammars" / "vscode"


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_vsix", FOLDER / "build_vsix.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_package_is_well_formed(builder: ModuleType, tmp_path: Path) -> None:
    library = tmp_path / "node_modules" / "vscode-languageclient"
    library.mkdir(parents=True)
    (library / "node.js").write_text("// the library\n", encoding="utf-8")
    builder.build(tmp_path / "spacelang.vsix", tmp_path / "node_modules")
    with ZipFile(tmp_path / "spacelang.vsix") as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))
        types = ElementTree.fromstring(archive.read("[Content_Types].xml"))
        package = json.loads(archive.read("extension/package.json"))
        grammar = json.loads(archive.read("extension/spacelang.tmLanguage.json"))
    space = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
    assert {each.attrib["Path"] for each in manifest.iter(f"{space}Asset")} <= names
    identity = next(manifest.iter(f"{space}Identity")).attrib
    assert (identity["Id"], identity["Version"]) == (package["name"], package["version"])
    assert spacelang.__version__.startswith(package["version"])
    known = {each.attrib["Extension"] for each in types}
    assert {f".{name.rpartition('.')[2]}" for name in names if "." in name.rpartition("/")[2]} <= {*known, ".xml"}
    contributed = package["contributes"]
    paths = [contributed["languages"][0]["configuration"], contributed["grammars"][0]["path"], package["main"]]
    assert {path.replace("./", "extension/") for path in paths} <= names
    assert grammar["scopeName"] == contributed["grammars"][0]["scopeName"]
    assert "extension/node_modules/vscode-languageclient/node.js" in names


def test_the_client_starts_the_server_with_its_options() -> None:
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    settings = package["contributes"]["configuration"]["properties"]
    assert settings["spacelang.command"]["default"] == ["spacelang", "lsp"]
    code = (FOLDER / "extension.js").read_text(encoding="utf-8")
    assert all(f'settings.get("{name.removeprefix("spacelang.")}")' in code for name in settings)


def test_the_wheel_has_every_file_of_grammars_but_the_extension() -> None:
    included = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    listed = {path for path in included["targets"]["wheel"]["force-include"] if path.startswith("grammars/")}
    assert listed == {f"grammars/{path.name}" for path in (ROOT / "grammars").iterdir() if path.is_file()}
